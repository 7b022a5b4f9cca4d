/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file pipeline.h
 * @brief Host tensors through a GPU in chunks, with a step that the caller provides:
 * gpukern_pipeline_run().
 *
 * The pipeline of gpukern_saxpy() for any element-wise kernel: one chunk is computed while the next
 * ones are uploaded and the previous ones downloaded. With a kernel
 * `add(const float *x, const float *y, float *out, int64_t count)` of program.h:
 *
 * @code
 * gpukern_status add(void *user, const gpukern_pipeline_chunk *chunk) {
 *   const void *arguments[] = {&chunk->inputs[0].data, &chunk->inputs[1].data, &chunk->out.data,
 *                              &chunk->count};
 *   const size_t sizes[] = {8, 8, 8, 8};
 *   gpukern_launch launch = GPUKERN_LAUNCH_INIT;
 *   gpukern_exec exec = GPUKERN_EXEC_INIT;
 *   launch.block[0] = 256;
 *   launch.grid[0] = (uint32_t)((chunk->count + 255) / 256);
 *   exec.stream = chunk->stream;
 *   return gpukern_kernel_launch((gpukern_kernel *)user, &launch, arguments, sizes, 4, &exec);
 * }
 * const gpukern_tensor *inputs[] = {&x, &y};
 * gpukern_pipeline_run(inputs, 2, &out, add, kernel, NULL);
 * @endcode
 */
#ifndef GPUKERN_PIPELINE_H
#define GPUKERN_PIPELINE_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest number of inputs of gpukern_pipeline_run(). */
#define GPUKERN_PIPELINE_MAX_INPUTS 32

/** A chunk of gpukern_pipeline_run(): tensors in device memory, all of one shape. */
typedef struct gpukern_pipeline_chunk {
  size_t struct_size;           /**< sizeof(gpukern_pipeline_chunk) of the library */
  int64_t count;                /**< elements of `out`; never 0 */
  const gpukern_tensor *inputs; /**< C-contiguous, with strides of 0 where an input is broadcast */
  size_t input_count;
  gpukern_tensor out; /**< C-contiguous; shares no memory with the inputs */
  void *stream;       /**< of the device, to enqueue the step on: a cudaStream_t */
} gpukern_pipeline_chunk;

/**
 * A step of gpukern_pipeline_run(): enqueues on chunk->stream what computes chunk->out from
 * chunk->inputs, and does not wait. The structs of the chunk are valid until the step returns, its
 * device memory until the enqueued work has run. Any result but GPUKERN_SUCCESS stops the call.
 */
typedef gpukern_status (*gpukern_pipeline_step)(void *user, const gpukern_pipeline_chunk *chunk);

/**
 * @brief Computes a host tensor on a GPU from others, chunk by chunk.
 *
 * A chunk is a part of `out` and the corresponding parts of the inputs. Chunks have up to 16 MiB of
 * the widest tensor and together use no more device memory than exec->device_memory_limit.
 * Contiguous tensors in page-locked memory are copied directly; others, and those whose dimensions
 * are in another order than those of `out`, pass through staging buffers that CPU threads fill and
 * empty.
 *
 * Stream behaviour: begins after the work on exec->stream; `out` is complete on return. During the
 * capture of a CUDA graph it is a GPUKERN_VALUE_ERROR.
 *
 * @param[in] inputs host tensors of any dtypes, whose shapes broadcast to that of `out` as in
 *            NumPy; may be NULL if input_count is 0
 * @param[in] input_count at most GPUKERN_PIPELINE_MAX_INPUTS
 * @param[out] out a host tensor; may overlap the inputs in any way
 * @param[in] step called once for each chunk, on the caller's thread; not if `out` is empty
 * @param[in] user passed to `step`
 * @param[in] exec may be NULL; its device must be a CUDA device, and is device 0 by default
 * @return the status of a `step` that failed, with the message of the last call that failed in it;
 *         GPUKERN_CANCELLED if exec->progress stopped the call. `out` is then partially written.
 */
GPUKERN_API gpukern_status gpukern_pipeline_run(const gpukern_tensor *const *inputs,
                                                size_t input_count, const gpukern_tensor *out,
                                                gpukern_pipeline_step step, void *user,
                                                const gpukern_exec *exec);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_PIPELINE_H */
