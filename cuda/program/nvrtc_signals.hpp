// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Keeps Ctrl-C working during NVRTC's first compilation.
#pragma once

#include <csignal>

namespace gpukern::gpu {

/// Keeps the program's SIGINT handler in effect during NVRTC's first compilation in the process,
/// for which NVRTC installs a handler that ends the process. NVRTC installs none if SIGINT is
/// ignored, so SIGINT is ignored in this scope. A SIGINT that arrives during the scope is delivered
/// at its end if every other thread of the process blocks SIGINT; otherwise it may be lost. Has no
/// effect on later compilations, nor if the program has no handler. Other threads that compile wait
/// for the first one.
class FirstCompilation {
 public:
  FirstCompilation();
  FirstCompilation(const FirstCompilation&) = delete;
  FirstCompilation& operator=(const FirstCompilation&) = delete;
  ~FirstCompilation();

 private:
  bool is_first_ = false;
  bool is_ignored_ = false;
  struct sigaction handler_{};
  sigset_t mask_{};
};

}  // namespace gpukern::gpu
