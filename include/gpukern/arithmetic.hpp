// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file arithmetic.hpp
/// @brief The arithmetic operations for C++20; gpukern.hpp includes it.
#ifndef GPUKERN_ARITHMETIC_HPP
#define GPUKERN_ARITHMETIC_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpukern/arithmetic.h"
#include "gpukern/runtime.hpp"
#include "gpukern/saxpy_list.h"
#include "gpukern/tensor.hpp"

namespace gpukern::inline abi1 {

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
  gpukern::check(gpukern_saxpy(&a, detail::address(TensorRef(x).c_tensor()),
                               detail::address(TensorRef(y).c_tensor()),
                               detail::address(TensorRef(out).c_tensor()), &exec));
}

namespace detail {
/// A range of tensors.
template <class R>
concept Tensors = std::ranges::forward_range<R> &&
                  requires(std::ranges::range_reference_t<R> one) { TensorRef(one); };
template <Tensors R>
using ref_of_t = decltype(TensorRef(std::declval<std::ranges::range_reference_t<R>>()));
/// A range of tensors to write to.
template <class R>
concept Outputs = Tensors<R> && !std::is_const_v<typename ref_of_t<R>::element_type>;

/// The C views of the tensors of a range, which must outlive this object.
template <class Ref>
class TensorPointers {
 public:
  template <Tensors R>
  explicit TensorPointers(R& tensors) {
    for (auto&& tensor : tensors) refs_.emplace_back(tensor);
    for (const Ref& ref : refs_) views_.push_back(ref.c_tensor());
    for (const gpukern_tensor& view : views_) pointers_.push_back(&view);
  }
  TensorPointers(const TensorPointers&) = delete;
  TensorPointers& operator=(const TensorPointers&) = delete;
  ~TensorPointers() = default;
  [[nodiscard]] const gpukern_tensor* const* data() const noexcept { return pointers_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return pointers_.size(); }

 private:
  std::vector<Ref> refs_;
  std::vector<gpukern_tensor> views_;
  std::vector<const gpukern_tensor*> pointers_;
};
template <Tensors R>
TensorPointers(R&) -> TensorPointers<ref_of_t<R&>>;

/// Calls function(x, y, out, count) with the C views of three ranges.
template <class X, class Y, class Out, class Function>
void with_tensors(const char* name, X& x, Y& y, Out& out, const Function& function) {
  const TensorPointers xs(x);
  const TensorPointers ys(y);
  const TensorPointers outs(out);
  if (ys.size() != xs.size() || outs.size() != xs.size())
    throw ValueError(std::string(name) + ": x, y and out must have the same number of tensors");
  gpukern::check(function(xs.data(), ys.data(), outs.data(), xs.size()));
}
}  // namespace detail

/// Computes `out[k] = a * x[k] + y[k]` for ranges of tensors on one device, with the bits of a loop
/// of saxpy(); out may be x or y. Enqueues; see gpukern_saxpy_many().
template <detail::Tensors X, detail::Tensors Y, detail::Outputs Out, class A>
  requires ScalarFor<A, typename detail::ref_of_t<Out>::element_type>
void saxpy_many(const A& scalar, const X& x, const Y& y, Out&& out,
                const ExecOptions& options = {}) {
  const auto a = static_cast<typename detail::ref_of_t<Out>::element_type>(scalar);
  const gpukern_exec exec = detail::c_exec(options);
  detail::with_tensors("saxpy_many", x, y, out, [&](auto xs, auto ys, auto outs, auto count) {
    return gpukern_saxpy_many(&a, xs, ys, outs, count, &exec);
  });
}

/// Ranges of tensors that are checked once, for many calls of saxpy_many(). Their memory must
/// outlive this object; see saxpy_list.h.
template <Element T>
class SaxpyList {
 public:
  template <detail::Tensors X, detail::Tensors Y, detail::Outputs Out>
  SaxpyList(const X& x, const Y& y, Out&& out) {
    detail::with_tensors("SaxpyList", x, y, out, [&](auto xs, auto ys, auto outs, auto count) {
      return gpukern_saxpy_list_create(xs, ys, outs, count, &list_);
    });
  }
  SaxpyList(SaxpyList&& other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
  SaxpyList& operator=(SaxpyList&& other) noexcept {
    SaxpyList taken(std::move(other));
    std::swap(list_, taken.list_);
    return *this;
  }
  ~SaxpyList() { gpukern_saxpy_list_destroy(list_); }

  /// Computes `out[k] = a * x[k] + y[k]`; enqueues.
  void operator()(const T& a, const ExecOptions& options = {}) const {
    const gpukern_exec exec = detail::c_exec(options);
    gpukern::check(gpukern_saxpy_list_run(list_, &a, &exec));
  }

 private:
  gpukern_saxpy_list* list_ = nullptr;
};

/// How axpby and fma round to the type of the output; see gpukern_rounding.
enum class Rounding {
  nearest = GPUKERN_ROUND_NEAREST,
  stochastic = GPUKERN_ROUND_STOCHASTIC  ///< for a bfloat16 output
};

struct AxpbyOptions {
  Rounding rounding = Rounding::nearest;
  std::uint64_t seed = 0;  ///< of Rounding::stochastic
  ExecOptions exec{};
};

namespace detail {
inline gpukern_axpby_options c_axpby_options(const AxpbyOptions& options) {
  gpukern_axpby_options c_options = GPUKERN_AXPBY_OPTIONS_INIT;
  c_options.rounding = static_cast<std::int32_t>(options.rounding);
  c_options.seed = options.seed;
  return c_options;
}

/// Whether dtype_of makes a type of 16 bits a floating-point type.
template <class T>
constexpr bool is_float16() {
  if constexpr (Element<T> && sizeof(T) == 2)
    return dtype_of<T>.code == GPUKERN_FLOAT || dtype_of<T>.code == GPUKERN_BFLOAT;
  else
    return false;
}

/// A number becomes a tensor of one element in host memory, anything else is a tensor argument.
template <class T>
auto tensor_or_number(const T& given) {
  if constexpr (std::floating_point<T> || is_float16<T>())
    return TensorRef(&given, {});
  else
    return TensorRef(given);
}
}  // namespace detail

/// Computes `out = a * x + b * y`; each input is a floating-point tensor or number, and shapes
/// broadcast to that of out. Enqueues; see gpukern_axpby().
template <class A, class X, class B, class Y, Output Out>
void axpby(const A& a, const X& x, const B& b, const Y& y, Out&& out,
           const AxpbyOptions& options = {}) {
  const gpukern_axpby_options c_options = detail::c_axpby_options(options);
  const gpukern_exec exec = detail::c_exec(options.exec);
  gpukern::check(gpukern_axpby(detail::address(detail::tensor_or_number(a).c_tensor()),
                               detail::address(detail::tensor_or_number(x).c_tensor()),
                               detail::address(detail::tensor_or_number(b).c_tensor()),
                               detail::address(detail::tensor_or_number(y).c_tensor()),
                               detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

/// Computes `out = x * y + z`, rounded once; arguments as in axpby(). See gpukern_fma().
template <class X, class Y, class Z, Output Out>
void fma(const X& x, const Y& y, const Z& z, Out&& out, const AxpbyOptions& options = {}) {
  const gpukern_axpby_options c_options = detail::c_axpby_options(options);
  const gpukern_exec exec = detail::c_exec(options.exec);
  gpukern::check(gpukern_fma(detail::address(detail::tensor_or_number(x).c_tensor()),
                             detail::address(detail::tensor_or_number(y).c_tensor()),
                             detail::address(detail::tensor_or_number(z).c_tensor()),
                             detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_ARITHMETIC_HPP
