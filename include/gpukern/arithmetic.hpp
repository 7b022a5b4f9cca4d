// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file arithmetic.hpp
/// @brief The arithmetic operations for C++20; gpukern.hpp includes it.
#ifndef GPUKERN_ARITHMETIC_HPP
#define GPUKERN_ARITHMETIC_HPP

#include <concepts>
#include <cstdint>

#include "gpukern/arithmetic.h"
#include "gpukern/runtime.hpp"
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
  check(gpukern_saxpy(&a, detail::address(TensorRef(x).c_tensor()),
                      detail::address(TensorRef(y).c_tensor()),
                      detail::address(TensorRef(out).c_tensor()), &exec));
}

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

/// A number becomes a tensor of one element in host memory, anything else is a tensor argument.
template <class T>
auto tensor_or_number(const T& given) {
  if constexpr (std::floating_point<T>)
    return TensorRef(&given, {});
  else
    return TensorRef(given);
}
}  // namespace detail

/// Computes `out = a * x + b * y`; each input is a floating-point tensor or number, and shapes
/// broadcast to that of out. Enqueues; see gpukern_axpby().
template <class A, class X, class B, class Y, class Out>
void axpby(const A& a, const X& x, const B& b, const Y& y, Out&& out,
           const AxpbyOptions& options = {}) {
  const gpukern_axpby_options c_options = detail::c_axpby_options(options);
  const gpukern_exec exec = detail::c_exec(options.exec);
  check(gpukern_axpby(detail::address(detail::tensor_or_number(a).c_tensor()),
                      detail::address(detail::tensor_or_number(x).c_tensor()),
                      detail::address(detail::tensor_or_number(b).c_tensor()),
                      detail::address(detail::tensor_or_number(y).c_tensor()),
                      detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

/// Computes `out = x * y + z`, rounded once; arguments as in axpby(). See gpukern_fma().
template <class X, class Y, class Z, class Out>
void fma(const X& x, const Y& y, const Z& z, Out&& out, const AxpbyOptions& options = {}) {
  const gpukern_axpby_options c_options = detail::c_axpby_options(options);
  const gpukern_exec exec = detail::c_exec(options.exec);
  check(gpukern_fma(detail::address(detail::tensor_or_number(x).c_tensor()),
                    detail::address(detail::tensor_or_number(y).c_tensor()),
                    detail::address(detail::tensor_or_number(z).c_tensor()),
                    detail::address(TensorRef(out).c_tensor()), &c_options, &exec));
}

}  // namespace gpukern::inline abi1

#endif  // GPUKERN_ARITHMETIC_HPP
