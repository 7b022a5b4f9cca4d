// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The environment variables that the library reads, as a snapshot: getenv() in a call would race
// with setenv() in another thread of the program.
#pragma once

#include <optional>
#include <string>

namespace gpukern {

/// Empty strings for variables that are not set.
struct Environment {
  std::string device;         ///< $GPUKERN_DEVICE
  std::string device_memory;  ///< $GPUKERN_DEVICE_MEMORY
  std::string gather;         ///< $GPUKERN_GATHER
  std::string cpu_share;      ///< $GPUKERN_CPU_SHARE
  std::string cpu_isa;        ///< $GPUKERN_CPU_ISA
  std::string omp_num_threads;
  std::optional<std::string> cache_directory;  ///< $GPUKERN_CACHE_DIR, which may be empty
  std::string cache_limit;                     ///< $GPUKERN_CACHE_LIMIT
  std::string home_directory;                  ///< $HOME
  std::string xdg_cache_home;
  std::string nvrtc;  ///< $GPUKERN_NVRTC
  std::string cuda_home;
  std::string cuda_path;

  friend bool operator==(const Environment&, const Environment&) = default;
};

/// The snapshot that was made when the library was loaded, or by the last reload_environment(). It
/// stays valid: calls may still read an earlier one.
const Environment& environment();

/// Makes a new snapshot if a variable has changed.
void reload_environment();

}  // namespace gpukern
