// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Steps and arrays for the tests of gpukern_pipeline_run(). The steps call gpukern on the chunk's
// stream, so that they run on the fake GPU as well.
#pragma once

#include "gpukern/pipeline.h"
#include "support.hpp"

namespace gpukern_test {

inline constexpr gpukern_dtype kInt{GPUKERN_INT, 32, 1};

inline gpukern_exec on_stream(void* stream) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.stream = stream;
  return exec;
}

inline gpukern_exec limited(std::size_t bytes) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device_memory_limit = bytes;
  return exec;
}

/// Adds twice the first input to the others.
inline gpukern_status add_up(void* user, const gpukern_pipeline_chunk* chunk) {
  if (user != nullptr) *static_cast<std::int64_t*>(user) += chunk->count;
  EXPECT_GT(chunk->count, 0);
  const gpukern_exec exec = on_stream(chunk->stream);
  const std::int32_t one = 1;
  const gpukern_tensor* x = chunk->inputs;
  gpukern_status status = gpukern_saxpy(&one, x, x, &chunk->out, &exec);
  for (std::size_t k = 1; k < chunk->input_count && status == GPUKERN_SUCCESS; ++k)
    status = gpukern_saxpy(&one, &x[k], &chunk->out, &chunk->out, &exec);
  return status;
}

/// Host memory, pinned or pageable, that holds consecutive numbers.
class HostInts {
 public:
  HostInts(std::int64_t count, bool pinned)
      : count_(count), device_{pinned ? GPUKERN_CUDA_HOST : GPUKERN_CPU, 0} {
    void* data = nullptr;
    EXPECT_EQ(gpukern_allocate(device_, static_cast<std::size_t>(count) * 4, nullptr, &data),
              GPUKERN_SUCCESS);
    data_ = static_cast<std::int32_t*>(data);
    std::iota(data_, data_ + count, 0);
  }
  HostInts(const HostInts&) = delete;
  HostInts& operator=(const HostInts&) = delete;
  ~HostInts() { EXPECT_EQ(gpukern_release(device_, data_, nullptr), GPUKERN_SUCCESS); }

  [[nodiscard]] gpukern_tensor tensor() { return {data_, kCpu, 1, kInt, &count_, nullptr, 0}; }
  [[nodiscard]] std::int32_t operator[](std::int64_t i) const { return data_[i]; }

 private:
  std::int64_t count_;
  gpukern_device device_;
  std::int32_t* data_ = nullptr;
};

inline gpukern_status map(HostInts& x, HostInts& y, HostInts& out, const gpukern_exec& exec,
                          gpukern_pipeline_step step = add_up, void* user = nullptr) {
  const gpukern_tensor xs = x.tensor();
  const gpukern_tensor ys = y.tensor();
  const gpukern_tensor to = out.tensor();
  const gpukern_tensor* const inputs[] = {&xs, &ys};
  return gpukern_pipeline_run(inputs, 2, &to, step, user, &exec);
}

/// Fails at its third chunk.
inline gpukern_status fail_later(void* user, const gpukern_pipeline_chunk* chunk) {
  if (++*static_cast<int*>(user) < 3) return add_up(nullptr, chunk);
  gpukern_tensor wrong = chunk->out;
  wrong.dtype = {GPUKERN_BOOL, 8, 1};
  return gpukern_saxpy("", &wrong, &wrong, &wrong, nullptr);
}

}  // namespace gpukern_test
