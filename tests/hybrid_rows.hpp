// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A call that gathers rows from page-locked host memory to a GPU, by the GPU and the CPU together.
// The test sets the CPU's share, which only a large call has by default.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "gather_oracle.hpp"

namespace gpukern_test {

/// Sets the CPU's share, in percent, for a scope.
struct Share : EnvironmentVariable {
  explicit Share(int percent) : EnvironmentVariable("GPUKERN_CPU_SHARE", std::to_string(percent)) {}
};

class PinnedMemory {
 public:
  explicit PinnedMemory(const Bytes& bytes) {
    EXPECT_EQ(gpukern_allocate(kPinned, bytes.size(), nullptr, &data_), GPUKERN_SUCCESS)
        << gpukern_last_error();
    std::memcpy(data_, bytes.data(), bytes.size());
  }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;
  ~PinnedMemory() { EXPECT_EQ(gpukern_release(kPinned, data_, nullptr), GPUKERN_SUCCESS); }
  [[nodiscard]] void* data() const { return data_; }

 private:
  static constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};
  void* data_ = nullptr;
};

/// A call with random rows, random indices and memory for the result.
struct Rows {
  Rows(Random& random, std::int64_t table, std::int64_t count, int width,
       const IndexType& type = kInt64, std::int64_t reach = 0, Layout layout = Layout::Contiguous)
      : source(Placement::CudaHost, bytes_dtype(width), {table}, layout),
        index(Placement::Cuda, type.dtype, {count}),
        out(Placement::Cuda, bytes_dtype(width), {count}) {
    fill_random(source.memory->host, random);
    fill_random(out.memory->host, random);
    fill_indices(index, random, table, reach);
    pinned = std::make_unique<PinnedMemory>(source.memory->host);
    index.memory->commit();
    out.memory->commit();
  }

  [[nodiscard]] gpukern_status run(gpukern_index_mode mode, const View* fill = nullptr,
                                   void* stream = nullptr) const {
    gpukern_tensor from = source.tensor();
    from.data = pinned->data();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    const gpukern_tensor value = fill != nullptr ? fill->tensor() : gpukern_tensor{};
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    return call_gather(&from, &at, 0, &to, gather_options(mode, fill != nullptr ? &value : nullptr),
                       &exec);
  }

  [[nodiscard]] Expected expected(gpukern_index_mode mode, const View* fill = nullptr) const {
    return gather_oracle({source, index, 0, mode, out, fill});
  }
  void expect_out(const Expected& expected) {
    out.memory->fetch();
    EXPECT_TRUE(same_bytes(expected.out, out.memory->host));
  }

  Array source;
  Array index;
  Array out;
  std::unique_ptr<PinnedMemory> pinned;
};

}  // namespace gpukern_test
