// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file program.hpp
/// @brief Programs for C++20: compiled at run time, kernels called with C++ values.
///
/// A thin, header-only layer over program.h; semantics, streams and the cache are described there.
///
/// @code
/// const gpukern::Program program(R"(
///     template <class T> __global__ void scale(T* x, T a, int n) {
///       const int i = blockIdx.x * blockDim.x + threadIdx.x;
///       if (i < n) x[i] *= a;
///     })", {.name_expressions = {"scale<float>"}});
/// const gpukern::Kernel scale = program.kernel("scale<float>");
/// gpukern::DeviceBuffer<float> x(n);
/// scale({.grid = {(n + 255) / 256}, .block = {256}}, x, 2.0F, static_cast<int>(n));
/// @endcode
#ifndef GPUKERN_PROGRAM_HPP
#define GPUKERN_PROGRAM_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpukern/gpukern.hpp"
#include "gpukern/program.h"

namespace gpukern::inline abi1 {

/// The source does not compile; what() holds the beginning of the log.
class CompileError : public StatusError<GPUKERN_COMPILE_ERROR> {
 public:
  CompileError(const std::string& message, std::string log)
      : StatusError(message), log_(std::move(log)) {}
  /// The complete log of NVRTC.
  [[nodiscard]] const std::string& log() const noexcept { return log_; }

 private:
  std::string log_;
};

/// How to compile; see gpukern_program_desc.
struct ProgramOptions {
  // NOLINTBEGIN(readability-redundant-member-init): else GCC warns where one is left out
  std::string name = "program.cu";
  std::string architecture{};  ///< "sm_90", "compute_90"; "" is that of `device`
  std::int32_t device = 0;
  std::vector<std::string> options{};
  std::vector<std::pair<std::string, std::string>> headers{};  ///< names and sources
  std::vector<std::string> name_expressions{};
  // NOLINTEND(readability-redundant-member-init)
};

/// The shape of a launch, and the stream of the kernel's device that it is enqueued on.
struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  std::uint64_t shared_bytes = 0;
  bool cooperative = false;
  bool programmatic_launch = false;  ///< see gpukern_launch
  void* stream = nullptr;
};

namespace detail {

/// A missing dimension is 1, as in dim3.
constexpr std::uint32_t dimension(std::uint32_t given, std::size_t axis) noexcept {
  return given == 0 && axis > 0 ? 1 : given;
}

template <class T>
constexpr T argument(const T& value) noexcept {
  static_assert(std::is_trivially_copyable_v<T>, "a kernel takes trivially copyable values");
  return value;
}
template <class T>
T* argument(DeviceBuffer<T>& buffer) noexcept {
  return buffer.data();
}
template <class T>
const T* argument(const DeviceBuffer<T>& buffer) noexcept {
  return buffer.data();
}

struct ReleaseProgram {
  void operator()(gpukern_program* program) const noexcept { gpukern_program_release(program); }
};
struct ReleaseKernel {
  void operator()(gpukern_kernel* kernel) const noexcept { gpukern_kernel_release(kernel); }
};

inline std::vector<const char*> c_strings(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

}  // namespace detail

/// A kernel on one device; keeps its program alive.
class Kernel {
 public:
  explicit Kernel(gpukern_kernel* owned) noexcept : kernel_(owned) {}

  [[nodiscard]] gpukern_kernel_info info() const {
    gpukern_kernel_info info{};
    info.struct_size = sizeof info;
    gpukern::check(gpukern_kernel_query(kernel_.get(), &info));
    return info;
  }

  /// Enqueues the kernel with values given by address and size, which are compared with the
  /// kernel's parameters.
  void launch(const Launch& shape, std::span<const void* const> values,
              std::span<const std::size_t> bytes) const {
    gpukern_launch launch = GPUKERN_LAUNCH_INIT;
    for (std::size_t d = 0; d < 3; ++d) {
      launch.grid[d] = detail::dimension(shape.grid[d], d);
      launch.block[d] = detail::dimension(shape.block[d], d);
    }
    launch.shared_bytes = shape.shared_bytes;
    launch.cooperative = shape.cooperative ? 1 : 0;
    launch.programmatic_launch = shape.programmatic_launch ? 1 : 0;
    const gpukern_exec exec = detail::c_exec({.stream = shape.stream});
    if (values.size() != bytes.size())
      throw ValueError("Kernel: values and bytes must have the same length");
    gpukern::check(gpukern_kernel_launch(kernel_.get(), &launch, values.data(), bytes.data(),
                                         values.size(), &exec));
  }

  /// Enqueues the kernel with C++ values; a DeviceBuffer is passed as a pointer to its memory.
  /// The sizes of the values must equal those of the parameters: write 2.0F for a float.
  template <class... Values>
  void operator()(const Launch& shape, Values&&... values) const {
    const auto enqueue = [&](const auto&... given) {
      const std::array<const void*, sizeof...(Values)> addresses{
          static_cast<const void*>(&given)...};
      const std::array<std::size_t, sizeof...(Values)> bytes{sizeof given...};
      launch(shape, addresses, bytes);
    };
    enqueue(detail::argument(values)...);
  }

  [[nodiscard]] gpukern_kernel* get() const noexcept { return kernel_.get(); }

 private:
  std::unique_ptr<gpukern_kernel, detail::ReleaseKernel> kernel_;
};

/// A compiled program.
class Program {
 public:
  /// Throws CompileError, with the log, for a source that does not compile.
  explicit Program(const std::string& source, const ProgramOptions& how = {}) {
    const std::vector<const char*> options = detail::c_strings(how.options);
    const std::vector<const char*> names = detail::c_strings(how.name_expressions);
    std::vector<gpukern_header> headers;
    headers.reserve(how.headers.size());
    for (const auto& [name, text] : how.headers) headers.push_back({name.c_str(), text.c_str()});
    gpukern_program_desc desc = GPUKERN_PROGRAM_DESC_INIT;
    desc.source = source.c_str();
    desc.name = how.name.c_str();
    desc.architecture = how.architecture.empty() ? nullptr : how.architecture.c_str();
    desc.device = how.device;
    desc.options = options.data();
    desc.option_count = options.size();
    desc.headers = headers.data();
    desc.header_count = headers.size();
    desc.name_expressions = names.data();
    desc.name_expression_count = names.size();
    gpukern_program* compiled = nullptr;
    const gpukern_status status = gpukern_program_compile(&desc, &compiled);
    const char* log = nullptr;
    if (status == GPUKERN_COMPILE_ERROR && gpukern_compile_log(&log) == GPUKERN_SUCCESS)
      throw CompileError(gpukern_last_error(), log);
    gpukern::check(status);
    program_.reset(compiled);
  }

  // Valid during the lifetime of the program.
  [[nodiscard]] std::string_view ptx() const { return text(GPUKERN_PROGRAM_PTX); }
  [[nodiscard]] std::string_view log() const { return text(GPUKERN_PROGRAM_LOG); }
  [[nodiscard]] std::string_view architecture() const { return text(GPUKERN_PROGRAM_ARCHITECTURE); }
  /// Empty for "compute_XX".
  [[nodiscard]] std::span<const std::byte> cubin() const {
    return std::as_bytes(std::span(text(GPUKERN_PROGRAM_CUBIN)));
  }

  /// By the name of an extern "C" kernel, or a name expression of the options.
  [[nodiscard]] Kernel kernel(const std::string& name, std::int32_t device = 0) const {
    gpukern_kernel* loaded = nullptr;
    gpukern::check(gpukern_program_kernel(program_.get(), name.c_str(), device, &loaded));
    return Kernel(loaded);
  }

  [[nodiscard]] gpukern_program* get() const noexcept { return program_.get(); }

 private:
  [[nodiscard]] std::string_view text(gpukern_program_part part) const {
    const void* data = nullptr;
    std::size_t size = 0;
    gpukern::check(gpukern_program_get(program_.get(), part, &data, &size));
    return {static_cast<const char*>(data), size};
  }

  std::unique_ptr<gpukern_program, detail::ReleaseProgram> program_;
};

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_PROGRAM_HPP
