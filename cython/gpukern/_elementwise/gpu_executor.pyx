# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise calls on a GPU: launches, and the pipeline of host arrays through a GPU."""

from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

from gpukern._capi cimport (
    GPUKERN_CANCELLED, GPUKERN_CUDA, GPUKERN_DEVICE_DEFAULT, GPUKERN_PATH_CONTIGUOUS,
    GPUKERN_PATH_STRIDED, GPUKERN_RULE_ARRAYS, gpukern_exec, gpukern_explanation, gpukern_kernel,
    gpukern_kernel_launch, gpukern_launch, gpukern_pipeline_chunk, gpukern_pipeline_run,
    gpukern_status, gpukern_tensor,
)
from gpukern._elementwise.loop_plan cimport (
    BLOCK_THREADS, CONTIGUOUS, MAX_OPERANDS, ROWS, LoopPlan, Pattern, bytes_of, plan_loop,
)
from gpukern._elementwise.specialization cimport Scalar, Scalars, Specialization
from gpukern._interop.argument cimport count_of
from gpukern._runtime.runtime cimport check
from gpukern._streams.call cimport Argument, CallContext, finish, start

from gpukern.errors import GpukernValueError

# One call's. It lives on the caller's stack, and borrows what it points to.
cdef struct ChunkState:
    PyObject *specialization
    const Scalars *scalars
    CallContext *call
    int32_t device
    int items
    LoopPlan plan             # of the chunk
    gpukern_kernel *kernel    # of the last chunk, NULL before the first; and what it suits
    Pattern pattern
    bint wide
    int rank
    char flags[MAX_OPERANDS]


cdef int enqueue(CallContext *call, Specialization specialization,
                 const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                 int32_t device) except -1:
    """Launches the kernel that suits arrays of a GPU, on the call's stream."""
    cdef LoopPlan plan
    cdef gpukern_kernel *kernel
    plan_loop(&plan, operands, count, specialization.items)
    if call.c.explanation != NULL:
        explain(call.c.explanation, &plan, operands, count)
        return 0
    if plan.blocks == 0:
        return 0
    if plan.blocks >= <int64_t>1 << 31:
        raise GpukernValueError("elementwise: the arrays are too large for one kernel launch")
    if specialization.limits is not None:
        specialization.require_fit(scalars)
    # The specialization holds the kernel.
    kernel = specialization.kernel_of(&plan, device).c
    with nogil:
        check(launch(kernel, &plan, scalars, &call.c))
    return 0


cdef void explain(gpukern_explanation *explanation, const LoopPlan *plan,
                  const gpukern_tensor *const *operands, int count) noexcept:
    """Fills in what a call on arrays of a GPU would do."""
    cdef bint wide = plan.pattern == CONTIGUOUS or plan.pattern == ROWS
    cdef int k
    explanation.device = operands[0].device
    explanation.rule = GPUKERN_RULE_ARRAYS
    if plan.blocks > 0:
        explanation.path = GPUKERN_PATH_CONTIGUOUS if wide else GPUKERN_PATH_STRIDED
    explanation.bytes_written += bytes_of(operands[0])
    for k in range(1, count):
        explanation.bytes_read += bytes_of(operands[k])


cdef gpukern_status launch(const gpukern_kernel *kernel, const LoopPlan *plan,
                           const Scalars *scalars, const gpukern_exec *exec_) noexcept nogil:
    """Launches a kernel for a plan that it suits."""
    cdef gpukern_launch shape
    cdef const void *arguments[2]
    cdef size_t sizes[2]
    arguments[0] = &plan.words[0]
    sizes[0] = plan.bytes
    arguments[1] = &scalars.value[0]
    sizes[1] = scalars.count * sizeof(Scalar)
    memset(&shape, 0, sizeof(shape))
    shape.struct_size = sizeof(shape)
    shape.grid[0] = <unsigned int>plan.blocks
    shape.grid[1] = shape.grid[2] = 1
    shape.block[0] = BLOCK_THREADS
    shape.block[1] = shape.block[2] = 1
    shape.programmatic_launch = 1
    return gpukern_kernel_launch(kernel, &shape, arguments, sizes, 2 if scalars.count > 0 else 1,
                                 exec_)


# ---- host arrays through a GPU ----

cdef int run_pipeline(CallContext *call, Specialization specialization,
                      const gpukern_tensor *const *operands, int count, const Scalars *scalars,
                      int32_t device, const Argument *out) except -1:
    """Computes `out`, which is operands[0], from the others, all of them on the host, on a GPU; or
    fills in the explanation that the call asks for."""
    cdef ChunkState state
    if specialization.limits is not None and count_of(operands[0]) > 0:
        specialization.require_fit(scalars)
    state.specialization = <PyObject *>specialization
    state.scalars = scalars
    state.call = call
    state.device = device
    state.items = specialization.items
    state.kernel = NULL
    if call.c.explanation == NULL:  # which names the rule that chose the device
        call.c.device.device_type, call.c.device.device_id = GPUKERN_CUDA, device
    start(call, out)
    return finish(call, gpukern_pipeline_run(operands + 1, count - 1, operands[0], compute_chunk,
                                             &state, &call.c))


cdef gpukern_status compute_chunk(void *user, const gpukern_pipeline_chunk *chunk) noexcept nogil:
    """Launches the kernel that suits a chunk."""
    cdef ChunkState *state = <ChunkState *>user
    cdef const gpukern_tensor *tensors[MAX_OPERANDS]
    cdef gpukern_exec exec_
    cdef int k, inputs = <int>chunk.input_count
    tensors[0] = &chunk.out
    for k in range(inputs):
        tensors[1 + k] = &chunk.inputs[k]
    plan_loop(&state.plan, tensors, 1 + inputs, state.items)
    # The GIL is only taken for the first chunk, and for ends that ask for another kernel.
    if not suits(state) and not find_kernel(state):
        return GPUKERN_CANCELLED
    memset(&exec_, 0, sizeof(exec_))
    exec_.struct_size = sizeof(exec_)
    exec_.device.device_type = GPUKERN_DEVICE_DEFAULT
    exec_.stream = chunk.stream
    return launch(state.kernel, &state.plan, state.scalars, &exec_)


cdef bint suits(const ChunkState *state) noexcept nogil:
    """Whether the last chunk's kernel is this one's, too."""
    cdef const LoopPlan *plan = &state.plan
    return (state.kernel != NULL and state.pattern == plan.pattern and state.wide == plan.wide
            and state.rank == plan.nest.rank
            and memcmp(state.flags, plan.flags, plan.nest.operands) == 0)


cdef bint find_kernel(ChunkState *state) noexcept with gil:
    """Finds or compiles the kernel for a chunk; leaves an exception to finish()."""
    cdef const LoopPlan *plan = &state.plan
    try:
        # The specialization holds the kernel.
        state.kernel = (<Specialization>state.specialization).kernel_of(plan, state.device).c
    except BaseException as error:
        Py_INCREF(error)
        state.call.watch.error = <PyObject *>error
        return False
    state.pattern, state.wide, state.rank = plan.pattern, plan.wide, plan.nest.rank
    memcpy(state.flags, plan.flags, plan.nest.operands)
    return True
