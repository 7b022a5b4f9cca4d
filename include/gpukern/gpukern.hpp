// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file gpukern.hpp
/// @brief gpukern for C++20: ranges as arguments, exceptions as errors, RAII for memory.
///
/// A thin, header-only layer over gpukern.h; link libgpukern as for C. Semantics, streams and the
/// lifetime of memory are those of gpukern.h. A tensor argument is one of
///  - any contiguous range in host memory (std::vector, std::array, std::span, an array): 1-D;
///  - a DeviceBuffer: 1-D, on its device;
///  - a TensorRef: any shape, strides and device;
///  - a std::mdspan, or another class with its interface: in host memory.
///
/// @code
/// std::vector<float> source = ..., out(index.size());
/// gpukern::gather(source, index, out);                                // out[i] = source[index[i]]
/// gpukern::gather(source, index, out, {.mode = gpukern::Mode::clip});
/// gpukern::scatter(out, index, source, {.reduce = gpukern::Reduction::add});
/// gpukern::saxpy(2.0F, x, y, out, {.device = gpukern::cuda_device()});  // out = 2 * x + y
/// @endcode
#ifndef GPUKERN_GPUKERN_HPP
#define GPUKERN_GPUKERN_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "gpukern/gpukern.h"
#include "gpukern/stream.h"
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
  return exec;
}

/// The options of an indexing operation; `fill_value` must outlive them.
template <class Options>
gpukern_gather_options c_gather_options(const Options& options, const gpukern_tensor& fill_value) {
  gpukern_gather_options c_options = GPUKERN_GATHER_OPTIONS_INIT;
  c_options.mode = static_cast<std::int32_t>(options.mode);
  c_options.path = static_cast<std::int32_t>(options.path);
  c_options.fill_value = &fill_value;
  c_options.out_may_change = options.out_may_change;
  return c_options;
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
inline void set_num_threads(std::int32_t threads) { check(gpukern_set_num_threads(threads)); }

/// The limit of CPU threads.
inline std::int32_t num_threads() noexcept { return gpukern_num_threads(); }

/// The number of usable CUDA devices; 0 without a driver, a GPU or a CUDA build.
inline std::int32_t device_count() noexcept { return gpukern_device_count(); }

/// The properties of a CUDA device.
inline gpukern_device_info device_info(std::int32_t ordinal = 0) {
  gpukern_device_info info{};
  info.struct_size = sizeof info;
  check(gpukern_device_query(ordinal, &info));
  return info;
}

/// The state of CUDA in this process, and the reason if there is no device.
inline gpukern_cuda_info cuda_info() {
  gpukern_cuda_info info{};
  info.struct_size = sizeof info;
  check(gpukern_cuda_query(&info));
  return info;
}

/// Waits until the work enqueued on a stream of a device has run.
inline void synchronize(Device device, void* stream = nullptr) {
  const gpukern_exec exec = detail::c_exec({.stream = stream});
  check(gpukern_synchronize(device, &exec));
}

// ---- memory ---------------------------------------------------------------------------------

/// Copies a tensor between any two devices and layouts; see gpukern_copy().
template <Output Out, InputOf<element_t<Out>> Source>
void copy(const Source& source, Out&& out, const ExecOptions& options = {}) {
  const gpukern_exec exec = detail::c_exec(options);
  check(gpukern_copy(detail::address(TensorRef(source).c_tensor()),
                     detail::address(TensorRef(out).c_tensor()), &exec));
}

/// Enqueues a copy and does not wait; host memory is in use until the stream has passed the copy.
/// See gpukern_copy_async().
template <Output Out, InputOf<element_t<Out>> Source>
void copy_async(const Source& source, Out&& out, const ExecOptions& options = {}) {
  const gpukern_exec exec = detail::c_exec(options);
  check(gpukern_copy_async(detail::address(TensorRef(source).c_tensor()),
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
    check(gpukern_allocate(device, size * sizeof(T), &exec, &data));
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
  void copy_from(std::span<const T> host) { copy(host, *this, {.stream = stream_}); }

  /// Copies to host memory of the same size, after the work enqueued on the stream.
  void copy_to(std::span<T> host) const { copy(*this, host, {.stream = stream_}); }

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

// ---- operations -----------------------------------------------------------------------------

/// What an indexing operation does with an index outside [0, n).
enum class Mode {
  raise = GPUKERN_INDEX_RAISE,  ///< [-n, 0) counts from the end; anything else is an IndexError
  wrap = GPUKERN_INDEX_WRAP,    ///< modulo n
  clip = GPUKERN_INDEX_CLIP,    ///< to the nearest of 0 and n - 1
  fill = GPUKERN_INDEX_FILL     ///< [-n, 0) counts from the end; anything else gives fill_value
};

/// How an indexing operation works on a GPU; see gpukern_gather_path. All give the same result.
enum class GatherPath {
  automatic = GPUKERN_GATHER_AUTO,  ///< $GPUKERN_GATHER, or a choice by sizes and indices
  direct = GPUKERN_GATHER_DIRECT,
  partitioned = GPUKERN_GATHER_PARTITIONED
};

/// The axis of the source flattened in C order.
inline constexpr std::int32_t kFlattened = GPUKERN_AXIS_NONE;

template <Element T>
struct GatherOptions {
  std::int32_t axis = 0;
  Mode mode = Mode::raise;
  T fill_value{};
  ExecOptions exec{};
  GatherPath path = GatherPath::automatic;
  bool out_may_change =
      false;  ///< even if Mode::raise throws; avoids a separate check of the indices
};

namespace detail {
/// Calls an indexing operation of the C ABI; `further` are the indices of further axes.
template <class Operation, class Source, class Indices, class Out, class Options, class... Further>
void read_by_index(Operation operation, const Source& source, const Indices& index, Out& out,
                   const Options& options, const Further*... further) {
  const TensorRef fill_value(&options.fill_value, {});
  const gpukern_tensor c_fill_value = fill_value.c_tensor();
  const gpukern_exec exec = c_exec(options.exec);
  gpukern_gather_options c_options = c_gather_options(options, c_fill_value);
  const gpukern_tensor* const tensors[] = {further..., nullptr};
  c_options.further_index_count = sizeof...(further);
  c_options.further_indices = tensors;
  check(operation(address(TensorRef(source).c_tensor()), address(TensorRef(index).c_tensor()),
                  options.axis, address(TensorRef(out).c_tensor()), &c_options, &exec));
}
}  // namespace detail

/// Takes items of the source along an axis: `out[a, i, b] = source[a, index[i], b]`.
///
/// The shape of out is source.shape[:axis] + index.shape + source.shape[axis+1:].
/// Mode::raise waits for the stream and throws IndexError, leaving out unchanged unless
/// GatherOptions::out_may_change; the other modes only enqueue. See gpukern_gather().
template <Output Out, InputOf<element_t<Out>> Source, class Indices>
  requires IndexLike<Indices>
void gather(const Source& source, const Indices& index, Out&& out,
            const GatherOptions<element_t<Out>>& options = {}) {
  detail::read_by_index(gpukern_gather, source, index, out, options);
}

/// As above, by indices of several consecutive axes, such as `std::tie(i, j)`: they broadcast
/// against each other, and their common shape replaces these axes.
template <Output Out, InputOf<element_t<Out>> Source, class First, class... Further>
  requires IndexLike<First> && (IndexLike<Further> && ...)
void gather(const Source& source, const std::tuple<First, Further...>& indices, Out&& out,
            const GatherOptions<element_t<Out>>& options = {}) {
  std::apply(
      [&](const auto& first, const auto&... further) {
        detail::read_by_index(gpukern_gather, source, first, out, options,
                              detail::address(TensorRef(further).c_tensor())...);
      },
      indices);
}

template <Element T>
struct TakeAlongAxisOptions {
  std::int32_t axis = -1;
  Mode mode = Mode::raise;
  T fill_value{};
  ExecOptions exec{};
  GatherPath path = GatherPath::automatic;
  bool out_may_change =
      false;  ///< even if Mode::raise throws; avoids a separate check of the indices
};

/// Takes an element for each index along an axis: `out[a, i, b] = source[a, index[a, i, b], b]`.
///
/// Source and index have the same number of dimensions and broadcast outside the axis. Errors and
/// streams are those of gather(). See gpukern_take_along_axis().
template <Output Out, InputOf<element_t<Out>> Source, class Indices>
  requires IndexLike<Indices>
void take_along_axis(const Source& source, const Indices& index, Out&& out,
                     const TakeAlongAxisOptions<element_t<Out>>& options = {}) {
  detail::read_by_index(gpukern_take_along_axis, source, index, out, options);
}

/// How a writing operation combines the values of one element; see gpukern_reduce.
enum class Reduction {
  none = GPUKERN_REDUCE_NONE,  ///< the last value in C order of the index replaces the element
  add = GPUKERN_REDUCE_ADD,
  multiply = GPUKERN_REDUCE_MULTIPLY,
  min = GPUKERN_REDUCE_MIN,
  max = GPUKERN_REDUCE_MAX,
  mean = GPUKERN_REDUCE_MEAN
};

/// The order in which a writing operation combines floating-point values; see gpukern_order.
enum class Order {
  fixed = GPUKERN_ORDER_FIXED,  ///< the same bits on every device and in every run
  any = GPUKERN_ORDER_ANY
};

struct ScatterOptions {
  std::int32_t axis = 0;
  Mode mode = Mode::raise;  ///< Mode::fill skips values with an index out of bounds
  Reduction reduce = Reduction::none;
  Order order = Order::fixed;
  bool unique = false;  ///< no two indices refer to the same element
  ExecOptions exec{};
};

namespace detail {
/// Calls a writing operation of the C ABI; `out` is NULL for the target itself, `further` are the
/// indices of further axes.
template <class Operation, class Target, class Indices, class Values, class Options,
          class... Further>
void write_by_index(Operation operation, const Target& target, const Indices& index,
                    const Values& values, const gpukern_tensor* out, const Options& options,
                    const Further*... further) {
  gpukern_scatter_options c_options = GPUKERN_SCATTER_OPTIONS_INIT;
  c_options.mode = static_cast<std::int32_t>(options.mode);
  c_options.reduce = static_cast<std::int32_t>(options.reduce);
  c_options.order = static_cast<std::int32_t>(options.order);
  c_options.unique = options.unique;
  const gpukern_tensor* const tensors[] = {further..., nullptr};
  c_options.further_index_count = sizeof...(further);
  c_options.further_indices = tensors;
  const gpukern_exec exec = c_exec(options.exec);
  check(operation(address(TensorRef(target).c_tensor()), address(TensorRef(index).c_tensor()),
                  address(TensorRef(values).c_tensor()), options.axis, out, &c_options, &exec));
}
}  // namespace detail

/// Writes values to the elements of a target along an axis: `target[a, index[i], b] = values[a, i,
/// b]`, or combines them with these elements.
///
/// The shape of values broadcasts to target.shape[:axis] + index.shape + target.shape[axis+1:].
/// Mode::raise waits for the stream and throws IndexError, leaving the target unchanged; the other
/// modes only enqueue. See gpukern_scatter().
template <Output Target, class Indices, InputOf<element_t<Target>> Values>
  requires IndexLike<Indices>
void scatter(Target&& target, const Indices& index, const Values& values,
             const ScatterOptions& options = {}) {
  detail::write_by_index(gpukern_scatter, target, index, values, nullptr, options);
}

/// As above, to a copy of the target in `out`, of the same shape; the target is unchanged.
template <Output Out, InputOf<element_t<Out>> Target, class Indices, InputOf<element_t<Out>> Values>
  requires IndexLike<Indices>
void scatter(const Target& target, const Indices& index, const Values& values, Out&& out,
             const ScatterOptions& options = {}) {
  detail::write_by_index(gpukern_scatter, target, index, values,
                         detail::address(TensorRef(out).c_tensor()), options);
}

/// As scatter(), by indices of several consecutive axes; see gather().
template <Output Target, class First, class... Further, InputOf<element_t<Target>> Values>
  requires IndexLike<First> && (IndexLike<Further> && ...)
void scatter(Target&& target, const std::tuple<First, Further...>& indices, const Values& values,
             const ScatterOptions& options = {}) {
  std::apply(
      [&](const auto& first, const auto&... further) {
        detail::write_by_index(gpukern_scatter, target, first, values, nullptr, options,
                               detail::address(TensorRef(further).c_tensor())...);
      },
      indices);
}

/// As above, to a copy of the target in `out`, of the same shape; the target is unchanged.
template <Output Out, InputOf<element_t<Out>> Target, class First, class... Further,
          InputOf<element_t<Out>> Values>
  requires IndexLike<First> && (IndexLike<Further> && ...)
void scatter(const Target& target, const std::tuple<First, Further...>& indices,
             const Values& values, Out&& out, const ScatterOptions& options = {}) {
  std::apply(
      [&](const auto& first, const auto&... further) {
        detail::write_by_index(gpukern_scatter, target, first, values,
                               detail::address(TensorRef(out).c_tensor()), options,
                               detail::address(TensorRef(further).c_tensor())...);
      },
      indices);
}

struct PutAlongAxisOptions {
  std::int32_t axis = -1;
  Mode mode = Mode::raise;  ///< Mode::fill skips values with an index out of bounds
  Reduction reduce = Reduction::none;
  Order order = Order::fixed;
  bool unique = false;  ///< no two indices refer to the same element
  ExecOptions exec{};
};

/// Writes a value for each index along an axis: `target[a, index[a, i, b], b] = values[a, i, b]`,
/// or combines it with this element.
///
/// Target and index have the same number of dimensions and broadcast outside the axis. Errors and
/// streams are those of scatter(). See gpukern_put_along_axis().
template <Output Target, class Indices, InputOf<element_t<Target>> Values>
  requires IndexLike<Indices>
void put_along_axis(Target&& target, const Indices& index, const Values& values,
                    const PutAlongAxisOptions& options = {}) {
  detail::write_by_index(gpukern_put_along_axis, target, index, values, nullptr, options);
}

/// As above, to a copy of the target in `out`, of the same shape; the target is unchanged.
template <Output Out, InputOf<element_t<Out>> Target, class Indices, InputOf<element_t<Out>> Values>
  requires IndexLike<Indices>
void put_along_axis(const Target& target, const Indices& index, const Values& values, Out&& out,
                    const PutAlongAxisOptions& options = {}) {
  detail::write_by_index(gpukern_put_along_axis, target, index, values,
                         detail::address(TensorRef(out).c_tensor()), options);
}

struct GatherReduceOptions {
  std::int32_t axis = 0;
  Mode mode = Mode::raise;            ///< Mode::fill leaves items out of bounds out of their bag
  Reduction reduce = Reduction::add;  ///< add, min, max or mean
  ExecOptions exec{};
};

namespace detail {
inline gpukern_gather_reduce_options c_options(const GatherReduceOptions& options) noexcept {
  gpukern_gather_reduce_options c_options = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  c_options.mode = static_cast<std::int32_t>(options.mode);
  c_options.reduce = static_cast<std::int32_t>(options.reduce);
  return c_options;
}

/// `weights` is NULL for none.
template <class Source, class Indices, class Offsets, class Out>
void reduce_by_index(const Source& source, const Indices& index, const Offsets& offsets,
                     const gpukern_tensor* weights, Out& out, const GatherReduceOptions& options) {
  const gpukern_gather_reduce_options c_options = detail::c_options(options);
  const gpukern_exec exec = c_exec(options.exec);
  check(gpukern_gather_reduce(address(TensorRef(source).c_tensor()),
                              address(TensorRef(index).c_tensor()),
                              address(TensorRef(offsets).c_tensor()), weights, options.axis,
                              address(TensorRef(out).c_tensor()), &c_options, &exec));
}
}  // namespace detail

/// Reduces bags of items along an axis: `out[a, b, c]` is the reduction of `source[a, index[i], c]`
/// for all i in [offsets[b], offsets[b + 1]).
///
/// The shape of out is source.shape[:axis] + (len(offsets) - 1,) + source.shape[axis+1:].
/// Mode::raise waits for the stream and throws ValueError for bad offsets and IndexError for a bad
/// index, leaving out unchanged; the other modes only enqueue. See gpukern_gather_reduce().
template <Output Out, InputOf<element_t<Out>> Source, class Indices, class Offsets>
  requires IndexLike<Indices> && IndexLike<Offsets>
void gather_reduce(const Source& source, const Indices& index, const Offsets& offsets, Out&& out,
                   const GatherReduceOptions& options = {}) {
  detail::reduce_by_index(source, index, offsets, nullptr, out, options);
}

/// As above, with a weight for each index, by which its item is multiplied; for Reduction::add.
template <Output Out, InputOf<element_t<Out>> Source, class Indices, class Offsets,
          InputOf<element_t<Out>> Weights>
  requires IndexLike<Indices> && IndexLike<Offsets>
void gather_reduce(const Source& source, const Indices& index, const Offsets& offsets,
                   const Weights& weights, Out&& out, const GatherReduceOptions& options = {}) {
  detail::reduce_by_index(source, index, offsets, detail::address(TensorRef(weights).c_tensor()),
                          out, options);
}

/// Reduces segments along an axis: `out[a, s, c]` is the reduction of `x[a, i, c]` for all i in
/// [offsets[s], offsets[s + 1]). The mode is Mode::raise or Mode::clip. See
/// gpukern_segment_reduce().
template <Output Out, InputOf<element_t<Out>> X, class Offsets>
  requires IndexLike<Offsets>
void segment_reduce(const X& x, const Offsets& offsets, Out&& out,
                    const GatherReduceOptions& options = {}) {
  const gpukern_gather_reduce_options c_options = detail::c_options(options);
  const gpukern_exec exec = detail::c_exec(options.exec);
  check(gpukern_segment_reduce(detail::address(TensorRef(x).c_tensor()),
                               detail::address(TensorRef(offsets).c_tensor()), options.axis,
                               detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

/// Counts the nonzero elements of a mask; waits for the stream. See gpukern_count_nonzero().
template <class Mask>
  requires TensorLike<const Mask&>
std::int64_t count_nonzero(const Mask& mask, const ExecOptions& options = {}) {
  const gpukern_exec exec = detail::c_exec(options);
  std::int64_t count = 0;
  check(gpukern_count_nonzero(detail::address(TensorRef(mask).c_tensor()), &count, &exec));
  return count;
}

struct NonzeroOptions {
  std::int64_t fill_value = 0;  ///< of what out holds beyond the nonzero elements
  ExecOptions exec{};
};

/// Writes the coordinates of the nonzero elements in C order: `out[d, k]` is the coordinate along
/// dimension d of the k-th one. The shape of out is (mask.ndim, size). Enqueues; see
/// gpukern_nonzero().
template <class Mask, Output Out>
  requires TensorLike<const Mask&> && std::same_as<element_t<Out>, std::int64_t>
void nonzero(const Mask& mask, Out&& out, const NonzeroOptions& options = {}) {
  const TensorRef fill_value(&options.fill_value, {});
  const gpukern_tensor c_fill_value = fill_value.c_tensor();
  gpukern_select_options c_options = GPUKERN_SELECT_OPTIONS_INIT;
  c_options.fill_value = &c_fill_value;
  const gpukern_exec exec = detail::c_exec(options.exec);
  check(gpukern_nonzero(detail::address(TensorRef(mask).c_tensor()),
                        detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

template <Element T>
struct CompressOptions {
  std::int32_t axis = kFlattened;
  T fill_value{};  ///< of what out holds beyond the selected items
  ExecOptions exec{};
};

/// Takes the items of x along an axis for which a mask is not zero.
///
/// The mask has one dimension, or for the flattened x its shape; the shape of out is
/// x.shape[:axis] + (size,) + x.shape[axis+1:]. Enqueues; see gpukern_compress().
template <class Mask, Output Out, InputOf<element_t<Out>> X>
  requires TensorLike<const Mask&>
void compress(const Mask& mask, const X& x, Out&& out,
              const CompressOptions<element_t<Out>>& options = {}) {
  const TensorRef fill_value(&options.fill_value, {});
  const gpukern_tensor c_fill_value = fill_value.c_tensor();
  gpukern_select_options c_options = GPUKERN_SELECT_OPTIONS_INIT;
  c_options.fill_value = &c_fill_value;
  const gpukern_exec exec = detail::c_exec(options.exec);
  check(gpukern_compress(detail::address(TensorRef(mask).c_tensor()),
                         detail::address(TensorRef(x).c_tensor()), options.axis,
                         detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

/// A type that converts to T without a change of kind: no floating-point number to an integer.
template <class A, class T>
concept ScalarFor = std::convertible_to<A, T> && !(std::floating_point<A> && std::integral<T>);

/// Computes `out = a * x + y`, rounded once; out may be x or y. Enqueues; see gpukern_saxpy().
template <Output Out, InputOf<element_t<Out>> X, InputOf<element_t<Out>> Y,
          class A = element_t<Out>>
  requires ScalarFor<A, element_t<Out>>
void saxpy(const A& scalar, const X& x, const Y& y, Out&& out, const ExecOptions& options = {}) {
  const auto a = static_cast<element_t<Out>>(scalar);
  const gpukern_exec exec = detail::c_exec(options);
  check(gpukern_saxpy(&a, detail::address(TensorRef(x).c_tensor()),
                      detail::address(TensorRef(y).c_tensor()),
                      detail::address(TensorRef(out).c_tensor()), &exec));
}

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_GPUKERN_HPP
