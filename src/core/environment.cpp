// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/core/environment.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>

#include "src/core/make_once.hpp"

namespace gpukern {
namespace {

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? text : "";
}

/// Earlier snapshots are never freed: a call may be reading one.
struct Snapshot {
  Environment variables;
  const Snapshot* previous = nullptr;
};

std::unique_ptr<Snapshot> take_snapshot() {
  auto taken = std::make_unique<Snapshot>();
  Environment& found = taken->variables;
  found.device = text_of("GPUKERN_DEVICE");
  found.device_memory = text_of("GPUKERN_DEVICE_MEMORY");
  found.gather = text_of("GPUKERN_GATHER");
  found.cpu_share = text_of("GPUKERN_CPU_SHARE");
  found.cpu_isa = text_of("GPUKERN_CPU_ISA");
  found.omp_num_threads = text_of("OMP_NUM_THREADS");
  if (const char* directory = std::getenv("GPUKERN_CACHE_DIR")) found.cache_directory = directory;
  found.cache_limit = text_of("GPUKERN_CACHE_LIMIT");
  found.home_directory = text_of("HOME");
  found.xdg_cache_home = text_of("XDG_CACHE_HOME");
  found.nvrtc = text_of("GPUKERN_NVRTC");
  found.cuda_home = text_of("CUDA_HOME");
  found.cuda_path = text_of("CUDA_PATH");
  return taken;
}

constinit std::atomic<Snapshot*> latest{nullptr};

// Runs when the library is loaded, or earlier if another static object reads the environment. If
// there is no memory for the snapshot, the process ends.
// NOLINTNEXTLINE(bugprone-throwing-static-initialization)
[[maybe_unused]] const Environment& kLoaded = environment();

}  // namespace

const Environment& environment() { return make_once(latest, take_snapshot).variables; }

void reload_environment() {
  auto taken = take_snapshot();
  if (taken->variables == environment()) return;
  Snapshot* before = latest.load(std::memory_order_acquire);
  do taken->previous = before;
  while (!latest.compare_exchange_weak(before, taken.get(), std::memory_order_acq_rel));
  [[maybe_unused]] const Snapshot* kept = taken.release();
}

}  // namespace gpukern
