// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Transcendental functions of complex numbers, with the values of C99's Annex G for infinities,
// NaNs and signed zeros, as NumPy's, but for signs that the standard leaves open. The error is
// below 4 epsilons of the absolute value of the result, and that of CUDA's real functions. Included
// where a function uses them.
#pragma once

namespace gpukern {

/// exp(x) is infinite from somewhat above this value on, and sinh(x) and cosh(x) are exp(x) / 2.
template <class P>
constexpr P largest_exponent = sizeof(P) == 4 ? P(88) : P(709);

template <class P>
__device__ bool is_finite(P a) {
  return a - a == 0;
}

template <class P>
__device__ complex<P> complex_exp(complex<P> z) {
  if (z.im == 0) return {exp(z.re), z.im};
  if (!is_finite(z.im) && !is_finite(z.re) && z.re == z.re) {
    const P most = exp(z.re);
    return {most, z.re < 0 ? P(0) : z.im - z.im};
  }
  // In two factors where one could be infinite or lose bits, and the product not.
  const bool halved = fabs(z.re) > largest_exponent<P> - 4;
  const P factor = exp(halved ? z.re / 2 : z.re), other = halved ? factor : P(1);
  return {factor * cos(z.im) * other, factor * sin(z.im) * other};
}

/// log(a * a + b * b) / 2 for a >= b >= 0.
template <class P>
__device__ P log_of_length(P a, P b) {
  const P length = hypot(a, b);
  if (!(length > P(0.5) && length < 2)) {
    const bool reduced = is_finite(a) && a > 1;  // whose length could be infinite
    return reduced ? log(hypot(a / 2, b / 2)) + P(0.69314718055994530942) : log(length);
  }
  // The squares exactly, in two parts each, so that nothing is lost where they add up to about 1.
  const P a2 = a * a, b2 = b * b;
  const P rest = fma(a, a, -a2) + fma(b, b, -b2);
  return log1p((a2 - 1) + b2 + rest) / 2;
}

template <class P>
__device__ complex<P> complex_log(complex<P> z) {
  const P a = fabs(z.re), b = fabs(z.im);
  return {a >= b || b != b ? log_of_length(a, b) : log_of_length(b, a), atan2(z.im, z.re)};
}

template <class P>
__device__ complex<P> complex_sqrt(complex<P> z) {
  if (z.re == 0 && z.im == 0) return {P(0), z.im};
  if (!is_finite(z.im) && z.im == z.im) return {fabs(z.im), z.im};
  if (!is_finite(z.re) && z.re == z.re) {
    const P zero_or_nan = z.im - z.im;
    return z.re > 0 ? complex<P>{z.re, copysign(zero_or_nan, z.im)}
                    : complex<P>{fabs(zero_or_nan), copysign(z.re, z.im)};
  }
  // By an even power of 2, so that no square overflows or underflows.
  const P most = fmax(fabs(z.re), fabs(z.im));
  const P scale = most > 1 ? P(0.0625) : sizeof(P) == 4 ? P(16777216) : P(18014398509481984);
  const P back = most > 1 ? P(4) : sizeof(P) == 4 ? P(0.000244140625) : P(7.450580596923828125e-09);
  const P re = z.re * scale, im = z.im * scale;
  const P half = sqrt((fabs(re) + hypot(re, im)) / 2);
  const P other = im / (2 * half);
  if (re >= 0) return {half * back, other * back};
  return {fabs(other) * back, copysign(half, im) * back};
}

/// {sin(x) * cosh(y), cos(x) * sinh(y)}, without infinities where the products have none.
template <class P>
__device__ complex<P> sine_parts(P x, P y, P sine, P cosine) {
  if (fabs(y) > largest_exponent<P>) {
    const P half = exp(fabs(y) / 2);
    return {half / 2 * sine * half, copysign(half, y) / 2 * cosine * half};
  }
  return {sine * cosh(y), cosine * sinh(y)};
}

template <class P>
__device__ complex<P> complex_sin(complex<P> z) {
  if (z.re == 0) return {z.re, sinh(z.im)};
  if (z.im == 0) return {sin(z.re), is_finite(z.re) ? z.im * cos(z.re) : z.im};
  if (z.re - z.re != 0 && fabs(z.im) > 0 && !is_finite(z.im) && z.im == z.im)
    return {z.re - z.re, z.im};
  return sine_parts(z.re, z.im, sin(z.re), cos(z.re));
}

template <class P>
__device__ complex<P> complex_cos(complex<P> z) {
  if (z.re == 0) return {cosh(z.im), -(z.re * copysign(P(1), z.im))};
  if (z.im == 0) return {cos(z.re), is_finite(z.re) ? -(z.im * sin(z.re)) : z.im};
  const complex<P> parts = sine_parts(z.re, z.im, cos(z.re), -sin(z.re));
  return !is_finite(z.re) && !is_finite(z.im) && z.im == z.im ? complex<P>{fabs(z.im), parts.im}
                                                              : parts;
}

/// By the tangent and the hyperbolic sine of the parts (Kahan 1987).
template <class P>
__device__ complex<P> complex_tanh(complex<P> z) {
  if (z.re != z.re) return {z.re, z.im == 0 ? z.im : z.re};
  if (fabs(z.re) > (sizeof(P) == 4 ? P(11) : P(22))) {
    const P sine = is_finite(z.im) ? sin(z.im) * cos(z.im) : P(0);
    const P small = exp(-fabs(z.re));
    return {copysign(P(1), z.re),
            is_finite(z.im) ? 4 * sine * small * small : copysign(P(0), z.im)};
  }
  if (!is_finite(z.im)) return {z.re == 0 ? z.re : z.im - z.im, z.im - z.im};
  const P tangent = tan(z.im), sine = sinh(z.re);
  const P beta = 1 + tangent * tangent, root = sqrt(1 + sine * sine);
  const P scale = 1 + beta * sine * sine;
  return {beta * root * sine / scale, tangent / scale};
}

}  // namespace gpukern
