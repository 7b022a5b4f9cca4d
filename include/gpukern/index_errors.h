/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file index_errors.h
 * @brief Bad indices of calls on a GPU, reported later: mode GPUKERN_INDEX_RAISE without a wait.
 *
 * @code
 * gpukern_index_errors *errors;
 * gpukern_index_errors_create(device, &errors);
 * exec.index_errors = errors;
 * gpukern_gather(&source, &index, 0, &out, NULL, &exec);  // only enqueued
 * gpukern_scatter(&out, &index, &values, 0, NULL, NULL, &exec);
 * gpukern_status status = gpukern_index_errors_check(errors, NULL);  // waits for both
 * gpukern_index_errors_destroy(errors);
 * @endcode
 *
 * In such a call the mode GPUKERN_INDEX_RAISE has the effect of GPUKERN_INDEX_FILL: nothing is read
 * or written at a bad index. A gather gives zero there, a scatter skips the value, and a bag the
 * item. So its output changes even if an index is bad. CUDA graphs can capture such calls; each
 * launch records. The offsets of gpukern_gather_reduce() and gpukern_segment_reduce() are checked
 * as without a record: in mode GPUKERN_INDEX_RAISE these wait, and cannot be captured. All
 * functions may be called from any thread.
 */
#ifndef GPUKERN_INDEX_ERRORS_H
#define GPUKERN_INDEX_ERRORS_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A bad index. Set `struct_size` to `sizeof(gpukern_bad_index)`: the struct may grow. */
typedef struct gpukern_bad_index {
  size_t struct_size;
  const char *function; /**< the name of the call's function, such as "gather" */
  int64_t call;         /**< the number of the call, from 0, of those in mode GPUKERN_INDEX_RAISE */
  int64_t position;     /**< of the index in its tensor, in C order */
  int64_t value;        /**< of the index; of a uint64 index the same bits */
  int32_t axis;         /**< that it indexes; GPUKERN_AXIS_NONE counts as 0 */
  int64_t size;         /**< of the axis */
} gpukern_bad_index;

/**
 * @brief Creates a record of bad indices, without any, on a GPU.
 * @param[in] device a CUDA device
 * @param[out] errors for gpukern_exec::index_errors; destroy with gpukern_index_errors_destroy()
 * @return GPUKERN_VALUE_ERROR for another device
 */
GPUKERN_API gpukern_status gpukern_index_errors_create(gpukern_device device,
                                                       gpukern_index_errors **errors);

/**
 * @brief Waits for the calls so far that were given the record, and reports the first bad index.
 *
 * The first one is that of the lowest call, axis and position. The record is then empty again;
 * calls go on to be numbered. Launches of a captured graph are not waited for: they must have
 * completed, and none may run during the check.
 *
 * @param[in] errors the record
 * @param[out] first may be NULL; filled in if there is a bad index
 * @return GPUKERN_INDEX_ERROR if there is a bad index, with a message that names it
 */
GPUKERN_API gpukern_status gpukern_index_errors_check(gpukern_index_errors *errors,
                                                      gpukern_bad_index *first);

/**
 * @brief Waits for the calls that were given the record, and destroys it.
 *
 * Graphs that captured such calls keep the memory that they write to, and may be launched
 * afterwards.
 *
 * @param[in] errors may be NULL
 */
GPUKERN_API gpukern_status gpukern_index_errors_destroy(gpukern_index_errors *errors);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_INDEX_ERRORS_H */
