# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The C ABI of gpukern, as include/gpukern/gpukern.h documents it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t


cdef extern from "gpukern/gpukern.h" nogil:
    enum:
        GPUKERN_VERSION_MAJOR
        GPUKERN_VERSION_MINOR
        GPUKERN_VERSION_PATCH
        GPUKERN_ABI_VERSION
        GPUKERN_MAX_NDIM
        GPUKERN_AXIS_NONE

    ctypedef enum gpukern_status:
        GPUKERN_SUCCESS
        GPUKERN_VALUE_ERROR
        GPUKERN_TYPE_ERROR
        GPUKERN_INDEX_ERROR
        GPUKERN_AXIS_ERROR
        GPUKERN_MEMORY_ERROR
        GPUKERN_DEVICE_ERROR
        GPUKERN_CUDA_ERROR
        GPUKERN_INTERNAL_ERROR

    ctypedef enum gpukern_device_type:
        GPUKERN_DEVICE_DEFAULT
        GPUKERN_CPU
        GPUKERN_CUDA
        GPUKERN_CUDA_HOST
        GPUKERN_CUDA_MANAGED

    ctypedef enum gpukern_type_code:
        GPUKERN_INT
        GPUKERN_UINT
        GPUKERN_FLOAT
        GPUKERN_OPAQUE
        GPUKERN_BFLOAT
        GPUKERN_COMPLEX
        GPUKERN_BOOL

    ctypedef enum gpukern_mode:
        GPUKERN_RAISE
        GPUKERN_WRAP
        GPUKERN_CLIP
        GPUKERN_FILL

    ctypedef struct gpukern_device:
        int32_t device_type
        int32_t device_id

    ctypedef struct gpukern_dtype:
        uint8_t code
        uint8_t bits
        uint16_t lanes

    ctypedef struct gpukern_tensor:
        void *data
        gpukern_device device
        int32_t ndim
        gpukern_dtype dtype
        int64_t *shape
        int64_t *strides
        uint64_t byte_offset

    ctypedef struct gpukern_plan  # below

    ctypedef struct gpukern_exec:
        size_t struct_size
        gpukern_device device
        void *stream
        int32_t gather_path
        gpukern_plan *plan

    ctypedef struct gpukern_cuda_info:
        size_t struct_size
        int32_t built
        int32_t runtime_version
        int32_t driver_version
        int32_t device_count
        const char *reason

    ctypedef struct gpukern_device_info:
        size_t struct_size
        char name[256]
        int32_t compute_capability_major
        int32_t compute_capability_minor
        int32_t multiprocessor_count
        int32_t l2_cache_bytes
        uint64_t total_memory_bytes

    ctypedef struct gpukern_event:
        pass

    int32_t gpukern_version()
    int32_t gpukern_abi_version()
    const char *gpukern_last_error()
    const char *gpukern_status_name(gpukern_status status)

    gpukern_status gpukern_cuda_query(gpukern_cuda_info *info)
    gpukern_status gpukern_device_count(int32_t *count)
    gpukern_status gpukern_device_query(int32_t device_id, gpukern_device_info *info)

    gpukern_status gpukern_allocate(gpukern_device device, size_t bytes,
                                    const gpukern_exec *exec_, void **data)
    gpukern_status gpukern_release(gpukern_device device, void *data, const gpukern_exec *exec_)
    gpukern_status gpukern_copy(const gpukern_tensor *source, const gpukern_tensor *destination,
                                const gpukern_exec *exec_)
    gpukern_status gpukern_synchronize(gpukern_device device, const gpukern_exec *exec_)

    gpukern_status gpukern_pointer_device(const void *data, gpukern_device *device)

    gpukern_status gpukern_stream_wait(gpukern_device device, void *stream, void *other)
    gpukern_status gpukern_stream_capture(gpukern_device device, void *stream, uint64_t *capture)
    gpukern_status gpukern_event_record(gpukern_device device, void *stream,
                                        gpukern_event **event)
    gpukern_status gpukern_event_wait(gpukern_device device, void *stream,
                                      const gpukern_event *event)
    gpukern_status gpukern_event_done(gpukern_device device, const gpukern_event *event,
                                      int32_t *done)
    gpukern_status gpukern_event_release(gpukern_device device, gpukern_event *event)

    gpukern_status gpukern_gather(const gpukern_tensor *source, const gpukern_tensor *index,
                                  int32_t axis, gpukern_mode mode,
                                  const gpukern_tensor *fill_value, const gpukern_tensor *out,
                                  const gpukern_exec *exec_)
    gpukern_status gpukern_saxpy(const void *a, const gpukern_tensor *x, const gpukern_tensor *y,
                                 const gpukern_tensor *out, const gpukern_exec *exec_)


cdef extern from "gpukern/plan.h" nogil:
    ctypedef enum gpukern_plan_rule:
        GPUKERN_RULE_NONE
        GPUKERN_RULE_ARRAYS
        GPUKERN_RULE_ARGUMENT
        GPUKERN_RULE_ENVIRONMENT
        GPUKERN_RULE_HOST
        GPUKERN_RULE_NO_GPU

    ctypedef enum gpukern_plan_path:
        GPUKERN_PATH_NONE
        GPUKERN_PATH_CONTIGUOUS
        GPUKERN_PATH_STRIDED
        GPUKERN_PATH_ITEMS
        GPUKERN_PATH_ROWS
        GPUKERN_PATH_PARTITIONED

    ctypedef struct gpukern_plan:
        size_t struct_size
        gpukern_device device
        int32_t rule
        int32_t path
        int32_t threads
        int32_t chunks
        int64_t bytes_read
        int64_t bytes_written
        int64_t bytes_to_device
        int64_t bytes_from_device
        int64_t bytes_allocated
