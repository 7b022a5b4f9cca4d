// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for the tests: placements, memory for them, strided views of it, random data.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gpukern/gpukern.h"
#include "gpukern/stream.h"

namespace gpukern_test {

using Bytes = std::vector<std::byte>;
using Shape = std::vector<std::int64_t>;
using Random = std::mt19937_64;

inline constexpr gpukern_device kCpu{GPUKERN_CPU, 0};
inline constexpr gpukern_device kCuda{GPUKERN_CUDA, 0};

inline int cuda_devices() { return gpukern_device_count(); }

/// Whether the library is checked by AddressSanitizer, for which its tests are not compiled.
inline bool under_address_sanitizer() { return dlsym(RTLD_DEFAULT, "__asan_init") != nullptr; }

/// Rounds of a random test, or elements of a long one: a tenth under ThreadSanitizer, which makes
/// each 50 times slower.
constexpr int rounds(int count) {
#ifdef __SANITIZE_THREAD__
  return count / 10;
#else
  return count;
#endif
}

/// Sets an environment variable for its lifetime; std::nullopt unsets it.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
  ~EnvironmentVariable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    static_cast<void>(value ? setenv(name_, value->c_str(), 1) : unsetenv(name_));
    EXPECT_EQ(gpukern_reload_environment(), GPUKERN_SUCCESS) << gpukern_last_error();
  }

  const char* name_;
  std::optional<std::string> before_;
};

/// Options of gather; without a fill value, mode "fill" fills with zeros.
inline gpukern_gather_options gather_options(gpukern_index_mode mode,
                                             const gpukern_tensor* fill_value = nullptr) {
  gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
  options.mode = mode;
  options.fill_value = fill_value;
  return options;
}

/// gpukern_gather(), for options that are created in the call.
inline gpukern_status call_gather(const gpukern_tensor* source, const gpukern_tensor* index,
                                  std::int32_t axis, const gpukern_tensor* out,
                                  const gpukern_gather_options& options, const gpukern_exec* exec) {
  return gpukern_gather(source, index, axis, out, &options, exec);
}

/// The location of tensors and of the computation.
enum class Placement {
  Cpu,       ///< host tensors, on the CPU
  CudaHost,  ///< host tensors, computed on the GPU
  Cuda,      ///< device tensors
};

inline constexpr Placement kPlacements[] = {Placement::Cpu, Placement::CudaHost, Placement::Cuda};

inline std::string placement_name(Placement placement) {
  return placement == Placement::Cpu        ? "cpu"
         : placement == Placement::CudaHost ? "cuda_host"
                                            : "cuda";
}

/// The exec argument for a placement. Device tensors need none: they are computed on their device.
inline gpukern_exec exec_at(Placement placement) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  if (placement == Placement::Cpu) exec.device = kCpu;
  if (placement == Placement::CudaHost) exec.device = kCuda;
  return exec;
}

/// A test that runs once per placement; the CUDA ones are skipped without a GPU.
class PlacementTest : public testing::TestWithParam<Placement> {
 protected:
  void SetUp() override {
    if (GetParam() != Placement::Cpu && cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
  [[nodiscard]] Placement placement() const { return GetParam(); }
};

#define GPUKERN_INSTANTIATE_PLACEMENTS(suite)                                       \
  INSTANTIATE_TEST_SUITE_P(Placements, suite, testing::ValuesIn(kPlacements),       \
                           [](const testing::TestParamInfo<Placement>& parameter) { \
                             return placement_name(parameter.param);                \
                           })

/// Bytes of a placement: set `host`, commit(), call the library, fetch().
class Memory {
 public:
  Memory(Placement placement, std::size_t bytes)
      : host(bytes), on_device_(placement == Placement::Cuda) {
    if (!on_device_) return;
    EXPECT_EQ(gpukern_allocate(kCuda, bytes, nullptr, &device_), GPUKERN_SUCCESS)
        << gpukern_last_error();
  }
  ~Memory() {
    if (on_device_) {
      EXPECT_EQ(gpukern_release(kCuda, device_, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
    }
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  [[nodiscard]] void* data() { return on_device_ ? device_ : host.data(); }
  [[nodiscard]] gpukern_device device() const { return on_device_ ? kCuda : kCpu; }
  void commit() { transfer(host.data(), kCpu, device_, kCuda); }
  void fetch() { transfer(device_, kCuda, host.data(), kCpu); }

  Bytes host;

 private:
  void transfer(void* from, gpukern_device from_device, void* to, gpukern_device to_device) {
    if (!on_device_) return;
    auto size = static_cast<std::int64_t>(host.size());
    const gpukern_dtype byte{GPUKERN_UINT, 8, 1};
    const gpukern_tensor source{from, from_device, 1, byte, &size, nullptr, 0};
    const gpukern_tensor destination{to, to_device, 1, byte, &size, nullptr, 0};
    ASSERT_EQ(gpukern_copy(&source, &destination, nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
  }

  bool on_device_;
  void* device_ = nullptr;
};

/// The layout of a view in its memory.
enum class Layout { Contiguous, Fortran, Strided, Reversed, Unaligned, Broadcast };

inline constexpr Layout kInputLayouts[] = {Layout::Contiguous, Layout::Fortran,
                                           Layout::Strided,    Layout::Reversed,
                                           Layout::Unaligned,  Layout::Broadcast};
inline constexpr Layout kOutputLayouts[] = {Layout::Contiguous, Layout::Fortran, Layout::Strided,
                                            Layout::Reversed, Layout::Unaligned};

/// A dtype of any number of bytes.
constexpr gpukern_dtype bytes_dtype(int width) {
  return {GPUKERN_UINT, 8, static_cast<std::uint16_t>(width)};
}

inline std::int64_t item_bytes(gpukern_dtype dtype) { return dtype.bits * dtype.lanes / 8; }

inline std::int64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

/// A strided view of a Memory; its tensor() refers to it.
struct View {
  Memory* memory = nullptr;
  gpukern_dtype dtype{};
  Shape shape;
  Shape strides;  ///< in elements
  std::int64_t offset = 0;

  [[nodiscard]] gpukern_tensor tensor() const {
    return {memory->data(),
            memory->device(),
            static_cast<std::int32_t>(shape.size()),
            dtype,
            const_cast<std::int64_t*>(shape.data()),
            const_cast<std::int64_t*>(strides.data()),
            static_cast<std::uint64_t>(offset)};
  }
  [[nodiscard]] std::int64_t item() const { return item_bytes(dtype); }
  [[nodiscard]] std::int64_t count() const { return count_of(shape); }

  /// The byte offset of each element in the memory, in C order.
  [[nodiscard]] std::vector<std::int64_t> offsets() const {
    std::vector<std::int64_t> found{offset};
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::int64_t step = strides[d] * item();
      std::vector<std::int64_t> next(found.size() * static_cast<std::size_t>(shape[d]));
      auto* place = next.data();  // push_back() is several times slower under sanitizers
      for (const auto start : found)
        for (std::int64_t i = 0; i < shape[d]; ++i) *place++ = start + i * step;
      found = std::move(next);
    }
    return found;
  }
};

/// Guard bytes before and after an array's elements, in which a test detects writes.
inline constexpr std::int64_t kGuard = 64;

/// A view with the given layout, after the guard; sets `bytes` to the size of its memory.
inline View lay_out(gpukern_dtype dtype, const Shape& shape, Layout layout, std::int64_t& bytes) {
  const std::int64_t step = layout == Layout::Strided ? 2 : 1;
  View view{nullptr, dtype, shape, Shape(shape.size()), kGuard};
  std::int64_t stride = step;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t d = layout == Layout::Fortran ? k : shape.size() - 1 - k;
    view.strides[d] = stride;
    if (shape[d] > 1) stride *= shape[d] * step;
    if (layout == Layout::Broadcast && d % 2 == 0) view.strides[d] = 0;
    if (layout != Layout::Reversed || shape[d] == 0) continue;
    view.offset += (shape[d] - 1) * view.strides[d] * view.item();
    view.strides[d] = -view.strides[d];
  }
  if (layout == Layout::Unaligned) ++view.offset;
  bytes = kGuard + stride * view.item() + 1 + kGuard;
  return view;
}

/// A view with separate memory.
struct Array : View {
  Array(Placement placement, gpukern_dtype element, const Shape& extents,
        Layout layout = Layout::Contiguous)
      : Array(placement, [&] {
          std::int64_t bytes = 0;
          View view = lay_out(element, extents, layout, bytes);
          return std::pair(std::move(view), bytes);
        }()) {}

  Memory storage;

 private:
  Array(Placement placement, std::pair<View, std::int64_t> laid_out)
      : View(std::move(laid_out.first)),
        storage(placement, static_cast<std::size_t>(laid_out.second)) {
    memory = &storage;
  }
};

inline void fill_random(Bytes& bytes, Random& random) {
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    const std::uint64_t word = random();
    std::memcpy(&bytes[i], &word, 8);
  }
  for (; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random());
}

template <class T>
T load(const Bytes& bytes, std::int64_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

template <class T>
void store(Bytes& bytes, std::int64_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

template <class T>
T pick(Random& random, std::initializer_list<T> choices) {
  return *(choices.begin() + random() % choices.size());
}

/// An integer in [low, high].
inline std::int64_t between(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

/// Compares whole memories: the result, and every byte that must not have changed.
inline testing::AssertionResult same_bytes(const Bytes& expected, const Bytes& actual) {
  // std::mismatch() goes byte by byte: only where there is a difference.
  if (expected.empty() || std::memcmp(expected.data(), actual.data(), expected.size()) == 0)
    return testing::AssertionSuccess();
  const auto [left, right] = std::mismatch(expected.begin(), expected.end(), actual.begin());
  return testing::AssertionFailure()
         << "byte " << left - expected.begin() << " of " << expected.size() << " is "
         << std::to_integer<int>(*right) << ", expected " << std::to_integer<int>(*left);
}

/// What a call gives.
struct Expected {
  gpukern_status status = GPUKERN_SUCCESS;
  std::string message;
  Bytes out;  ///< the whole memory of out after the call
};

/// Runs call(exec), whose memories are set on the host, compares every byte of them afterwards, and
/// sets them again; host arrays also with a limit of device memory that they may exceed.
template <class Call>
void expect_call(const Expected& expected, const Memory* out, const std::vector<Memory*>& memories,
                 Placement placement, const Call& call) {
  std::vector<Bytes> before;
  before.reserve(memories.size());
  for (const Memory* memory : memories) before.push_back(memory->host);
  for (const std::size_t limit : {std::size_t{0}, std::size_t{4096}}) {
    if (limit != 0 && placement != Placement::CudaHost) continue;
    for (Memory* memory : memories) memory->commit();
    gpukern_exec exec = exec_at(placement);
    exec.device_memory_limit = limit;
    EXPECT_EQ(call(exec), expected.status) << gpukern_last_error();
    if (expected.status != GPUKERN_SUCCESS) {
      EXPECT_EQ(gpukern_last_error(), expected.message);
    }
    for (Memory* memory : memories) memory->fetch();
    for (std::size_t k = 0; k < memories.size(); ++k)
      EXPECT_TRUE(same_bytes(memories[k] == out ? expected.out : before[k], memories[k]->host))
          << "argument " << k;
    for (std::size_t k = 0; k < memories.size(); ++k) memories[k]->host = before[k];
  }
}

/// Expects a failed call with this status and the beginning of its message.
inline void expect_error(gpukern_status status, gpukern_status expected,
                         const std::string& beginning) {
  EXPECT_EQ(status, expected) << gpukern_last_error();
  const std::string message = gpukern_last_error();
  EXPECT_EQ(message.substr(0, beginning.size()), beginning) << "whole message: " << message;
}

}  // namespace gpukern_test
