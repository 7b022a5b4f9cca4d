# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# The library without CUDA, and that with the fake GPU, under AddressSanitizer and
# UndefinedBehaviorSanitizer. tests/ runs its programs with them, which are compiled once. clang-tidy
# does not see their compile commands: it would check each source twice.

set(GPUKERN_ADDRESS_FLAGS -Og -g1 -fsanitize=address,undefined -fno-sanitize-recover=all
    -fno-omit-frame-pointer -UNDEBUG -D_GLIBCXX_ASSERTIONS -Wno-error)
# Where the library is, which takes the place of that which the test programs were linked with.
set(GPUKERN_ADDRESS_DIR "${PROJECT_BINARY_DIR}/tests/address")

add_library(gpukern_address_objects OBJECT EXCLUDE_FROM_ALL ${GPUKERN_SOURCES} ${GPUKERN_CPU_SOURCES})
add_library(gpukern_address SHARED EXCLUDE_FROM_ALL ${GPUKERN_BACKEND_FRONTS}
                                                    $<TARGET_OBJECTS:gpukern_address_objects>)
add_library(gpukern_address_fake_gpu OBJECT EXCLUDE_FROM_ALL
            ${GPUKERN_BACKEND_FRONTS} "${PROJECT_SOURCE_DIR}/tests/fake_gpu/fake_gpu.cpp"
            "${PROJECT_SOURCE_DIR}/tests/fake_gpu/fake_virtual_memory.cpp")
target_compile_definitions(gpukern_address_fake_gpu PRIVATE GPUKERN_HAVE_CUDA=1)
foreach(target IN ITEMS gpukern_address_objects gpukern_address gpukern_address_fake_gpu)
  gpukern_use_own_settings(${target})
  target_compile_options(${target} PRIVATE ${GPUKERN_ADDRESS_FLAGS})
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON
                                             EXPORT_COMPILE_COMMANDS OFF)
endforeach()

set_target_properties(
  gpukern_address PROPERTIES OUTPUT_NAME gpukern LIBRARY_OUTPUT_DIRECTORY "${GPUKERN_ADDRESS_DIR}"
                             VERSION ${PROJECT_VERSION} SOVERSION ${GPUKERN_ABI_VERSION})
target_link_options(gpukern_address PRIVATE -fsanitize=address,undefined
                    "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/gpukern.map")
target_link_libraries(gpukern_address PRIVATE Threads::Threads ${CMAKE_DL_LIBS})

# gpukern_add_address_program(<target> <source or object>...): adds a test program that is itself
# linked with AddressSanitizer.
function(gpukern_add_address_program target)
  add_executable(${target} EXCLUDE_FROM_ALL ${ARGN})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/tests")
  target_compile_options(${target} PRIVATE ${GPUKERN_ADDRESS_FLAGS})
  target_link_options(${target} PRIVATE -fsanitize=address,undefined)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX EXPORT_COMPILE_COMMANDS OFF)
endfunction()

# gpukern_add_address_test(<test> <target> <argument> [<variable>=<value>...]): registers the run of a
# test program in which the library is the one with AddressSanitizer: `ctest -C address -L address`.
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libasan.so
                OUTPUT_VARIABLE GPUKERN_ADDRESS_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
function(gpukern_add_address_test test target argument)
  set(environment
      "LD_PRELOAD=${GPUKERN_ADDRESS_RUNTIME}" "LD_LIBRARY_PATH=${GPUKERN_ADDRESS_DIR}"
      ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 ${ARGN})
  add_test(NAME ${test} COMMAND ${target} "${argument}" CONFIGURATIONS address)
  set_tests_properties(${test} PROPERTIES TIMEOUT 600 LABELS address ENVIRONMENT "${environment}")
  if(target MATCHES "^(fake_gpu|saxpy_|scatter_test)") # the longest first
    set_tests_properties(${test} PROPERTIES COST 10)
  endif()
  add_dependencies(gpukern_tests_for_addresses ${target})
endfunction()
