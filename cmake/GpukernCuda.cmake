# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Finds nvcc and configures the CUDA backend. build_backend/gpukern_toolchain.py searches the same
# directories to decide whether to request a compiler from PyPI.

set(GPUKERN_NVCC_MINIMUM 12.1) # the first with kernel parameters of more than 4 KiB
set(GPUKERN_OLDEST_ARCHITECTURE 75) # Turing

# Sets <variable> to nvidia/cu13 of the Python that runs the build, empty without one. NVIDIA's
# wheels install a whole toolkit there.
function(gpukern_find_wheel_toolkit variable)
  set(${variable} "" PARENT_SCOPE)
  find_package(Python3 QUIET COMPONENTS Interpreter)
  if(NOT Python3_Interpreter_FOUND)
    return()
  endif()
  execute_process(
    COMMAND "${Python3_EXECUTABLE}" -c "import nvidia\nprint('\\n'.join(nvidia.__path__))"
    OUTPUT_VARIABLE places OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(REPLACE "\n" ";" places "${places}")
  foreach(place IN LISTS places)
    if(EXISTS "${place}/cu13/bin/nvcc")
      set(${variable} "${place}/cu13" PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

# Sets <variable> to the version of an nvcc, empty if it does not run.
function(gpukern_nvcc_version nvcc variable)
  set(${variable} "" PARENT_SCOPE)
  execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET)
  if(text MATCHES "release ([0-9]+\\.[0-9]+)")
    set(${variable} "${CMAKE_MATCH_1}" PARENT_SCOPE)
  endif()
endfunction()

# Sets <variable> to the nvcc to use, empty without one.
function(gpukern_find_nvcc variable)
  set(candidates "${CMAKE_CUDA_COMPILER}" "$ENV{CUDACXX}")
  foreach(root IN ITEMS "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}")
    if(root)
      list(APPEND candidates "${root}/bin/nvcc")
    endif()
  endforeach()
  find_program(on_path nvcc NO_CACHE)
  gpukern_find_wheel_toolkit(wheel)
  list(APPEND candidates "${on_path}" /usr/local/cuda/bin/nvcc "${wheel}/bin/nvcc")
  set(${variable} "" PARENT_SCOPE)
  foreach(candidate IN LISTS candidates)
    gpukern_nvcc_version("${candidate}" version)
    if(version VERSION_GREATER_EQUAL GPUKERN_NVCC_MINIMUM)
      set(${variable} "${candidate}" PARENT_SCOPE)
      return()
    elseif(version)
      message(STATUS "gpukern: ${candidate} is CUDA ${version}; ${GPUKERN_NVCC_MINIMUM} is needed")
    endif()
  endforeach()
endfunction()

# NVIDIA's wheels have lib/ instead of lib64/, and no unversioned libcudart.so. Must be called in
# every run of CMake: its compile checks inherit the environment.
macro(gpukern_prepare_wheel_toolkit nvcc)
  cmake_path(GET ${nvcc} PARENT_PATH _gpukern_root)
  cmake_path(GET _gpukern_root PARENT_PATH _gpukern_root)
  if(EXISTS "${_gpukern_root}/lib/libcudart_static.a" AND NOT EXISTS "${_gpukern_root}/lib64")
    set(ENV{NVCC_PREPEND_FLAGS} "-L${_gpukern_root}/lib $ENV{NVCC_PREPEND_FLAGS}")
    set(CUDA_CUDART "${_gpukern_root}/lib/libcudart.so.13"
        CACHE FILEPATH "The CUDA runtime of NVIDIA's wheels")
  endif()
endmacro()

# Sets <variable> to the architectures of this machine's GPUs, empty if the driver reports none or
# one that this nvcc does not support.
function(gpukern_present_architectures nvcc variable)
  set(${variable} "" PARENT_SCOPE)
  execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
                  OUTPUT_VARIABLE present ERROR_QUIET RESULT_VARIABLE status)
  execute_process(COMMAND "${nvcc}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
  string(REGEX MATCHALL "[0-9]+\\.[0-9]" present "${present}")
  if(NOT "${status}" STREQUAL "0" OR NOT present)
    return()
  endif()
  list(TRANSFORM present REPLACE "\\." "")
  list(REMOVE_DUPLICATES present)
  foreach(architecture IN LISTS present)
    if(architecture LESS GPUKERN_OLDEST_ARCHITECTURE OR NOT known MATCHES "compute_${architecture}\n")
      return()
    endif()
  endforeach()
  set(${variable} "${present}" PARENT_SCOPE)
endfunction()

# Sets CMAKE_CUDA_ARCHITECTURES unless it or $CUDAARCHS names architectures. "release" is machine
# code for every major compute capability from Turing on, which its minor ones run as well (8.0 on
# 8.6 and 8.9), and PTX for later ones, as a wheel needs. By default a build is for the GPUs of this
# machine. Without a GPU it is PTX for Turing, which compiles in half
# the time of machine code and which the driver compiles for any GPU.
macro(gpukern_choose_architectures nvcc)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT "$ENV{CUDAARCHS}" STREQUAL "")
    set(CMAKE_CUDA_ARCHITECTURES $ENV{CUDAARCHS})
  endif()
  if("${CMAKE_CUDA_ARCHITECTURES}" STREQUAL "release")
    gpukern_nvcc_version("${${nvcc}}" _gpukern_version)
    if(_gpukern_version VERSION_GREATER_EQUAL 12.8)
      set(_gpukern_newest 90-real 100-real 120)
    else()
      set(_gpukern_newest 90)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real ${_gpukern_newest})
    # Every driver that runs CUDA 13 decompresses it.
    if(_gpukern_version VERSION_GREATER_EQUAL 13)
      add_compile_options("$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>")
    endif()
  elseif(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    gpukern_present_architectures("${${nvcc}}" _gpukern_architectures)
    if(NOT _gpukern_architectures)
      set(_gpukern_architectures ${GPUKERN_OLDEST_ARCHITECTURE}-virtual)
    endif()
    set(CMAKE_CUDA_ARCHITECTURES ${_gpukern_architectures}
        CACHE STRING "GPU architectures to compile for, or release: all")
  endif()
endmacro()

# Enables CUDA according to GPUKERN_CUDA and sets GPUKERN_HAVE_CUDA.
macro(gpukern_enable_cuda)
  set(GPUKERN_HAVE_CUDA OFF)
  if(NOT GPUKERN_CUDA STREQUAL "OFF")
    gpukern_find_nvcc(GPUKERN_NVCC)
    if(GPUKERN_NVCC)
      set(CMAKE_CUDA_COMPILER "${GPUKERN_NVCC}" CACHE FILEPATH "nvcc")
      gpukern_prepare_wheel_toolkit(GPUKERN_NVCC)
      gpukern_choose_architectures(GPUKERN_NVCC)
      message(STATUS "gpukern: CUDA backend by ${GPUKERN_NVCC} (-DGPUKERN_CUDA=OFF leaves it out)")
      enable_language(CUDA)
      if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake before 3.25.2 does not know that nvcc has it
        set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      endif()
      set(GPUKERN_HAVE_CUDA ON)
    elseif(GPUKERN_CUDA STREQUAL "ON")
      message(FATAL_ERROR "gpukern: GPUKERN_CUDA=ON, but there is no nvcc >= "
              "${GPUKERN_NVCC_MINIMUM}: set CUDACXX or CMAKE_CUDA_COMPILER, or install one "
              "(pip install 'cuda-toolkit[nvcc,nvvm,crt,cudart,cccl,nvtx]==13.0.*')")
    endif()
  endif()
  if(GPUKERN_HAVE_CUDA)
    message(STATUS "gpukern: backends: CPU, CUDA ${CMAKE_CUDA_COMPILER_VERSION} "
                   "for ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(GPUKERN_CUDA STREQUAL "OFF")
    message(STATUS "gpukern: backends: CPU only (GPUKERN_CUDA=OFF)")
  else()
    message(STATUS "gpukern: backends: CPU only (no nvcc found)")
  endif()
endmacro()
