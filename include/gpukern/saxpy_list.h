/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file saxpy_list.h
 * @brief Lists of tensors for gpukern_saxpy_many() that are checked once and computed often.
 *
 * @code
 * gpukern_saxpy_list *list;
 * gpukern_saxpy_list_create(gradients, parameters, parameters, count, &list);
 * for (float rate = -0.1F; ...) gpukern_saxpy_list_run(list, &rate, &exec);
 * gpukern_saxpy_list_destroy(list);
 * @endcode
 *
 * A list of contiguous tensors on a GPU is enqueued by one launch for each 1,020 tensors, whose
 * cost hardly depends on their number.
 */
#ifndef GPUKERN_SAXPY_LIST_H
#define GPUKERN_SAXPY_LIST_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Checked arguments of gpukern_saxpy_many(). */
typedef struct gpukern_saxpy_list gpukern_saxpy_list;

/**
 * @brief Checks tensors, and keeps their addresses, shapes and strides; the structs are copied.
 *
 * The memory of the tensors must stay valid as long as the list runs. It is not accessed.
 *
 * @param[in] x as of gpukern_saxpy_many()
 * @param[in] y as of gpukern_saxpy_many()
 * @param[in] out as of gpukern_saxpy_many()
 * @param[in] count of tensors in each of these
 * @param[out] list destroy with gpukern_saxpy_list_destroy(); NULL after an error
 * @return as gpukern_saxpy_many()
 */
GPUKERN_API gpukern_status gpukern_saxpy_list_create(const gpukern_tensor *const *x,
                                                     const gpukern_tensor *const *y,
                                                     const gpukern_tensor *const *out, size_t count,
                                                     gpukern_saxpy_list **list);

/**
 * @brief Computes `out[k] = a * x[k] + y[k]` for all tensors, as gpukern_saxpy_many().
 *
 * May be called from any thread, also at the same time; these calls then write to the same memory.
 *
 * @param[in] list the tensors
 * @param[in] a as of gpukern_saxpy_many()
 * @param[in] exec may be NULL
 * @return GPUKERN_VALUE_ERROR for NULL, and for an exec that is not of the tensors' device
 */
GPUKERN_API gpukern_status gpukern_saxpy_list_run(const gpukern_saxpy_list *list, const void *a,
                                                  const gpukern_exec *exec);

/**
 * @brief Destroys a list; enqueued work on it goes on.
 * @param[in] list may be NULL
 */
GPUKERN_API gpukern_status gpukern_saxpy_list_destroy(gpukern_saxpy_list *list);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_SAXPY_LIST_H */
