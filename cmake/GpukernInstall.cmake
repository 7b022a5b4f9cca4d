# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Installs the library, headers, CMake package and pkg-config file, all relocatable. The Python
# package contains the same tree.
include(CMakePackageConfigHelpers)

set(GPUKERN_CMAKE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/gpukern")
set(GPUKERN_PKGCONFIG_DIR "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

set_target_properties(gpukern_cpp PROPERTIES EXPORT_NAME cpp)
install(
  TARGETS gpukern gpukern_cpp
  EXPORT gpukernTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/gpukern"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT gpukernTargets NAMESPACE gpukern:: DESTINATION "${GPUKERN_CMAKE_DIR}")

configure_package_config_file(
  cmake/gpukernConfig.cmake.in "${PROJECT_BINARY_DIR}/gpukernConfig.cmake"
  INSTALL_DESTINATION "${GPUKERN_CMAKE_DIR}")
write_basic_package_version_file(
  "${PROJECT_BINARY_DIR}/gpukernConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/gpukernConfig.cmake" "${PROJECT_BINARY_DIR}/gpukernConfigVersion.cmake"
  DESTINATION "${GPUKERN_CMAKE_DIR}")

# From the directory of the .pc file back to the prefix; an absolute directory stays what it is.
cmake_path(ABSOLUTE_PATH GPUKERN_PKGCONFIG_DIR BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}"
           OUTPUT_VARIABLE pkgconfig_dir)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY "${pkgconfig_dir}"
           OUTPUT_VARIABLE GPUKERN_PC_PREFIX)
foreach(kind INCLUDE LIB)
  set(GPUKERN_PC_${kind}DIR "\${prefix}")
  cmake_path(APPEND GPUKERN_PC_${kind}DIR "${CMAKE_INSTALL_${kind}DIR}")
endforeach()
set(GPUKERN_PC_LIBS "-lgpukern")
if(GPUKERN_STATIC)
  list(JOIN GPUKERN_CXX_RUNTIME " -l" libraries)
  string(APPEND GPUKERN_PC_LIBS " -l${libraries} -lpthread -ldl")
  if(GPUKERN_HAVE_CUDA)
    string(APPEND GPUKERN_PC_LIBS " -L${CUDAToolkit_LIBRARY_DIR} -lcudart_static -lrt")
  endif()
endif()
configure_file(cmake/gpukern.pc.in gpukern.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/gpukern.pc" DESTINATION "${GPUKERN_PKGCONFIG_DIR}")
