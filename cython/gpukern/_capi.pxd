# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

"""The C ABI of gpukern, as include/gpukern/gpukern.h documents it."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


cdef extern from "gpukern/gpukern.h" nogil:
    enum:
        GPUKERN_VERSION_MAJOR, GPUKERN_VERSION_MINOR, GPUKERN_VERSION_PATCH, GPUKERN_VERSION
        GPUKERN_ABI_VERSION, GPUKERN_MAX_NDIM, GPUKERN_AXIS_NONE, GPUKERN_DEVICE_MEMORY_LIMIT

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
        GPUKERN_COMPILE_ERROR
        GPUKERN_CONTEXT_LOST
        GPUKERN_CANCELLED

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

    ctypedef enum gpukern_index_mode:
        GPUKERN_INDEX_RAISE
        GPUKERN_INDEX_WRAP
        GPUKERN_INDEX_CLIP
        GPUKERN_INDEX_FILL

    ctypedef enum gpukern_gather_path:
        GPUKERN_GATHER_AUTO, GPUKERN_GATHER_DIRECT, GPUKERN_GATHER_PARTITIONED

    ctypedef enum gpukern_reduce:
        GPUKERN_REDUCE_NONE
        GPUKERN_REDUCE_ADD
        GPUKERN_REDUCE_MULTIPLY
        GPUKERN_REDUCE_MIN
        GPUKERN_REDUCE_MAX
        GPUKERN_REDUCE_MEAN

    ctypedef enum gpukern_order:
        GPUKERN_ORDER_FIXED, GPUKERN_ORDER_ANY

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

    ctypedef struct gpukern_explanation  # below
    ctypedef struct gpukern_index_errors

    ctypedef int32_t (*gpukern_progress)(void *user, uint64_t done_bytes,
                                         uint64_t total_bytes) noexcept

    ctypedef struct gpukern_exec:
        size_t struct_size
        gpukern_device device
        void *stream
        size_t device_memory_limit
        gpukern_progress progress
        void *progress_user
        gpukern_explanation *explanation
        gpukern_index_errors *index_errors

    ctypedef struct gpukern_gather_options:
        size_t struct_size
        int32_t mode
        int32_t path
        const gpukern_tensor *fill_value
        int32_t out_may_change
        int32_t further_index_count
        const gpukern_tensor **further_indices

    ctypedef struct gpukern_scatter_options:
        size_t struct_size
        int32_t mode
        int32_t reduce
        int32_t order
        int32_t unique
        int32_t further_index_count
        const gpukern_tensor **further_indices

    ctypedef struct gpukern_gather_reduce_options:
        size_t struct_size
        int32_t mode
        int32_t reduce

    ctypedef struct gpukern_select_options:
        size_t struct_size
        const gpukern_tensor *fill_value

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

    int32_t gpukern_version()
    int32_t gpukern_abi_version()
    const char *gpukern_last_error()
    const char *gpukern_status_name(gpukern_status status)

    gpukern_status gpukern_reload_environment()
    gpukern_status gpukern_set_num_threads(int32_t threads)
    int32_t gpukern_num_threads()

    gpukern_status gpukern_cuda_query(gpukern_cuda_info *info)
    int32_t gpukern_device_count()
    gpukern_status gpukern_device_query(int32_t device_id, gpukern_device_info *info)

    gpukern_status gpukern_allocate(gpukern_device device, size_t bytes,
                                    const gpukern_exec *exec_, void **data)
    gpukern_status gpukern_release(gpukern_device device, void *data, const gpukern_exec *exec_)
    gpukern_status gpukern_pin(gpukern_device device, void *data, size_t bytes_)
    gpukern_status gpukern_unpin(void *data)
    gpukern_status gpukern_copy(const gpukern_tensor *source, const gpukern_tensor *destination,
                                const gpukern_exec *exec_)
    gpukern_status gpukern_synchronize(gpukern_device device, const gpukern_exec *exec_)

    gpukern_status gpukern_pointer_device(const void *data, gpukern_device *device)

    gpukern_status gpukern_gather(const gpukern_tensor *source, const gpukern_tensor *index,
                                  int32_t axis, const gpukern_tensor *out,
                                  const gpukern_gather_options *options,
                                  const gpukern_exec *exec_)
    gpukern_status gpukern_take_along_axis(const gpukern_tensor *source,
                                           const gpukern_tensor *index, int32_t axis,
                                           const gpukern_tensor *out,
                                           const gpukern_gather_options *options,
                                           const gpukern_exec *exec_)
    gpukern_status gpukern_scatter(const gpukern_tensor *target, const gpukern_tensor *index,
                                   const gpukern_tensor *values, int32_t axis,
                                   const gpukern_tensor *out,
                                   const gpukern_scatter_options *options,
                                   const gpukern_exec *exec_)
    gpukern_status gpukern_put_along_axis(const gpukern_tensor *target,
                                          const gpukern_tensor *index,
                                          const gpukern_tensor *values, int32_t axis,
                                          const gpukern_tensor *out,
                                          const gpukern_scatter_options *options,
                                          const gpukern_exec *exec_)
    gpukern_status gpukern_gather_reduce(const gpukern_tensor *source,
                                         const gpukern_tensor *index,
                                         const gpukern_tensor *offsets,
                                         const gpukern_tensor *weights, int32_t axis,
                                         const gpukern_tensor *out,
                                         const gpukern_gather_reduce_options *options,
                                         const gpukern_exec *exec_)
    gpukern_status gpukern_segment_reduce(const gpukern_tensor *x, const gpukern_tensor *offsets,
                                          int32_t axis, const gpukern_tensor *out,
                                          const gpukern_gather_reduce_options *options,
                                          const gpukern_exec *exec_)
    gpukern_status gpukern_count_nonzero(const gpukern_tensor *mask, int64_t *count,
                                         const gpukern_exec *exec_)
    gpukern_status gpukern_nonzero(const gpukern_tensor *mask, const gpukern_tensor *out,
                                   const gpukern_select_options *options,
                                   const gpukern_exec *exec_)
    gpukern_status gpukern_compress(const gpukern_tensor *mask, const gpukern_tensor *x,
                                    int32_t axis, const gpukern_tensor *out,
                                    const gpukern_select_options *options,
                                    const gpukern_exec *exec_)
    gpukern_status gpukern_saxpy(const void *a, const gpukern_tensor *x, const gpukern_tensor *y,
                                 const gpukern_tensor *out, const gpukern_exec *exec_)

    ctypedef enum gpukern_rounding:
        GPUKERN_ROUND_NEAREST, GPUKERN_ROUND_STOCHASTIC

    gpukern_status gpukern_saxpy_many(const void *a, const gpukern_tensor *const *x,
                                      const gpukern_tensor *const *y,
                                      const gpukern_tensor *const *out, size_t count,
                                      const gpukern_exec *exec_)

    ctypedef struct gpukern_axpby_options:
        size_t struct_size
        int32_t rounding
        uint64_t seed

    gpukern_status gpukern_axpby(const gpukern_tensor *a, const gpukern_tensor *x,
                                 const gpukern_tensor *b, const gpukern_tensor *y,
                                 const gpukern_tensor *out, const gpukern_axpby_options *options,
                                 const gpukern_exec *exec_)
    gpukern_status gpukern_fma(const gpukern_tensor *x, const gpukern_tensor *y,
                               const gpukern_tensor *z, const gpukern_tensor *out,
                               const gpukern_axpby_options *options, const gpukern_exec *exec_)


cdef extern from "gpukern/stream.h" nogil:
    ctypedef struct gpukern_event:
        pass

    gpukern_status gpukern_stream_wait(gpukern_device device, void *stream, void *other)
    gpukern_status gpukern_stream_capture(gpukern_device device, void *stream, uint64_t *capture)
    gpukern_status gpukern_event_record(gpukern_device device, void *stream,
                                        gpukern_event **event)
    gpukern_status gpukern_stream_wait_event(gpukern_device device, void *stream,
                                             const gpukern_event *event)
    gpukern_status gpukern_event_query(gpukern_device device, const gpukern_event *event,
                                       int32_t *done)
    gpukern_status gpukern_event_release(gpukern_device device, gpukern_event *event)
    gpukern_status gpukern_copy_async(const gpukern_tensor *source,
                                      const gpukern_tensor *destination, const gpukern_exec *exec_)


cdef extern from "gpukern/index_errors.h" nogil:
    ctypedef struct gpukern_bad_index:
        size_t struct_size
        const char *function
        int64_t call
        int64_t position
        int64_t value
        int32_t axis
        int64_t size

    gpukern_status gpukern_index_errors_create(gpukern_device device,
                                               gpukern_index_errors **errors)
    gpukern_status gpukern_index_errors_check(gpukern_index_errors *errors,
                                              gpukern_bad_index *first)
    gpukern_status gpukern_index_errors_destroy(gpukern_index_errors *errors)


cdef extern from "gpukern/saxpy_list.h" nogil:
    ctypedef struct gpukern_saxpy_list:
        pass

    gpukern_status gpukern_saxpy_list_create(const gpukern_tensor *const *x,
                                             const gpukern_tensor *const *y,
                                             const gpukern_tensor *const *out, size_t count,
                                             gpukern_saxpy_list **list)
    gpukern_status gpukern_saxpy_list_run(const gpukern_saxpy_list *list, const void *a,
                                          const gpukern_exec *exec_)
    gpukern_status gpukern_saxpy_list_destroy(gpukern_saxpy_list *list)


cdef extern from "gpukern/table.h" nogil:
    enum: GPUKERN_MAX_TABLE_PARTS
    ctypedef enum gpukern_handle_type:
        GPUKERN_HANDLE_NONE, GPUKERN_HANDLE_FILE, GPUKERN_HANDLE_FABRIC
    ctypedef struct gpukern_table:
        pass
    ctypedef struct gpukern_table_desc:
        size_t struct_size
        int32_t part_count
        const int64_t *part_bytes
        const int32_t *part_devices
        int32_t device_count
        const int32_t *devices
        int32_t exported
        int32_t reserved
    ctypedef struct gpukern_table_handle:
        int32_t type
        int32_t file
        unsigned char fabric[64]

    gpukern_status gpukern_table_create(const gpukern_table_desc *desc, gpukern_table **table)
    void *gpukern_table_data(const gpukern_table *table) noexcept
    gpukern_status gpukern_table_export(const gpukern_table *table, int32_t part, int32_t type,
                                        gpukern_table_handle *handle)
    gpukern_status gpukern_table_import(gpukern_table *table, int32_t part,
                                        const gpukern_table_handle *handle)
    gpukern_status gpukern_table_destroy(gpukern_table *table)


cdef extern from "gpukern/explain.h" nogil:
    ctypedef enum gpukern_device_rule:
        GPUKERN_RULE_NONE
        GPUKERN_RULE_ARRAYS
        GPUKERN_RULE_ARGUMENT
        GPUKERN_RULE_ENVIRONMENT
        GPUKERN_RULE_HOST
        GPUKERN_RULE_NO_GPU
        GPUKERN_RULE_SOURCE
        GPUKERN_RULE_KERNEL
        GPUKERN_RULE_MEMORY

    ctypedef enum gpukern_compute_path:
        GPUKERN_PATH_NONE
        GPUKERN_PATH_CONTIGUOUS
        GPUKERN_PATH_STRIDED
        GPUKERN_PATH_ITEMS
        GPUKERN_PATH_ROWS
        GPUKERN_PATH_PARTITIONED

    ctypedef struct gpukern_explanation:
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


cdef extern from "gpukern/pipeline.h" nogil:
    enum:
        GPUKERN_PIPELINE_MAX_INPUTS

    ctypedef struct gpukern_pipeline_chunk:
        size_t struct_size
        int64_t count
        const gpukern_tensor *inputs
        size_t input_count
        gpukern_tensor out
        void *stream

    ctypedef gpukern_status (*gpukern_pipeline_step)(
        void *user, const gpukern_pipeline_chunk *chunk) noexcept

    gpukern_status gpukern_pipeline_run(
        const gpukern_tensor *const *inputs, size_t input_count, const gpukern_tensor *out,
        gpukern_pipeline_step step, void *user, const gpukern_exec *exec_)


cdef extern from "gpukern/program.h" nogil:
    ctypedef enum gpukern_program_part:
        GPUKERN_PROGRAM_PTX
        GPUKERN_PROGRAM_CUBIN
        GPUKERN_PROGRAM_LOG
        GPUKERN_PROGRAM_ARCHITECTURE
        GPUKERN_PROGRAM_NOTE

    ctypedef struct gpukern_program:
        pass

    ctypedef struct gpukern_kernel:
        pass

    ctypedef struct gpukern_header:
        const char *name
        const char *source

    ctypedef struct gpukern_program_desc:
        size_t struct_size
        const char *source
        const char *name
        const char *architecture
        int32_t device
        const char *const *options
        size_t option_count
        const gpukern_header *headers
        size_t header_count
        const char *const *name_expressions
        size_t name_expression_count
        const char *cache_key
        const char *note

    ctypedef struct gpukern_kernel_info:
        size_t struct_size
        int32_t parameter_count
        int32_t max_threads_per_block
        int32_t registers
        uint64_t static_shared_bytes
        uint64_t max_dynamic_shared_bytes
        uint64_t local_bytes
        int32_t preferred_block
        int32_t device

    ctypedef struct gpukern_launch:
        size_t struct_size
        uint32_t grid[3]
        uint32_t block[3]
        uint64_t shared_bytes
        int32_t cooperative
        int32_t programmatic_launch

    ctypedef struct gpukern_cache_info:
        size_t struct_size
        uint64_t memory_hits
        uint64_t disk_hits
        uint64_t misses
        uint64_t rejected
        uint64_t entries
        uint64_t bytes
        uint64_t limit_bytes
        const char *directory

    gpukern_status gpukern_program_compile(const gpukern_program_desc *desc,
                                           gpukern_program **program)
    gpukern_status gpukern_program_release(gpukern_program *program)
    gpukern_status gpukern_program_get(gpukern_program *program, gpukern_program_part part,
                                       const void **data, size_t *size)
    gpukern_status gpukern_program_lowered_name(gpukern_program *program, const char *name,
                                                const char **lowered_name)
    gpukern_status gpukern_compile_log(const char **log)

    gpukern_status gpukern_program_kernel(gpukern_program *program, const char *name,
                                          int32_t device, gpukern_kernel **kernel)
    gpukern_status gpukern_kernel_release(gpukern_kernel *kernel)
    gpukern_status gpukern_kernel_query(const gpukern_kernel *kernel, gpukern_kernel_info *info)
    gpukern_status gpukern_kernel_parameter(const gpukern_kernel *kernel, int32_t i,
                                            size_t *offset, size_t *bytes)
    gpukern_status gpukern_kernel_launch(const gpukern_kernel *kernel,
                                         const gpukern_launch *launch,
                                         const void *const *arguments,
                                         const size_t *argument_bytes, size_t argument_count,
                                         const gpukern_exec *exec_)

    gpukern_status gpukern_cache_query(gpukern_cache_info *info)
    gpukern_status gpukern_cache_clear()
    gpukern_status gpukern_nvrtc_search(const char *directory)
    gpukern_status gpukern_nvrtc_query(int32_t *version, const char **path, const char **reason)
