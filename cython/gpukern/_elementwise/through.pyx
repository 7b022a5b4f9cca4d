# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cython: language_level=3, freethreading_compatible=True
"""Element-wise calls on host arrays through a GPU: the step of gpukern_pipeline_run()."""

from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t
from libc.string cimport memcmp, memcpy, memset

from gpukern._capi cimport (
    GPUKERN_CANCELLED, GPUKERN_DEVICE_DEFAULT, gpukern_pipeline_chunk, gpukern_exec, gpukern_kernel,
    gpukern_pipeline_run, gpukern_status, gpukern_tensor,
)
from gpukern._elementwise.specialization cimport Numbers, Signature, launch_plan
from gpukern._elementwise.loop_plan cimport MAX_OPERANDS, LoopPlan, Pattern, plan_loop
from gpukern._streams.stream cimport Launch
from gpukern._streams.watch cimport Watch, watch, watched

# One call's. It lives on the caller's stack, and borrows what it points to.
cdef struct Step:
    PyObject *signature
    const Numbers *numbers
    Watch *eye
    int32_t device
    int items
    LoopPlan plan                 # of the chunk
    gpukern_kernel *kernel    # of the last chunk, NULL before the first; and what it suits
    Pattern pattern
    bint wide
    int rank
    char flags[MAX_OPERANDS]


cdef int through(Signature signature, const gpukern_tensor *const *operands, int count,
                 Numbers *numbers, int32_t device, Launch where, object progress) except -1:
    """Computes operands[0] from the others, all of them on the host, on a GPU; or fills in the
    plan that the launch asks for."""
    cdef Step step
    cdef Watch eye
    cdef const gpukern_tensor *out = operands[0]
    cdef Py_ssize_t size = signature.out_dtype.bits // 8
    cdef int d
    for d in range(out.ndim):
        size *= out.shape[d]
    if signature.limits is not None and size > 0:
        signature.require_fit(numbers)
    step.signature = <PyObject *>signature
    step.numbers = numbers
    step.eye = &eye
    step.device = device
    step.items = signature.items
    step.kernel = NULL
    watch(&eye, &where.c, progress, size, signature.function.name)
    with nogil:
        watched(&eye, gpukern_pipeline_run(operands + 1, count - 1, out, compute, &step, &where.c))
    return 0


cdef gpukern_status compute(void *user, const gpukern_pipeline_chunk *chunk) noexcept nogil:
    """Launches the kernel that suits a chunk."""
    cdef Step *step = <Step *>user
    cdef const gpukern_tensor *tensors[MAX_OPERANDS]
    cdef gpukern_exec where
    cdef int k, inputs = <int>chunk.input_count
    tensors[0] = &chunk.out
    for k in range(inputs):
        tensors[1 + k] = &chunk.inputs[k]
    plan_loop(&step.plan, tensors, 1 + inputs, step.items)
    # The GIL is only taken for the first chunk, and for ends that ask for another kernel.
    if not suits(step) and not find_kernel(step):
        return GPUKERN_CANCELLED
    memset(&where, 0, sizeof(where))
    where.struct_size = sizeof(where)
    where.device.device_type = GPUKERN_DEVICE_DEFAULT
    where.stream = chunk.stream
    return launch_plan(step.kernel, &step.plan, step.numbers, &where)


cdef bint suits(const Step *step) noexcept nogil:
    """Whether the last chunk's kernel is this one's, too."""
    cdef const LoopPlan *plan = &step.plan
    return (step.kernel != NULL and step.pattern == plan.pattern and step.wide == plan.wide
            and step.rank == plan.nest.rank and memcmp(step.flags, plan.flags, plan.nest.operands) == 0)


cdef bint find_kernel(Step *step) noexcept with gil:
    """Finds or compiles the kernel for a chunk; leaves an exception to watched()."""
    try:
        # The signature keeps the kernel.
        step.kernel = (<Signature>step.signature).kernel_of(&step.plan, step.device).kernel
    except BaseException as error:
        Py_INCREF(error)
        step.eye.error = <PyObject *>error
        return False
    step.pattern, step.wide, step.rank = step.plan.pattern, step.plan.wide, step.plan.nest.rank
    memcpy(step.flags, step.plan.flags, step.plan.nest.operands)
    return True
