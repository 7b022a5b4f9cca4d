// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// fork() while another thread makes the first call of the process: calls must work in the child.
// This is a separate program, since the library is uninitialized only before the first call.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "gpukern/gpukern.h"

namespace {

std::atomic<bool> in_first_call{false};
thread_local bool is_delayed = false;

bool call() {
  std::array<float, 64> values{};
  std::array<std::int64_t, 64> positions{};
  std::int64_t count = 64;
  const float one = 1;
  const gpukern_tensor x{values.data(), {GPUKERN_CPU, 0}, 1, {GPUKERN_FLOAT, 32, 1},
                         &count,        nullptr,          0};
  const gpukern_tensor index{positions.data(), {GPUKERN_CPU, 0}, 1, {GPUKERN_INT, 64, 1},
                             &count,           nullptr,          0};
  std::array<float, 64> results{};
  gpukern_tensor out = x;
  out.data = results.data();
  return gpukern_saxpy(&one, &x, &x, &out, nullptr) == GPUKERN_SUCCESS &&
         gpukern_gather(&x, &index, 0, &out, nullptr, nullptr) == GPUKERN_SUCCESS;
}

}  // namespace

/// Delays gpukern's initialization, which allocates.
void* operator new(std::size_t bytes) {
  if (is_delayed && !in_first_call.exchange(true))
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (void* const data = std::malloc(bytes)) return data;
  throw std::bad_alloc();
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t /*bytes*/) noexcept { std::free(data); }

int main() {
  bool first_is_right = false;
  std::thread first([&first_is_right] {
    is_delayed = true;
    first_is_right = call();
  });
  for (int i = 0; i < 1000 && !in_first_call; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const bool is_during_call = in_first_call;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(call() ? 0 : 2);
  }
  int status = -1;
  waitpid(child, &status, 0);
  first.join();
  if (WIFSIGNALED(status)) std::fputs("the child waited for a thread of its parent\n", stderr);
  if (!is_during_call) std::fputs("the first call did not allocate: it was not delayed\n", stderr);
  if (!first_is_right) std::fputs("the first call failed\n", stderr);
  const bool child_is_right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return child_is_right && is_during_call && first_is_right ? 0 : 1;
}
