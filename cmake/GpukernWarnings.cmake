# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

set(GPUKERN_C_WARNINGS
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wvla
    -Wcast-align -Wcast-qual -Wdouble-promotion -Wformat=2)
# No -Wsign-conversion, which Clang includes in -Wconversion: dimensions are signed, as in DLPack,
# and index arrays.
set(GPUKERN_CXX_WARNINGS
    ${GPUKERN_C_WARNINGS} -Wno-sign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wextra-semi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND GPUKERN_CXX_WARNINGS -Wno-restrict) # warns about std::string's own code (GCC 105651)
endif()
# nvcc passes generated code, including line markers and casts, to the host compiler; pedantic
# warnings would be about that code.
set(GPUKERN_CUDA_HOST_WARNINGS -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)

# gpukern_enable_warnings(<target>...): enables the warnings, as errors if GPUKERN_WERROR is on. Not
# for dependencies that are built with the project.
function(gpukern_enable_warnings)
  set(cuda_warnings ${GPUKERN_CUDA_HOST_WARNINGS})
  set(cuda_errors "")
  if(GPUKERN_WERROR)
    list(APPEND cuda_warnings -Werror)
    set(cuda_errors "SHELL:-Werror all-warnings")
  endif()
  list(JOIN cuda_warnings "," cuda_warnings)
  foreach(target IN LISTS ARGN)
    target_compile_options(
      ${target}
      PRIVATE
        "$<$<COMPILE_LANGUAGE:C>:${GPUKERN_C_WARNINGS}>"
        "$<$<COMPILE_LANGUAGE:CXX>:${GPUKERN_CXX_WARNINGS}>"
        "$<$<AND:$<BOOL:${GPUKERN_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>"
        "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${cuda_warnings};${cuda_errors}>")
  endforeach()
endfunction()

# gpukern_enable_warnings_in(<directory>): the same for every target of a directory.
function(gpukern_enable_warnings_in directory)
  get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|LIBRARY" AND NOT type STREQUAL "INTERFACE_LIBRARY")
      gpukern_enable_warnings(${target})
    endif()
  endforeach()
endfunction()
