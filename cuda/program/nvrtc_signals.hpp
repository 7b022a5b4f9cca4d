// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Ctrl-C during NVRTC's first compilation.
#pragma once

#include <csignal>

namespace gpukern::gpu {

/// Keeps the program's handler of SIGINT in force over NVRTC's first compilation in the process,
/// for which NVRTC installs a handler of its own: one that ends the process. NVRTC installs none
/// where SIGINT is ignored, so it is ignored in this scope. A SIGINT that arrives meanwhile is
/// delivered at the end of the scope if the calling thread is the process's only one that does not
/// block it; otherwise it may be lost. Has no effect for later compilations, nor where the program
/// has no handler. Other threads that compile wait for the first one.
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
