# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cmake -DNM= -DOBJECTS= -DWRAPPED= -P: fails if the library, of these object files or archives, calls
# a function that torture neither lets fail nor may leave out. C functions and allocation count; other functions of the C++
# standard library fail by the allocations in them.
set(infallible
    # by their specification, with the arguments that the library gives
    fegetenv fesetenv fma fmaf fmaxf fminf getenv geteuid getpid memchr memcmp memcpy memmove
    memset nanosleep pthread_cond_timedwait pthread_mutex_lock pthread_mutex_trylock
    pthread_mutex_unlock pthread_self pthread_sigmask sched_yield sigfillset strcmp strlen sysconf time
    sigaction sigaddset sigemptyset snprintf strerror
    # while the library is loaded
    pthread_atfork
    # asked once: the answer holds for the life of the process
    cudaGetDeviceCount
    # CUDA: only with a context that is lost, or an argument that is wrong
    cudaGetErrorName cudaGetErrorString cudaGetLastError cudaPeekAtLastError
    cudaStreamGetCaptureInfo cudaThreadExchangeStreamCaptureMode
    # of code that nvcc makes, which does not look at their results
    __cudaGetKernel __cudaPopCallConfiguration __cudaPushCallConfiguration __cudaRegisterFatBinary
    __cudaRegisterFatBinaryEnd __cudaRegisterFunction __cudaRegisterVar __cudaUnregisterFatBinary
    # of NVTX, and of the search for NVRTC, where a failure is an answer
    dladdr dlclose dlerror exit syscall
    # the C library ends the process
    __cxa_thread_atexit
    # takes memory from a reserve
    __cxa_allocate_exception
    # of compilers
    _GLOBAL_OFFSET_TABLE_ _Unwind_Resume __cpu_features2 __cpu_model __cxa_begin_catch
    __cxa_end_catch __cxa_free_exception __cxa_atexit __cxa_guard_abort __cxa_guard_acquire __cxa_guard_release __cxa_rethrow __cxa_pure_virtual __cxa_throw __cxa_throw_bad_array_new_length
    __dso_handle __errno_location __gxx_personality_v0 __libc_single_threaded __popcountdi2
    __sched_cpucount __stack_chk_fail __tls_get_addr __udivti3)
execute_process(COMMAND "${NM}" ${OBJECTS} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " [A-TV-Za-z] [^\n]+" defined "${symbols}")
list(TRANSFORM defined REPLACE "^ . " "")
string(REGEX MATCHALL " U [^\n]+" called "${symbols}")
list(TRANSFORM called REPLACE "^ U " "")
list(REMOVE_DUPLICATES called)
list(REMOVE_ITEM called ${defined} ${infallible} ${WRAPPED})
# operator new and delete are the test's own.
list(FILTER called EXCLUDE REGEX "^_ZN?K?R?(St|S[a-z]|n[wa]|d[la]|9__gnu_cxx|NSt|NKSt|T[VTI])")
if(called)
  list(JOIN called "\n" text)
  message(FATAL_ERROR "torture does not let these functions fail:\n${text}")
endif()
