// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/program/nvrtc_signals.hpp"

#include <pthread.h>

#include <atomic>

namespace gpukern::gpu {
namespace {

enum class First { Pending, Running, Done };
std::atomic<First> first{First::Pending};

bool is_handled(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

}  // namespace

// The child of a fork() during the first compilation does not come here: NvrtcScope throws.
FirstCompilation::FirstCompilation() {
  if (first.load() == First::Done) return;
  First expected = First::Pending;
  is_first_ = first.compare_exchange_strong(expected, First::Running);
  if (!is_first_) {
    first.wait(First::Running);
    return;
  }
  if (sigaction(SIGINT, nullptr, &handler_) != 0 || !is_handled(handler_)) return;
  sigset_t interrupt;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &mask_);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGINT, &ignore, nullptr);
  is_ignored_ = true;
}

FirstCompilation::~FirstCompilation() {
  if (!is_first_) return;
  if (is_ignored_) {
    struct sigaction now{};
    // Another thread may have installed a new handler.
    if (sigaction(SIGINT, nullptr, &now) == 0 && !is_handled(now))
      sigaction(SIGINT, &handler_, nullptr);
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }
  first.store(First::Done);
  first.notify_all();
}

}  // namespace gpukern::gpu
