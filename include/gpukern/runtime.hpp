// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file runtime.hpp
/// @brief The library, devices and memory for C++20; gpukern.hpp includes it.
#ifndef GPUKERN_RUNTIME_HPP
#define GPUKERN_RUNTIME_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "gpukern/gpukern.h"
#include "gpukern/index_errors.h"
#include "gpukern/stream.h"
#include "gpukern/table.h"
#include "gpukern/tensor.hpp"

namespace gpukern::inline abi1 {

namespace detail {

/// The address of a temporary, valid until the end of the full expression.
constexpr const gpukern_tensor* address(const gpukern_tensor& tensor) noexcept { return &tensor; }

constexpr gpukern_exec c_exec(const ExecOptions& options) noexcept {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = options.device;
  exec.stream = options.stream;
  exec.device_memory_limit = options.device_memory_limit;
  exec.progress = options.progress;
  exec.progress_user = options.progress_user;
  exec.explanation = options.explanation;
  exec.index_errors = options.index_errors;
  return exec;
}

}  // namespace detail

// ---- library and devices --------------------------------------------------------------------

/// The library's version, such as "0.1.0".
inline std::string version() {
  const std::int32_t number = gpukern_version();
  return std::to_string(number / 10000) + '.' + std::to_string(number / 100 % 100) + '.' +
         std::to_string(number % 100);
}

/// Whether the loaded library has the ABI version of this header.
inline bool abi_matches() noexcept { return gpukern_abi_version() == GPUKERN_ABI_VERSION; }

/// Limits the number of CPU threads that compute in this process; 0 for the default. See
/// gpukern_set_num_threads().
inline void set_num_threads(std::int32_t threads) {
  gpukern::check(gpukern_set_num_threads(threads));
}

/// The limit of CPU threads.
inline std::int32_t num_threads() noexcept { return gpukern_num_threads(); }

/// The number of usable CUDA devices; 0 without a driver, a GPU or a CUDA build.
inline std::int32_t device_count() noexcept { return gpukern_device_count(); }

/// The properties of a CUDA device.
inline gpukern_device_info device_info(std::int32_t ordinal = 0) {
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  gpukern::check(gpukern_device_query(ordinal, &info));
  return info;
}

/// The state of CUDA in this process, and the reason if there is no device.
inline gpukern_cuda_info cuda_info() {
  gpukern_cuda_info info{};
  info.struct_size = sizeof info;
  gpukern::check(gpukern_cuda_query(&info));
  return info;
}

/// Waits until the work enqueued on a stream of a device has run.
inline void synchronize(Device device, void* stream = nullptr) {
  const gpukern_exec exec = detail::c_exec({.stream = stream});
  gpukern::check(gpukern_synchronize(device, &exec));
}

/// Bad indices of calls on a GPU, reported later, so that mode raise does not wait:
/// `gather(source, index, out, {.exec = {.index_errors = errors}})`. See gpukern/index_errors.h.
class IndexErrors {
 public:
  explicit IndexErrors(Device device = cuda_device()) {
    gpukern::check(gpukern_index_errors_create(device, &errors_));
  }
  IndexErrors(IndexErrors&& other) noexcept : errors_(std::exchange(other.errors_, nullptr)) {}
  IndexErrors& operator=(IndexErrors&& other) noexcept {
    IndexErrors taken(std::move(other));
    std::swap(errors_, taken.errors_);
    return *this;
  }
  /// Waits for the calls.
  ~IndexErrors() { gpukern_index_errors_destroy(errors_); }

  /// Waits for the calls; throws IndexError for the first bad index, if there is one.
  void check_indices() { gpukern::check(gpukern_index_errors_check(errors_, nullptr)); }

  /// For ExecOptions.
  operator gpukern_index_errors*() const noexcept { return errors_; }  // NOLINT(*-explicit-*)

 private:
  gpukern_index_errors* errors_ = nullptr;
};

// ---- memory ---------------------------------------------------------------------------------

/// Copies a tensor between any two devices and layouts; see gpukern_copy().
template <Output Out, InputOf<element_t<Out>> Source>
void copy(const Source& source, Out&& out, const ExecOptions& options = {}) {
  const gpukern_exec exec = detail::c_exec(options);
  gpukern::check(gpukern_copy(detail::address(TensorRef(source).c_tensor()),
                              detail::address(TensorRef(out).c_tensor()), &exec));
}

/// Enqueues a copy and does not wait; host memory is in use until the stream has passed the copy.
/// See gpukern_copy_async().
template <Output Out, InputOf<element_t<Out>> Source>
void copy_async(const Source& source, Out&& out, const ExecOptions& options = {}) {
  const gpukern_exec exec = detail::c_exec(options);
  gpukern::check(gpukern_copy_async(detail::address(TensorRef(source).c_tensor()),
                                    detail::address(TensorRef(out).c_tensor()), &exec));
}

/// Owns uninitialised memory of a device, allocated and released in stream order.
///
/// On a GPU the stream must outlive the buffer. `DeviceBuffer<T>(n, kCpu)` needs no GPU, and
/// `DeviceBuffer<T>(n, kPinned)` is host memory that GPUs read in place.
template <Element T>
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::size_t size, Device device = cuda_device(), void* stream = nullptr)
      : size_(size), device_(device), stream_(stream) {
    static_assert(!std::is_const_v<T> && alignof(T) <= 64);
    if (size > std::numeric_limits<std::ptrdiff_t>::max() / sizeof(T)) {
      throw MemoryError("DeviceBuffer: the size overflows");
    }
    const gpukern_exec exec = detail::c_exec({.stream = stream});
    void* data = nullptr;
    gpukern::check(gpukern_allocate(device, size * sizeof(T), &exec, &data));
    data_ = static_cast<T*>(data);
  }

  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        device_(other.device_),
        stream_(other.stream_) {}

  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    std::swap(device_, taken.device_);
    std::swap(stream_, taken.stream_);
    return *this;
  }

  ~DeviceBuffer() {
    const gpukern_exec exec = detail::c_exec({.stream = stream_});
    gpukern_release(device_, data_, &exec);  // A destructor cannot report a failure.
  }

  /// Copies from host memory of the same size, which may be reused on return.
  void copy_from(std::span<const T> host) { gpukern::copy(host, *this, {.stream = stream_}); }

  /// Copies to host memory of the same size, after the work enqueued on the stream.
  void copy_to(std::span<T> host) const { gpukern::copy(*this, host, {.stream = stream_}); }

  /// The buffer as a tensor; a shape of more elements than the buffer has is a ValueError.
  [[nodiscard]] TensorRef<T> shaped(const Dims& shape) {
    return {data_, detail::require_fits(shape, size_), device_};
  }
  [[nodiscard]] TensorRef<const T> shaped(const Dims& shape) const {
    return {data_, detail::require_fits(shape, size_), device_};
  }

  [[nodiscard]] T* data() noexcept { return data_; }
  [[nodiscard]] const T* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Device device() const noexcept { return device_; }
  [[nodiscard]] void* stream() const noexcept { return stream_; }

 private:
  T* data_ = nullptr;
  std::size_t size_;
  Device device_;
  void* stream_;
};

template <Element T>
TensorRef<T>::TensorRef(DeviceBuffer<T>& buffer) noexcept
    : TensorRef(buffer.data(), Dims(buffer.size()), buffer.device()) {}

template <Element T>
TensorRef<T>::TensorRef(const DeviceBuffer<std::remove_const_t<T>>& buffer) noexcept
  requires std::is_const_v<T>
    : TensorRef(buffer.data(), Dims(buffer.size()), buffer.device()) {}

/// Memory of several GPUs at one range of addresses; see gpukern/table.h.
class Table {
 public:
  /// Parts of these sizes in bytes on these devices, -1 for parts of other processes, accessed by
  /// `devices`.
  Table(std::span<const std::int64_t> part_bytes, std::span<const std::int32_t> part_devices,
        std::span<const std::int32_t> devices, bool exported = false) {
    if (part_bytes.size() != part_devices.size())
      throw ValueError("Table: part_bytes and part_devices must have one size");
    const gpukern_table_desc desc{sizeof desc,
                                  static_cast<std::int32_t>(part_bytes.size()),
                                  part_bytes.data(),
                                  part_devices.data(),
                                  static_cast<std::int32_t>(devices.size()),
                                  devices.data(),
                                  exported ? 1 : 0,
                                  0};
    gpukern::check(gpukern_table_create(&desc, &table_));
  }
  Table(Table&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {}
  Table& operator=(Table&& other) noexcept {
    Table taken(std::move(other));
    std::swap(table_, taken.table_);
    return *this;
  }
  /// All work on the table must have run.
  ~Table() { gpukern_table_destroy(table_); }

  /// The address of the first part.
  [[nodiscard]] void* data() const noexcept { return gpukern_table_data(table_); }

  /// Names the memory of a part of this process to others; see gpukern_table_export().
  [[nodiscard]] gpukern_table_handle export_part(
      std::int32_t part, gpukern_handle_type type = GPUKERN_HANDLE_FILE) const {
    gpukern_table_handle handle{};
    gpukern::check(gpukern_table_export(table_, part, type, &handle));
    return handle;
  }
  /// Maps a part of another process.
  void import_part(std::int32_t part, const gpukern_table_handle& handle) {
    gpukern::check(gpukern_table_import(table_, part, &handle));
  }

 private:
  gpukern_table* table_ = nullptr;
};

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_RUNTIME_HPP
