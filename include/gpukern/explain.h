/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file explain.h
 * @brief Where a call would run, why, and what it would move: gpukern_exec::explanation.
 *
 * With an explanation, the operations, gpukern_pipeline_run(), gpukern_copy() and
 * gpukern_copy_async() check their arguments and report what they would do, but do not run: no
 * tensor's memory is read or written, so indices are not checked, nothing is enqueued, and neither
 * gpukern_exec::progress nor a gpukern_pipeline_step is called. Other functions ignore it. The
 * field is read only where gpukern_exec::struct_size covers it. Copies report their bytes alone,
 * and no device, rule, path or threads.
 *
 * @code
 * gpukern_explanation explanation = GPUKERN_EXPLANATION_INIT;
 * gpukern_exec exec = GPUKERN_EXEC_INIT;
 * exec.explanation = &explanation;
 * gpukern_saxpy(&a, &x, &y, &out, &exec);   // computes nothing, fills the explanation
 * @endcode
 */
#ifndef GPUKERN_EXPLAIN_H
#define GPUKERN_EXPLAIN_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The rule that chose the device of a call. */
typedef enum gpukern_device_rule {
  GPUKERN_RULE_NONE = 0,        /**< no operation filled the explanation */
  GPUKERN_RULE_ARRAYS = 1,      /**< device tensors are computed on their device */
  GPUKERN_RULE_ARGUMENT = 2,    /**< exec->device names the device for host tensors */
  GPUKERN_RULE_ENVIRONMENT = 3, /**< $GPUKERN_DEVICE names it */
  GPUKERN_RULE_HOST = 4,        /**< host tensors are computed on the CPU */
  GPUKERN_RULE_NO_GPU = 5,      /**< $GPUKERN_DEVICE is cuda, but there is no GPU */
  GPUKERN_RULE_SOURCE = 6, /**< a GPU was named, but a gather that reads little of its source is
                              faster on the CPU */
  GPUKERN_RULE_KERNEL = 7, /**< the operation is a kernel, which needs a GPU */
  GPUKERN_RULE_MEMORY = 8  /**< a GPU was named, but a column of a gather_reduce's source, an
                              element, or the array of count_nonzero exceeds
                              gpukern_exec::device_memory_limit */
} gpukern_device_rule;

/** The path of a call on its device. */
typedef enum gpukern_compute_path {
  GPUKERN_PATH_NONE = 0,       /**< there is nothing to compute */
  GPUKERN_PATH_CONTIGUOUS = 1, /**< contiguous operands, moved by wide accesses */
  GPUKERN_PATH_STRIDED = 2,    /**< single positions, for any layout */
  GPUKERN_PATH_ITEMS = 3,      /**< one access per item */
  GPUKERN_PATH_ROWS = 4,       /**< several accesses per item */
  GPUKERN_PATH_PARTITIONED = 5 /**< gather or scatter with indices sorted by slices of the source
                                  or target; unless it was requested, a sample on the GPU may
                                  change it to ITEMS for a gather */
} gpukern_compute_path;

/**
 * @brief What a call would do, see gpukern_exec::explanation.
 *
 * Set `struct_size` to `sizeof(gpukern_explanation)` and the rest to zero (GPUKERN_EXPLANATION_INIT
 * does). The byte counts are added to their previous values, up to INT64_MAX. An item of gather
 * counts as read once for each index.
 */
struct gpukern_explanation {
  size_t struct_size;
  gpukern_device device; /**< the computing device: GPUKERN_CPU or GPUKERN_CUDA, and the ordinal */
  int32_t rule;          /**< a ::gpukern_device_rule */
  int32_t path;          /**< a ::gpukern_compute_path */
  int32_t threads;       /**< the largest number of CPU threads, with the caller's; 0 for none */
  int32_t chunks;        /**< chunks of host memory that pass through a GPU; 0 for none; estimated
                              where their number depends on indices */
  int64_t bytes_read;    /**< by the computing device */
  int64_t bytes_written; /**< likewise */
  int64_t bytes_to_device;   /**< from the host */
  int64_t bytes_from_device; /**< to the host */
  int64_t bytes_allocated;   /**< for copies of operands and for chunks on the computing device, and
                                  on the host for the positions of host index arrays of a tuple;
                                  not the scratch memory of kernels */
};

#define GPUKERN_EXPLANATION_INIT \
  {sizeof(gpukern_explanation), {GPUKERN_DEVICE_DEFAULT, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0}

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_EXPLAIN_H */
