// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file tensor.hpp
/// @brief Part of gpukern.hpp, which programs include: errors, element types, devices, tensors.
#ifndef GPUKERN_TENSOR_HPP
#define GPUKERN_TENSOR_HPP

#if __cplusplus <= 201703L
#error "gpukern's C++ headers need C++20: compile with -std=c++20, or link gpukern::cpp in CMake"
#endif

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#if __has_include(<stdfloat>)
#include <stdfloat>
#endif

#include "gpukern/gpukern.h"

// Inline, so that these names link apart from the library's own and from later versions of them.
namespace gpukern::inline abi1 {

// ---- errors ---------------------------------------------------------------------------------

/// The exception of a failed call; what() is the library's message.
class Error : public std::runtime_error {
 public:
  Error(gpukern_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  [[nodiscard]] gpukern_status status() const noexcept { return status_; }

 private:
  gpukern_status status_;
};

/// The Error of one status.
template <gpukern_status Status>
class StatusError : public Error {
 public:
  explicit StatusError(const std::string& message) : Error(Status, message) {}
};

using ValueError = StatusError<GPUKERN_VALUE_ERROR>;
using TypeError = StatusError<GPUKERN_TYPE_ERROR>;
using IndexError = StatusError<GPUKERN_INDEX_ERROR>;
using AxisError = StatusError<GPUKERN_AXIS_ERROR>;
using MemoryError = StatusError<GPUKERN_MEMORY_ERROR>;
using DeviceError = StatusError<GPUKERN_DEVICE_ERROR>;
using CudaError = StatusError<GPUKERN_CUDA_ERROR>;
using ContextLostError = StatusError<GPUKERN_CONTEXT_LOST>;
using Cancelled = StatusError<GPUKERN_CANCELLED>;

/// Throws the calling thread's last error unless the status is GPUKERN_SUCCESS.
// These headers call gpukern::check(), not check(), which argument-dependent lookup finds ambiguous
// in a program that defines a check(gpukern_status).
inline void check(gpukern_status status) {
  switch (status) {
    case GPUKERN_SUCCESS:
      return;
    case GPUKERN_VALUE_ERROR:
      throw ValueError(gpukern_last_error());
    case GPUKERN_TYPE_ERROR:
      throw TypeError(gpukern_last_error());
    case GPUKERN_INDEX_ERROR:
      throw IndexError(gpukern_last_error());
    case GPUKERN_AXIS_ERROR:
      throw AxisError(gpukern_last_error());
    case GPUKERN_MEMORY_ERROR:
      throw MemoryError(gpukern_last_error());
    case GPUKERN_DEVICE_ERROR:
      throw DeviceError(gpukern_last_error());
    case GPUKERN_CUDA_ERROR:
      throw CudaError(gpukern_last_error());
    case GPUKERN_CONTEXT_LOST:
      throw ContextLostError(gpukern_last_error());
    case GPUKERN_CANCELLED:
      throw Cancelled(gpukern_last_error());
    case GPUKERN_COMPILE_ERROR:
    case GPUKERN_INTERNAL_ERROR:
      break;
  }
  throw Error(status, gpukern_last_error());
}

// ---- element types --------------------------------------------------------------------------

/// An element type; gather moves items as bytes.
template <class T>
concept Element = std::is_object_v<T> && std::is_trivially_copyable_v<T> && !std::is_volatile_v<T>;

/// An index type.
template <class T>
concept Index = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool> && sizeof(T) <= 8;

inline constexpr gpukern_dtype kFloat16{GPUKERN_FLOAT, 16, 1};
inline constexpr gpukern_dtype kBfloat16{GPUKERN_BFLOAT, 16, 1};

namespace detail {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <class T>
constexpr gpukern_type_code type_code() {
  if constexpr (std::same_as<T, bool>) {
    return GPUKERN_BOOL;
  } else if constexpr (std::signed_integral<T>) {
    return GPUKERN_INT;
  } else if constexpr (std::unsigned_integral<T>) {
    return GPUKERN_UINT;
  } else if constexpr (std::floating_point<T>) {
    return GPUKERN_FLOAT;
  } else if constexpr (IsComplex<T>::value && sizeof(T) <= 16) {
    return GPUKERN_COMPLEX;
  } else {
    return GPUKERN_OPAQUE;
  }
}

template <class T>
constexpr gpukern_dtype make_dtype() {
  constexpr gpukern_type_code code = type_code<T>();
  static_assert(sizeof(T) <= std::numeric_limits<std::uint16_t>::max(), "the element is too large");
  if constexpr (code == GPUKERN_OPAQUE) {
    return {code, 8, static_cast<std::uint16_t>(sizeof(T))};
  } else {
    return {code, static_cast<std::uint8_t>(8 * sizeof(T)), 1};
  }
}

}  // namespace detail

/// The dtype of a C++ type. Structs and other types without a dtype are opaque bytes.
///
/// Specialise it for a 16-bit float type, which saxpy then supports:
/// @code
/// template <> inline constexpr gpukern_dtype gpukern::dtype_of<__half> = gpukern::kFloat16;
/// @endcode
// NOLINTBEGIN(readability-identifier-naming): named as the traits of the standard library
template <Element T>
inline constexpr gpukern_dtype dtype_of = detail::make_dtype<T>();
#if defined(__STDCPP_BFLOAT16_T__)
template <>
inline constexpr gpukern_dtype dtype_of<std::bfloat16_t> = kBfloat16;
#endif
// NOLINTEND(readability-identifier-naming)

// ---- devices --------------------------------------------------------------------------------

using Device = gpukern_device;

/// In ExecOptions: $GPUKERN_DEVICE, or the CPU.
inline constexpr Device kDefaultDevice{GPUKERN_DEVICE_DEFAULT, 0};
inline constexpr Device kCpu{GPUKERN_CPU, 0};
/// Page-locked host memory, which GPUs copy at full speed and read in place; pageable without a
/// GPU.
inline constexpr Device kPinned{GPUKERN_CUDA_HOST, 0};
constexpr Device cuda_device(std::int32_t ordinal = 0) noexcept { return {GPUKERN_CUDA, ordinal}; }

/// The device of host data, and the cudaStream_t of a GPU. With an explanation, the operations,
/// copy() and copy_async() report what they would do and do not run; see
/// gpukern_exec::explanation.
struct ExecOptions {
  Device device = kDefaultDevice;
  void* stream = nullptr;
  std::size_t device_memory_limit = 0;  ///< see gpukern_exec
  gpukern_progress progress = nullptr;  ///< called between the parts of a call on host data
  void* progress_user = nullptr;        ///< passed to `progress`
  gpukern_explanation* explanation = nullptr;
  gpukern_index_errors* index_errors = nullptr;  ///< see IndexErrors
};

// ---- tensors --------------------------------------------------------------------------------

/// A shape or strides: one number per dimension, as in `Dims{rows, 3}`. `Dims{}` has none (0-d).
class Dims {
 public:
  template <std::integral... N>
    requires(sizeof...(N) <= GPUKERN_MAX_NDIM)
  constexpr Dims(N... n) noexcept  // implicit, so that `{rows, 3}` is one
      : size_(static_cast<std::int32_t>(sizeof...(N))), values_{static_cast<std::int64_t>(n)...} {}

  explicit Dims(std::span<const std::int64_t> values)
      : size_(static_cast<std::int32_t>(values.size())) {
    if (values.size() > values_.size())
      throw ValueError("Dims: at most 64 dimensions are possible");
    std::ranges::copy(values, values_.begin());
  }

  [[nodiscard]] constexpr std::int32_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr const std::int64_t* begin() const noexcept { return values_.data(); }
  [[nodiscard]] constexpr const std::int64_t* end() const noexcept { return begin() + size_; }

 private:
  std::int32_t size_ = 0;
  std::array<std::int64_t, GPUKERN_MAX_NDIM> values_{};
};

namespace detail {

/// A range whose elements outlive the call.
template <class R>
concept Items = std::ranges::contiguous_range<R> && std::ranges::sized_range<R> &&
                std::ranges::borrowed_range<R>;

template <class R>
using item_t = std::remove_reference_t<std::ranges::range_reference_t<R>>;

/// Whether elements U can be described as elements T: the same type, or that with const.
template <class U, class T>
concept PointsAs = std::convertible_to<U (*)[], T (*)[]>;

/// std::mdspan of C++23, and those before it that have its interface (cuda::std, Kokkos): the
/// elements are at the pointer and strides that it reports.
template <class M>
concept Mdspan = requires(const M& view, std::size_t d) {
  requires std::same_as<typename M::reference, typename M::element_type&>;
  { view.data_handle() } -> std::convertible_to<typename M::element_type*>;
  { M::rank() } -> std::convertible_to<std::size_t>;
  { view.extent(d) } -> std::integral;
  { view.stride(d) } -> std::integral;
};

inline Dims require_fits(const Dims& shape, std::size_t size) {
  for (const std::int64_t n : shape)
    if (n < 0) throw ValueError("TensorRef: the shape has a negative size, " + std::to_string(n));
  if (std::ranges::find(shape, 0) != shape.end()) return shape;
  std::size_t room = size;
  for (const std::int64_t n : shape) room /= static_cast<std::size_t>(n);
  if (room == 0) throw ValueError("TensorRef: the shape has more elements than the memory");
  return shape;
}

}  // namespace detail

template <Element T>
class DeviceBuffer;

/// A borrowed tensor of any shape, strides and device; inputs may be of const elements.
///
/// @code
/// TensorRef(values, {rows, columns})                            // a matrix in a vector
/// TensorRef(pointer, {rows, columns}, cuda_device(0))           // in the memory of GPU 0
/// TensorRef(values, {columns, rows}).strided({1, columns})      // the matrix, transposed
/// @endcode
template <Element T>
class TensorRef {
 public:
  using element_type = T;

  /// Memory of a device, by default of the host.
  template <class P = T*>
    requires(std::convertible_to<P, T*> && !detail::Items<P&>)
  TensorRef(P data, const Dims& shape, Device device = kCpu) noexcept
      : data_(data), shape_(shape), device_(device) {}
  TensorRef(std::nullptr_t, const Dims& shape, Device device = kCpu) noexcept
      : data_(nullptr), shape_(shape), device_(device) {}

  /// An array; a shape of more elements than it has is a ValueError.
  template <class U, std::size_t N>
    requires detail::PointsAs<U, T>
  TensorRef(U (&data)[N], const Dims& shape, Device device = kCpu)
      : TensorRef(static_cast<T*>(data), detail::require_fits(shape, N), device) {}

  /// Host memory, 1-D.
  template <detail::Items R>
    requires detail::PointsAs<detail::item_t<R>, T>
  explicit TensorRef(R&& items)
      : TensorRef(std::ranges::data(items), Dims(std::ranges::size(items))) {}

  /// Host memory; a shape of more elements than the range has is a ValueError.
  template <detail::Items R>
    requires detail::PointsAs<detail::item_t<R>, T>
  TensorRef(R&& items, const Dims& shape)
      : TensorRef(std::ranges::data(items), detail::require_fits(shape, std::ranges::size(items))) {
  }

  /// An mdspan of memory of a device, by default of the host.
  template <detail::Mdspan M>
    requires detail::PointsAs<typename M::element_type, T>
  explicit TensorRef(const M& view, Device device = kCpu)
      : data_(view.data_handle()), device_(device), has_strides_(true) {
    if constexpr (M::rank() > 0) {
      std::array<std::int64_t, M::rank()> shape{}, strides{};
      for (std::size_t d = 0; d < M::rank(); ++d) {
        shape[d] = static_cast<std::int64_t>(view.extent(d));
        strides[d] = static_cast<std::int64_t>(view.stride(d));
      }
      shape_ = Dims(shape);
      strides_ = Dims(strides);
    }
  }

  /// The same tensor, to read only.
  template <class U>
    requires(std::is_const_v<T> && std::same_as<const U, T>)
  TensorRef(const TensorRef<U>& other) noexcept
      : data_(other.data_),
        shape_(other.shape_),
        strides_(other.strides_),
        device_(other.device_),
        has_strides_(other.has_strides_) {}

  /// The whole buffer, 1-D.
  explicit TensorRef(DeviceBuffer<T>& buffer) noexcept;
  explicit TensorRef(const DeviceBuffer<std::remove_const_t<T>>& buffer) noexcept
    requires std::is_const_v<T>;

  /// The same memory and shape with other strides, counted in elements. Nothing checks that they
  /// stay inside the memory.
  [[nodiscard]] TensorRef strided(const Dims& strides) const {
    if (strides.size() != shape_.size()) throw ValueError("TensorRef: one stride per dimension");
    TensorRef result = *this;
    result.strides_ = strides;
    result.has_strides_ = true;
    return result;
  }

  /// The C view of this tensor. It points into this object, which must outlive it.
  [[nodiscard]] gpukern_tensor c_tensor() const noexcept {
    // As in DLPack, the C struct has no const, but the library writes to outputs' data only.
    return {.data = const_cast<void*>(static_cast<const void*>(data_)),
            .device = device_,
            .ndim = shape_.size(),
            .dtype = dtype_of<std::remove_const_t<T>>,
            .shape = const_cast<std::int64_t*>(shape_.begin()),
            .strides = has_strides_ ? const_cast<std::int64_t*>(strides_.begin()) : nullptr,
            .byte_offset = 0};
  }

 private:
  /// @cond Doxygen would link to a page of the friend.
  template <Element>
  friend class TensorRef;
  /// @endcond

  T* data_;
  Dims shape_;
  Dims strides_;
  Device device_;
  bool has_strides_ = false;
};

/// @cond The deduction guides.
template <class P>
  requires std::is_pointer_v<P>
TensorRef(P, const Dims&, Device = kCpu) -> TensorRef<std::remove_pointer_t<P>>;
template <Element T, std::size_t N>
TensorRef(T (&)[N], const Dims&, Device = kCpu) -> TensorRef<T>;
template <detail::Items R>
TensorRef(R&&) -> TensorRef<detail::item_t<R>>;
template <detail::Items R>
TensorRef(R&&, const Dims&) -> TensorRef<detail::item_t<R>>;
template <detail::Mdspan M>
TensorRef(const M&) -> TensorRef<typename M::element_type>;
template <detail::Mdspan M>
TensorRef(const M&, Device) -> TensorRef<typename M::element_type>;
template <Element T>
TensorRef(DeviceBuffer<T>&) -> TensorRef<T>;
template <Element T>
TensorRef(const DeviceBuffer<T>&) -> TensorRef<const T>;
/// @endcond

/// A tensor argument: any type from which a TensorRef can be constructed.
template <class X>
concept TensorLike = requires(X&& x) { TensorRef(std::forward<X>(x)); };

template <TensorLike X>
using element_t = typename decltype(TensorRef(std::declval<X>()))::element_type;

/// A tensor to write to.
template <class X>
concept Output = TensorLike<X> && !std::is_const_v<element_t<X>>;

/// A tensor to read, of elements T; may be a temporary.
template <class X, class T>
concept InputOf = TensorLike<const X&> && std::same_as<std::remove_const_t<element_t<const X&>>, T>;

/// An index to read; may be a temporary.
template <class X>
concept IndexLike = TensorLike<const X&> && Index<element_t<const X&>>;

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_TENSOR_HPP
