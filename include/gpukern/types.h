/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file types.h
 * @brief Tensors, devices, status codes and the options of all calls. gpukern.h includes it.
 */
#ifndef GPUKERN_TYPES_H
#define GPUKERN_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifndef GPUKERN_API
#define GPUKERN_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The largest number of dimensions of a tensor, as in NumPy 2. */
#define GPUKERN_MAX_NDIM 64

/** Status codes. 0 is success; gpukern_last_error() has the message of any other. */
typedef enum gpukern_status {
  GPUKERN_SUCCESS = 0,
  GPUKERN_VALUE_ERROR = 1,    /**< an invalid shape, size, device or option */
  GPUKERN_TYPE_ERROR = 2,     /**< an unsupported or mismatched dtype */
  GPUKERN_INDEX_ERROR = 3,    /**< an index out of bounds, or any index into an empty axis */
  GPUKERN_AXIS_ERROR = 4,     /**< an axis out of range */
  GPUKERN_MEMORY_ERROR = 5,   /**< host or device memory ran out */
  GPUKERN_DEVICE_ERROR = 6,   /**< a device, or what a call needs of it, is not available */
  GPUKERN_CUDA_ERROR = 7,     /**< CUDA reported an error */
  GPUKERN_INTERNAL_ERROR = 8, /**< a defect of gpukern */
  GPUKERN_COMPILE_ERROR = 9,  /**< NVRTC could not compile a program, see program.h */
  GPUKERN_CONTEXT_LOST = 10,  /**< a kernel trapped or faulted: the CUDA context is unusable for
                                   the rest of the process */
  GPUKERN_CANCELLED = 11      /**< the caller's progress callback stopped the call */
} gpukern_status;

/** Device types, numbered as in DLPack. */
typedef enum gpukern_device_type {
  GPUKERN_DEVICE_DEFAULT = 0, /**< in ::gpukern_exec only: $GPUKERN_DEVICE, or the CPU */
  GPUKERN_CPU = 1,
  GPUKERN_CUDA = 2,
  GPUKERN_CUDA_HOST = 3,    /**< page-locked ("pinned") host memory; computed as GPUKERN_CPU */
  GPUKERN_CUDA_MANAGED = 13 /**< computed as GPUKERN_CUDA */
} gpukern_device_type;

/** A device: its ::gpukern_device_type and its ordinal. */
typedef struct gpukern_device {
  int32_t device_type;
  int32_t device_id;
} gpukern_device;

/** Type codes of ::gpukern_dtype, numbered as in DLPack. */
typedef enum gpukern_type_code {
  GPUKERN_INT = 0,
  GPUKERN_UINT = 1,
  GPUKERN_FLOAT = 2,
  GPUKERN_OPAQUE = 3,
  GPUKERN_BFLOAT = 4,
  GPUKERN_COMPLEX = 5,
  GPUKERN_BOOL = 6
} gpukern_type_code;

/** An element type; an element takes `bits * lanes / 8` bytes. */
typedef struct gpukern_dtype {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} gpukern_dtype;

/**
 * @brief A borrowed array, in the memory layout of DLPack's DLTensor.
 *
 * The first element is at `(char *)data + byte_offset`; element `(i, j, ...)` is at an offset of
 * `i * strides[0] + j * strides[1] + ...` elements from it. NULL `strides` mean C-contiguous.
 * Strides may be zero or negative, and data need not be aligned to the element size.
 */
typedef struct gpukern_tensor {
  void *data;
  gpukern_device device;
  int32_t ndim;
  gpukern_dtype dtype;
  int64_t *shape;
  int64_t *strides;
  uint64_t byte_offset;
} gpukern_tensor;

/** What a call would do, see gpukern/explain.h. */
typedef struct gpukern_explanation gpukern_explanation;

/** A record of bad indices, see gpukern/index_errors.h. */
typedef struct gpukern_index_errors gpukern_index_errors;

/**
 * @brief Reports the progress of a call on host tensors, from the calling thread.
 *
 * May call gpukern. Must not throw. Called after each part of the work, and on the CPU also during
 * a part that takes more than 10 ms, with what was complete before, so that a call can be
 * cancelled. In a child process that it forks the call returns GPUKERN_CANCELLED.
 *
 * @param[in] user gpukern_exec::progress_user
 * @param[in] done_bytes bytes that have been processed. Never decreases, and ends at `total_bytes`;
 *            gpukern_copy() and gpukern_count_nonzero() only ask whether to go on, and pass 0
 * @param[in] total_bytes of out or the target, and of a source that all chunks on the GPU read
 * @return 0 to continue. Any other value cancels the call, even after the last chunk: it returns
 *         GPUKERN_CANCELLED, out or the target is partly written, and all resources of the call are
 *         released.
 */
typedef int32_t (*gpukern_progress)(void *user, uint64_t done_bytes, uint64_t total_bytes);

/** The default of gpukern_exec::device_memory_limit: 1 GiB. */
#define GPUKERN_DEVICE_MEMORY_LIMIT 1073741824

/**
 * @brief Where and how a call runs. Every function accepts NULL for the defaults.
 *
 * Set `struct_size` to `sizeof(gpukern_exec)` (GPUKERN_EXEC_INIT does): the struct may grow. What
 * is beyond the struct that the library was built with, here and in other structs with a size, is
 * ignored: before it uses a newer field, a program compares gpukern_version(). The options of an
 * operation are in a struct of that operation, such as ::gpukern_gather_options.
 */
typedef struct gpukern_exec {
  size_t struct_size;
  /** The device that computes host tensors. Device tensors are computed on their own device;
   * naming another one for them is a GPUKERN_VALUE_ERROR. */
  gpukern_device device;
  /** A cudaStream_t of the device that computes; NULL is the legacy default stream. */
  void *stream;
  /** Device memory, in bytes, that a call on host tensors may use at any time: they pass through
   * the GPU in chunks, so that they may be larger than its memory. 0 is $GPUKERN_DEVICE_MEMORY (a
   * number of bytes with an optional suffix K, M, G or T for 2^10, 2^20, 2^30 or 2^40), or
   * GPUKERN_DEVICE_MEMORY_LIMIT without it. A call uses at least the memory of one element. */
  size_t device_memory_limit;
  /** NULL, or called between the chunks of a call on host tensors. Not called for device tensors,
   * whose work is only enqueued. */
  gpukern_progress progress;
  void *progress_user; /**< passed to `progress` */
  /** If not NULL, the call fills it in and computes nothing, see gpukern/explain.h. */
  gpukern_explanation *explanation;
  /** If not NULL, calls on device tensors in mode GPUKERN_INDEX_RAISE do not wait, see
   * gpukern/index_errors.h: it must be of their device. Other calls ignore it. */
  gpukern_index_errors *index_errors;
} gpukern_exec;

#define GPUKERN_EXEC_INIT \
  {sizeof(gpukern_exec), {GPUKERN_DEVICE_DEFAULT, 0}, NULL, 0, NULL, NULL, NULL, NULL}

/** The axis of the source flattened in C order. */
#define GPUKERN_AXIS_NONE INT32_MIN

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_TYPES_H */
