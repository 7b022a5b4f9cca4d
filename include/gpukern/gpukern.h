/* SPDX-FileCopyrightText: 2026 The gpukern authors
 * SPDX-License-Identifier: Apache-2.0 */
// clang-format Language: C

/**
 * @file gpukern.h
 * @brief The C ABI of gpukern: gather, scatter and arithmetic on the CPU and on CUDA GPUs.
 *
 * Every function that can fail returns a ::gpukern_status and, on failure, leaves a message for
 * the calling thread in gpukern_last_error(). A query that cannot fail returns its value. All
 * functions may be called from any thread.
 *
 * Tensors are borrowed: the library reads and writes the memory they describe and never frees it.
 * A call that ran on the CPU keeps no reference to it. Work on a GPU is enqueued on the stream of
 * the ::gpukern_exec (the legacy default stream without one); unless a function waits for that
 * work, device memory must stay valid until it has run, as for any CUDA API. Host memory may be
 * reused when a call returns, except after gpukern_copy_async().
 */
#ifndef GPUKERN_GPUKERN_H
#define GPUKERN_GPUKERN_H

#include "gpukern/arithmetic.h"
#include "gpukern/operations.h"
#include "gpukern/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPUKERN_VERSION_MAJOR 0
#define GPUKERN_VERSION_MINOR 1
#define GPUKERN_VERSION_PATCH 0

/** The version of the header, to compare with gpukern_version(). */
#define GPUKERN_VERSION \
  (GPUKERN_VERSION_MAJOR * 10000 + GPUKERN_VERSION_MINOR * 100 + GPUKERN_VERSION_PATCH)

/** Increased when a program compiled against an older header could break. */
#define GPUKERN_ABI_VERSION 1

/* ---- versions, errors ------------------------------------------------------------------- */

/** @brief Returns the library's version, `major * 10000 + minor * 100 + patch`. */
GPUKERN_API int32_t gpukern_version(void);

/** @brief Returns the GPUKERN_ABI_VERSION that the library was built with. */
GPUKERN_API int32_t gpukern_abi_version(void);

/**
 * @brief Returns the message of the calling thread's last failed call, "" if there was none.
 * @return NUL-terminated UTF-8 of at most 1023 bytes, to which a longer message is cut; owned by
 * the library, valid until the thread's next failing call.
 */
GPUKERN_API const char *gpukern_last_error(void);

/** @brief Returns the name of a status, such as "GPUKERN_INDEX_ERROR"; never NULL. */
GPUKERN_API const char *gpukern_status_name(gpukern_status status);

/* ---- environment ------------------------------------------------------------------------------
 */

/**
 * @brief Reads the environment variables of the library anew.
 *
 * Calls use a snapshot of the variables, taken when the library is loaded, so that a program may
 * change its environment while calls run. A program that changes a variable for gpukern calls this
 * function afterwards. $OMP_NUM_THREADS and $GPUKERN_CPU_ISA have no effect after the first
 * call.
 *
 * No other thread may change the environment during this function. Each changed snapshot
 * occupies about a kilobyte for the rest of the process.
 */
GPUKERN_API gpukern_status gpukern_reload_environment(void);

/* ---- CPU threads ---------------------------------------------------------------------------- */

/**
 * @brief Limits the number of CPU threads that compute in this process, over all calls.
 *
 * The calling thread always computes; helpers join up to this limit. Small calls run on the calling
 * thread alone. Running calls keep the helpers they have.
 *
 * @param[in] threads at least 1, values above 4096 count as 4096; 0 for the default:
 *            $OMP_NUM_THREADS as it was at the first call, else the cores in the process's affinity
 *            mask when the library was loaded, no more than the CPU quota of its control group
 * @return GPUKERN_VALUE_ERROR for a negative number
 */
GPUKERN_API gpukern_status gpukern_set_num_threads(int32_t threads);

/** @brief Returns the limit of CPU threads, see gpukern_set_num_threads(). */
GPUKERN_API int32_t gpukern_num_threads(void);

/* ---- devices ------------------------------------------------------------------------------ */

/** The CUDA backend, runtime and driver of this process. */
typedef struct gpukern_cuda_info {
  size_t struct_size;      /**< [in] sizeof(gpukern_cuda_info) */
  int32_t built;           /**< 1 if the library was built with CUDA */
  int32_t runtime_version; /**< of the CUDA runtime linked in, e.g. 13000; 0 without */
  int32_t driver_version;  /**< the CUDA version that the driver supports; 0 without a driver */
  int32_t device_count;    /**< usable CUDA devices */
  const char *reason;      /**< why device_count is 0, "" if it is not; owned by the library */
} gpukern_cuda_info;

/**
 * @brief Describes the CUDA backend. Succeeds without a driver, a GPU or a CUDA build.
 * @param[in,out] info set its struct_size first
 */
GPUKERN_API gpukern_status gpukern_cuda_query(gpukern_cuda_info *info);

/** @brief Returns the number of usable CUDA devices, which is 0 without a driver or a CUDA build.
 */
GPUKERN_API int32_t gpukern_device_count(void);

/** Properties of one CUDA device. */
typedef struct gpukern_device_info {
  size_t struct_size; /**< [in] sizeof(gpukern_device_info) */
  char name[256];
  int32_t compute_capability_major;
  int32_t compute_capability_minor;
  int32_t multiprocessor_count;
  int32_t l2_cache_bytes;
  uint64_t total_memory_bytes;
} gpukern_device_info;

/**
 * @brief Reads the properties of a CUDA device.
 * @param[in] device_id in [0, gpukern_device_count)
 * @param[in,out] info set its struct_size first
 */
GPUKERN_API gpukern_status gpukern_device_query(int32_t device_id, gpukern_device_info *info);

/* ---- memory --------------------------------------------------------------------------------- */

/**
 * @brief Allocates memory, aligned to at least 64 bytes on the CPU and 256 on a GPU.
 *
 * GPUKERN_CUDA_HOST gives page-locked memory, which a GPU copies at full speed and reads in place
 * (see gpukern_gather()); without a GPU it gives ordinary memory. Page-locking takes tens of
 * milliseconds for each gigabyte. All GPUs can use the memory. It is locked through the calling
 * thread's CUDA context or another existing one, else through that of the ordinal in `device`. The
 * child of a fork() shares its contents.
 *
 * On a GPU the memory comes from the device's stream-ordered pool, in the order of exec->stream.
 * While that stream captures a CUDA graph, the memory is available immediately and remains valid
 * until gpukern_release() was called and the graph and its executables are destroyed.
 *
 * @param[in] device GPUKERN_CPU, GPUKERN_CUDA_HOST or GPUKERN_CUDA, and the ordinal
 * @param[in] bytes may be 0, which gives NULL
 * @param[in] exec only its stream is used; may be NULL
 * @param[out] data the memory; release with gpukern_release(). NULL after an error
 * @return GPUKERN_MEMORY_ERROR if there is not as much memory, GPUKERN_DEVICE_ERROR for a device
 *         that does not exist
 */
GPUKERN_API gpukern_status gpukern_allocate(gpukern_device device, size_t bytes,
                                            const gpukern_exec *exec, void **data);

/**
 * @brief Releases memory of gpukern_allocate(), on a GPU after the work enqueued on exec->stream.
 *
 * While that stream captures a CUDA graph, the memory is freed when the graph and its executables
 * are destroyed; the capture continues, and no launch frees it.
 *
 * Page-locked memory is freed immediately: work enqueued on it must be complete.
 *
 * @param[in] device as it was given to gpukern_allocate()
 * @param[in] data may be NULL
 * @param[in] exec may be NULL, for the legacy default stream
 */
GPUKERN_API gpukern_status gpukern_release(gpukern_device device, void *data,
                                           const gpukern_exec *exec);

/**
 * @brief Page-locks host memory that the caller has, as GPUKERN_CUDA_HOST memory is.
 *
 * For memory that several processes share: each of them that has a GPU locks it. Without a GPU the
 * call does nothing.
 *
 * @param[in] device GPUKERN_CUDA_HOST, and an ordinal as for gpukern_allocate()
 * @param[in] data the first byte; no part may be page-locked already
 * @param[in] bytes at least 1
 * @return GPUKERN_MEMORY_ERROR if the memory cannot be locked, as for a limit of the system
 */
GPUKERN_API gpukern_status gpukern_pin(gpukern_device device, void *data, size_t bytes);

/**
 * @brief Undoes gpukern_pin(), before the memory is freed or unmapped. All work on it must have
 * run.
 * @param[in] data as it was given to gpukern_pin()
 */
GPUKERN_API gpukern_status gpukern_unpin(void *data);

/**
 * @brief Copies a tensor, element by element, between any two devices and layouts.
 *
 * Waits for the copy if one tensor is in host memory and the other on a GPU; enqueues it if both
 * are on one GPU. Two different GPUs are a GPUKERN_VALUE_ERROR.
 *
 * @param[in] source any dtype
 * @param[out] destination of the source's shape and element size; may overlap the source
 * @param[in] exec its stream belongs to the GPU of the copy, its device is ignored; may be NULL
 * @return GPUKERN_TYPE_ERROR for another element size, GPUKERN_VALUE_ERROR for other invalid
 *         arguments, GPUKERN_DEVICE_ERROR for a device that does not exist
 */
GPUKERN_API gpukern_status gpukern_copy(const gpukern_tensor *source,
                                        const gpukern_tensor *destination,
                                        const gpukern_exec *exec);

/**
 * @brief Waits until the work enqueued on a stream of a device has run.
 * @param[in] device returns immediately for GPUKERN_CPU
 * @param[in] exec only its stream is used; may be NULL
 */
GPUKERN_API gpukern_status gpukern_synchronize(gpukern_device device, const gpukern_exec *exec);

/**
 * @brief Finds the device of a memory address.
 * @param[in] data any address; NULL counts as CPU memory
 * @param[out] device GPUKERN_CUDA or GPUKERN_CUDA_MANAGED with the ordinal, GPUKERN_CUDA_HOST for
 *             memory that CUDA has page-locked, else GPUKERN_CPU, also without a driver
 */
GPUKERN_API gpukern_status gpukern_pointer_device(const void *data, gpukern_device *device);

#ifdef __cplusplus
}
#endif

#endif /* GPUKERN_GPUKERN_H */
