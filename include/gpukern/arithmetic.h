/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file arithmetic.h
 * @brief The arithmetic operations: saxpy, saxpy_many, axpby, fma. gpukern.h includes it.
 *
 * Shapes broadcast as in NumPy: to the shape of the output, which no input may exceed.
 */
#ifndef GPUKERN_ARITHMETIC_H
#define GPUKERN_ARITHMETIC_H

#include "gpukern/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @brief Computes `out = a * x + y` with one rounding: a fused multiply-add.
 *
 * Real types: fma(a, x, y), correctly rounded; float16 and bfloat16 in float32, then rounded to
 * the type. Integers wrap around. Complex types use fma for each product:
 * `re = fma(-a.im, x.im, fma(a.re, x.re, y.re))`, `im = fma(a.im, x.re, fma(a.re, x.im, y.im))`.
 * Subnormals are preserved. A NaN result is always the quiet NaN with a clear sign bit and no
 * payload. Thus all devices give the same bits.
 *
 * Stream behaviour: enqueues. Host tensors computed on a GPU are ready on return; they pass through
 * it in chunks, without another copy on the host if they are page-locked.
 *
 * @param[in] a one element of x's dtype, in host memory, read before the call returns
 * @param[in] x float16, bfloat16, float32, float64, complex64, complex128, int32 or int64, of a
 *            shape that broadcasts to that of out
 * @param[in] y of x's dtype, as x
 * @param[out] out any shape, of x's dtype; may be x or y, and may overlap them in any way
 * @param[in] exec may be NULL
 * @return GPUKERN_TYPE_ERROR for a dtype that is not listed, or differs from that of x;
 *         GPUKERN_VALUE_ERROR for shapes that do not broadcast, tensors on different devices, and
 *         other invalid arguments; out is then unchanged
 */
GPUKERN_API gpukern_status gpukern_saxpy(const void *a, const gpukern_tensor *x,
                                         const gpukern_tensor *y, const gpukern_tensor *out,
                                         const gpukern_exec *exec);

/**
 * @brief Computes `out[k] = a * x[k] + y[k]` for each k < count, with the bits of gpukern_saxpy().
 *
 * The results are those of a loop of gpukern_saxpy() from k = 0 on: also where an output overlaps
 * tensors of other positions. Contiguous tensors that do not are computed together: on a GPU by one
 * launch for each 1,020 of them. All arguments are checked before anything is written; an error
 * names the tensor, such as `y[3]`. gpukern_saxpy_list_create() keeps checked tensors for several
 * calls.
 *
 * Stream behaviour: enqueues. Host tensors computed on a GPU are ready on return.
 *
 * @param[in] a one element of the tensors' dtype, in host memory, read before the call returns
 * @param[in] x `count` tensors on one device, all of one dtype of gpukern_saxpy(); each of a shape
 *            that broadcasts to that of its output. May be NULL if count is 0.
 * @param[in] y as x
 * @param[out] out as x, of any shapes; may overlap each other and the inputs in any way
 * @param[in] count of tensors in each list; of 0 nothing is computed
 * @param[in] exec may be NULL
 * @return as gpukern_saxpy()
 */
GPUKERN_API gpukern_status gpukern_saxpy_many(const void *a, const gpukern_tensor *const *x,
                                              const gpukern_tensor *const *y,
                                              const gpukern_tensor *const *out, size_t count,
                                              const gpukern_exec *exec);

/** How axpby and fma round a result to the dtype of the output. */
typedef enum gpukern_rounding {
  GPUKERN_ROUND_NEAREST = 0, /**< to nearest, ties to even */
  /** Of the two neighbours of a result, each with a probability that is proportional to the
   * distance from the other one. For a bfloat16 output and arithmetic in float32. */
  GPUKERN_ROUND_STOCHASTIC = 1
} gpukern_rounding;

/**
 * @brief Options of axpby and fma.
 *
 * Set `struct_size` to `sizeof(gpukern_axpby_options)` (GPUKERN_AXPBY_OPTIONS_INIT does): the
 * struct may grow.
 */
typedef struct gpukern_axpby_options {
  size_t struct_size;
  int32_t rounding; /**< a ::gpukern_rounding */
  /** Of the random numbers. Calls with the same arguments and seed give the same bits on every
   * device: those of the element at position p in C order are 16 bits of Philox4x32-10 (Salmon et
   * al., 2011) with this key and the counter p / 8. */
  uint64_t seed;
} gpukern_axpby_options;

#define GPUKERN_AXPBY_OPTIONS_INIT {sizeof(gpukern_axpby_options), GPUKERN_ROUND_NEAREST, 0}

/**
 * @brief Computes `out = a * x + b * y`, of floating-point dtypes that may differ.
 *
 * The arithmetic is in float64 if an operand or the output is, else in float32, which holds all
 * values of the narrower types: `fma(a, x, b * y)`, where b * y is rounded, and then the sum. The
 * result is then rounded to the dtype of out. Subnormals are preserved. A NaN result is always the
 * quiet NaN with a clear sign bit and no payload. Thus all devices give the same bits.
 *
 * Stream behaviour: enqueues. Host tensors computed on a GPU are ready on return; they pass through
 * it in chunks.
 *
 * @param[in] a float16, bfloat16, float32 or float64, of a shape that broadcasts to that of out. An
 *            input of one element may be in host memory whatever the device of the others: it is
 *            read before the call returns.
 * @param[in] x as a
 * @param[in] b as a
 * @param[in] y as a
 * @param[out] out any shape, of one of these dtypes; may be an input, and may overlap them in any
 *             way
 * @param[in] options may be NULL: the defaults of GPUKERN_AXPBY_OPTIONS_INIT
 * @param[in] exec may be NULL
 * @return GPUKERN_TYPE_ERROR for another dtype, and for GPUKERN_ROUND_STOCHASTIC with an output
 * that is not bfloat16 or with a float64 operand; GPUKERN_VALUE_ERROR for shapes that do not
 *         broadcast, tensors on different devices, and other invalid arguments; out is then
 *         unchanged
 */
GPUKERN_API gpukern_status gpukern_axpby(const gpukern_tensor *a, const gpukern_tensor *x,
                                         const gpukern_tensor *b, const gpukern_tensor *y,
                                         const gpukern_tensor *out,
                                         const gpukern_axpby_options *options,
                                         const gpukern_exec *exec);

/**
 * @brief Computes `out = x * y + z` with one rounding, and as gpukern_axpby() otherwise.
 *
 * If out has the type of the arithmetic, the result is correctly rounded, also on CPUs without fma
 * instructions.
 *
 * @param[in] x as a of gpukern_axpby()
 * @param[in] y as x
 * @param[in] z as x
 * @param[out] out as of gpukern_axpby()
 * @param[in] options may be NULL
 * @param[in] exec may be NULL
 * @return as gpukern_axpby()
 */
GPUKERN_API gpukern_status gpukern_fma(const gpukern_tensor *x, const gpukern_tensor *y,
                                       const gpukern_tensor *z, const gpukern_tensor *out,
                                       const gpukern_axpby_options *options,
                                       const gpukern_exec *exec);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_ARITHMETIC_H */
