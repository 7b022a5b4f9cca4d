# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# The targets gpukern (gpukern::gpukern) and gpukern_cpp (gpukern::cpp). Sources are globbed, so that
# a new operation only adds files.
find_package(Threads REQUIRED)

file(GLOB_RECURSE GPUKERN_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/*.cpp")
# The CPU backend and its threads.
set(GPUKERN_CPU_SOURCES ${GPUKERN_SOURCES})
list(FILTER GPUKERN_CPU_SOURCES INCLUDE REGEX "/src/(cpu|threading)/")
list(REMOVE_ITEM GPUKERN_SOURCES ${GPUKERN_CPU_SOURCES})
# Kernels are .cu; host code that calls the CUDA runtime is .cpp, which the C++ compiler compiles.
file(GLOB_RECURSE GPUKERN_CUDA_SOURCES CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/cuda/*.cu"
     "${PROJECT_SOURCE_DIR}/cuda/*.cpp")

# Aligns inner loops to cache lines. Otherwise their speed varies by some percent with the code that
# is linked before them, see benchmarks/notes/host.md.
set_property(SOURCE ${GPUKERN_CPU_SOURCES} APPEND PROPERTY COMPILE_OPTIONS -falign-functions=64)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set_property(SOURCE ${GPUKERN_CPU_SOURCES} APPEND PROPERTY COMPILE_OPTIONS -falign-loops=64)
endif()

# Kernels for one instruction set each; the library selects the set at run time. Their vectors have
# at most 32 bytes: with 64, operands outside the first-level cache are read more slowly, see
# benchmarks/notes/host.md.
set(GPUKERN_AVX2_FLAGS -mavx2 -mfma -mf16c -mbmi2)
set(GPUKERN_AVX512_FLAGS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c
    -mprefer-vector-width=256)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set_property(SOURCE ${GPUKERN_CPU_SOURCES} APPEND PROPERTY COMPILE_DEFINITIONS GPUKERN_X86=1)
  foreach(isa AVX2 AVX512)
    string(TOLOWER "${isa}" suffix)
    set(sources ${GPUKERN_CPU_SOURCES})
    list(FILTER sources INCLUDE REGEX "_${suffix}\\.cpp$")
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS ${GPUKERN_${isa}_FLAGS})
  endforeach()
  # Of products of complex numbers, GCC makes fused operations even with -ffp-contract=off.
  set_property(SOURCE "${PROJECT_SOURCE_DIR}/src/cpu/bag_kernel_avx2.cpp"
               APPEND PROPERTY COMPILE_OPTIONS -mno-fma)
else()
  list(FILTER GPUKERN_CPU_SOURCES EXCLUDE REGEX "_avx(2|512)\\.cpp$")
endif()

# gpukern_use_own_settings(<target>...): sets the include directories and compile options of the
# library's sources.
function(gpukern_use_own_settings)
  foreach(target IN LISTS ARGN)
    target_include_directories(
      ${target}
      PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
      PRIVATE "${PROJECT_SOURCE_DIR}")
    # No contraction: the sources call fma explicitly.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>"
                                             "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>")
  endforeach()
  gpukern_enable_warnings(${ARGN})
endfunction()

# All sources except the two that depend on the backends: compiled once, for the library and the
# tests.
set(GPUKERN_BACKEND_FRONTS "${PROJECT_SOURCE_DIR}/src/program/backend.cpp"
    "${PROJECT_SOURCE_DIR}/src/runtime/device.cpp")
list(REMOVE_ITEM GPUKERN_SOURCES ${GPUKERN_BACKEND_FRONTS})
add_library(gpukern_objects OBJECT ${GPUKERN_SOURCES} ${GPUKERN_CPU_SOURCES})
set_target_properties(gpukern_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

# Shared unless -DBUILD_SHARED_LIBS=OFF.
set(GPUKERN_STATIC OFF)
set(type SHARED)
if(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS)
  set(GPUKERN_STATIC ON)
  set(type STATIC)
endif()
add_library(gpukern ${type} ${GPUKERN_BACKEND_FRONTS} $<TARGET_OBJECTS:gpukern_objects>)
add_library(gpukern::gpukern ALIAS gpukern)
# The C++ headers. A program that includes the C headers only may have any C++ standard.
add_library(gpukern_cpp INTERFACE)
add_library(gpukern::cpp ALIAS gpukern_cpp)
target_compile_features(gpukern_cpp INTERFACE cxx_std_20)
target_link_libraries(gpukern_cpp INTERFACE gpukern)
gpukern_use_own_settings(gpukern_objects gpukern)
target_link_libraries(gpukern PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
if(GPUKERN_HAVE_CUDA)
  target_sources(gpukern PRIVATE ${GPUKERN_CUDA_SOURCES})
  target_compile_definitions(gpukern PRIVATE GPUKERN_HAVE_CUDA=1)
  target_include_directories(gpukern SYSTEM PRIVATE
                             ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
endif()

# A static library may become a part of a shared one, such as a Python module.
set_target_properties(
  gpukern PROPERTIES POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION}
                     SOVERSION ${GPUKERN_ABI_VERSION})
if(GPUKERN_STATIC)
  # For programs that enable neither C++ nor CUDA.
  set(GPUKERN_CXX_RUNTIME ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
  list(FILTER GPUKERN_CXX_RUNTIME INCLUDE REGEX "^(std)?c\\+\\+|^m$")
  target_link_libraries(gpukern PRIVATE ${GPUKERN_CXX_RUNTIME})
  if(GPUKERN_HAVE_CUDA)
    find_package(CUDAToolkit REQUIRED)
    target_link_libraries(gpukern PRIVATE CUDA::cudart_static)
  endif()
else()
  set(version_script "${PROJECT_SOURCE_DIR}/cmake/gpukern.map")
  set_target_properties(gpukern PROPERTIES LINK_DEPENDS "${version_script}" SKIP_BUILD_RPATH ON)
  target_link_options(
    gpukern PRIVATE "LINKER:--version-script=${version_script}" "LINKER:--exclude-libs,ALL"
    "LINKER:-z,defs" "LINKER:--as-needed"
    # Unloading the library would remove the code of its running threads.
    "LINKER:-z,nodelete")
endif()

# The library with the tests' fake GPU instead of the CUDA backend.
if(GPUKERN_BUILD_TESTS)
  add_library(gpukern_on_fake_gpu STATIC EXCLUDE_FROM_ALL
              ${GPUKERN_BACKEND_FRONTS} "${PROJECT_SOURCE_DIR}/tests/fake_gpu/fake_gpu.cpp"
              "${PROJECT_SOURCE_DIR}/tests/fake_gpu/fake_virtual_memory.cpp"
              $<TARGET_OBJECTS:gpukern_objects>)
  gpukern_use_own_settings(gpukern_on_fake_gpu)
  target_compile_definitions(gpukern_on_fake_gpu PRIVATE GPUKERN_HAVE_CUDA=1)
  target_link_libraries(gpukern_on_fake_gpu PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
  set_target_properties(gpukern_on_fake_gpu PROPERTIES POSITION_INDEPENDENT_CODE ON)
  include(GpukernAddress)
endif()
