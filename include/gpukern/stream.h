/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file stream.h
 * @brief Ordering of streams, events and asynchronous copies.
 */
#ifndef GPUKERN_STREAM_H
#define GPUKERN_STREAM_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream is a cudaStream_t of the device: NULL or 1 for the legacy default stream, 2 for the
 * per-thread default stream of the calling thread. No function here makes the host wait, except for
 * copies of pageable memory, which may. On GPUKERN_CPU, where all work is complete when a call
 * returns, the ordering functions succeed and do nothing. */

/**
 * @brief Makes later work on `stream` wait for the work enqueued so far on `other`.
 *
 * While `other` captures a CUDA graph, `stream` joins that capture, as with CUDA's own events. A
 * graph cannot wait for work outside it: while `stream` captures and `other` does not, the call
 * does nothing, and the graph must be launched after that work.
 *
 * @param[in] device the device of both streams
 * @param[in] stream a cudaStream_t; NULL is the legacy default stream
 * @param[in] other as stream
 * @return GPUKERN_VALUE_ERROR for two streams that capture two graphs, and for the legacy stream
 *         while a stream that blocks it captures
 */
GPUKERN_API gpukern_status gpukern_stream_wait(gpukern_device device, void *stream, void *other);

/**
 * @brief Queries whether a stream captures a CUDA graph.
 * @param[in] device the device of the stream
 * @param[in] stream a cudaStream_t; NULL is the legacy default stream
 * @param[out] capture an identifier of the capture, unique in the process; 0 without one
 */
GPUKERN_API gpukern_status gpukern_stream_capture(gpukern_device device, void *stream,
                                                  uint64_t *capture);

/** A point in the work of a stream. Other streams can wait for it, also after the stream is
 * destroyed. */
typedef struct gpukern_event gpukern_event;

/**
 * @brief Records the current point in the work of a stream.
 * @param[in] device the device of the stream
 * @param[in] stream a cudaStream_t; NULL is the legacy default stream
 * @param[in,out] event an event of the same device to record again, or NULL for a new one; release
 *                with gpukern_event_release(). NULL on return while the stream captures a CUDA
 *                graph: captured work has not run, so there is nothing to wait for.
 */
GPUKERN_API gpukern_status gpukern_event_record(gpukern_device device, void *stream,
                                                gpukern_event **event);

/**
 * @brief Makes later work on `stream` wait for the work before an event.
 *
 * Does nothing while `stream` captures a CUDA graph, see gpukern_stream_wait().
 *
 * @param[in] device the device of the stream
 * @param[in] stream a cudaStream_t; NULL is the legacy default stream
 * @param[in] event may be NULL, which does nothing; the device must exist
 */
GPUKERN_API gpukern_status gpukern_stream_wait_event(gpukern_device device, void *stream,
                                                     const gpukern_event *event);

/**
 * @brief Queries, without waiting, whether the work before an event has run.
 * @param[in] device the device of the event
 * @param[in] event may be NULL, which counts as complete; the device must exist
 * @param[out] done 1 or 0
 */
GPUKERN_API gpukern_status gpukern_event_query(gpukern_device device, const gpukern_event *event,
                                               int32_t *done);

/**
 * @brief Releases an event. Waits for it remain in effect.
 * @param[in] device the device of the event
 * @param[in] event may be NULL
 */
GPUKERN_API gpukern_status gpukern_event_release(gpukern_device device, gpukern_event *event);

/**
 * @brief Enqueues a copy between host memory and a GPU, or within a GPU, and does not wait for it.
 *
 * With page-locked host memory (GPUKERN_CUDA_HOST) the copy is asynchronous, and a CUDA graph can
 * capture it. CUDA stages pageable memory: the call may then wait for the stream, and a copy from
 * the device returns when it is complete; while the stream captures a graph it is a
 * GPUKERN_VALUE_ERROR.
 *
 * In either case the host memory is in use until the stream has passed the copy
 * (gpukern_synchronize(), gpukern_event_query()): a source must remain valid and unchanged, and a
 * destination must remain valid and has unspecified contents. The caller must order accesses to the
 * same host memory from several streams or from the CPU.
 *
 * In a copy to or from a GPU, the host tensor must be C-contiguous; the tensor on the GPU may have
 * any layout, and needs scratch memory there if it is not contiguous. A copy between two host
 * tensors is complete on return. A copy of no elements succeeds.
 *
 * @param[in] source any dtype
 * @param[out] destination of the source's shape and element size; may overlap the source
 * @param[in] exec its stream belongs to the GPU of the copy; may be NULL
 * @return GPUKERN_VALUE_ERROR as for gpukern_copy(), and for host memory that is not C-contiguous
 */
GPUKERN_API gpukern_status gpukern_copy_async(const gpukern_tensor *source,
                                              const gpukern_tensor *destination,
                                              const gpukern_exec *exec);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_STREAM_H */
