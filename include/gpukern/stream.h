/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file stream.h
 * @brief The order between streams, and copies on them; a part of gpukern.h, which includes it.
 */
#ifndef GPUKERN_STREAM_H
#define GPUKERN_STREAM_H

#include "gpukern/gpukern.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A stream is a cudaStream_t of the device: NULL or 1 for the legacy default stream, 2 for the
 * per-thread default stream of the calling thread. Nothing here waits on the host, but copies of
 * ordinary memory may. On GPUKERN_CPU, where all work is done when a call returns, nothing has to
 * be put in order: functions for that succeed and do nothing. */

/**
 * @brief Lets the work enqueued later on `stream` wait for the work enqueued so far on `other`.
 *
 * While `other` captures a CUDA graph, `stream` joins that capture, as with CUDA's own events. A
 * graph cannot wait for work outside it: while `stream` captures and `other` does not, the call
 * does nothing, and the graph is to be launched behind that work.
 *
 * @return GPUKERN_VALUE_ERROR for two streams that capture two graphs, and for the legacy stream
 *         while a stream that blocks it captures
 */
GPUKERN_API gpukern_status gpukern_stream_wait(gpukern_device device, void *stream, void *other);

/**
 * @brief Tells whether a stream captures a CUDA graph.
 * @param[out] capture a number of the capture, unique in the process; 0 if there is none
 */
GPUKERN_API gpukern_status gpukern_stream_capture(gpukern_device device, void *stream,
                                                  uint64_t *capture);

/** A point in the work of a stream, which other streams can wait for when the stream is gone. */
typedef struct gpukern_event gpukern_event;

/**
 * @brief Marks the point that the work on a stream has reached.
 * @param[in,out] event a mark of the same device to move, or NULL for a new one; release with
 *                gpukern_event_release(). NULL afterwards while the stream captures a CUDA graph:
 *                what is captured has not run, so that there is nothing to wait for.
 */
GPUKERN_API gpukern_status gpukern_event_record(gpukern_device device, void *stream,
                                                gpukern_event **event);

/**
 * @brief Lets the work enqueued later on `stream` wait for the work before a mark.
 *
 * Does nothing while `stream` captures a CUDA graph, see gpukern_stream_wait().
 *
 * @param[in] event may be NULL, which does nothing
 */
GPUKERN_API gpukern_status gpukern_stream_wait_event(gpukern_device device, void *stream,
                                                     const gpukern_event *event);

/**
 * @brief Tells, without waiting, whether the work before a mark has run.
 * @param[in] event may be NULL, which nothing is before
 * @param[out] done 1 or 0
 */
GPUKERN_API gpukern_status gpukern_event_query(gpukern_device device, const gpukern_event *event,
                                               int32_t *done);

/**
 * @brief Gives a mark back. Waits that were asked for stay in force.
 * @param[in] event may be NULL
 */
GPUKERN_API gpukern_status gpukern_event_release(gpukern_device device, gpukern_event *event);

/**
 * @brief Enqueues a copy between host memory and a GPU, or within a GPU, and does not wait for it.
 *
 * With page-locked host memory (GPUKERN_CUDA_HOST) the copy runs beside the work of the host, and
 * a CUDA graph can capture it. Ordinary host memory CUDA stages: the call may then wait for the
 * stream, from the device until the copy is done; while the stream captures a graph it is a
 * GPUKERN_VALUE_ERROR.
 *
 * In either case host memory belongs to the copy until the stream has come behind it
 * (gpukern_synchronize(), gpukern_event_query()): a source must stay valid and unchanged, a
 * destination must stay valid and hold anything until then. The order of calls on the same host
 * memory, on several streams or on the CPU, is the caller's.
 *
 * Host tensors beside one on a GPU must be C-contiguous; a tensor on a GPU may have any layout, and
 * takes scratch memory there if it is not contiguous. Two host tensors are copied at once, whatever
 * the stream. Copies nothing and succeeds for tensors of no elements.
 *
 * @param[in] source any dtype
 * @param[out] destination of the source's shape and element size; may overlap the source
 * @param[in] exec its stream belongs to the GPU that takes part; may be NULL
 * @return GPUKERN_VALUE_ERROR as for gpukern_copy(), and for host memory that is not C-contiguous
 */
GPUKERN_API gpukern_status gpukern_copy_async(const gpukern_tensor *source,
                                              const gpukern_tensor *destination,
                                              const gpukern_exec *exec);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_STREAM_H */
