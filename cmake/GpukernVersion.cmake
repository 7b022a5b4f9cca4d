# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# gpukern_read_version(<header> <variable>): reads the version, which only the header defines.
function(gpukern_read_version header variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  file(READ "${header}" text)
  set(version "")
  foreach(part MAJOR MINOR PATCH)
    if(NOT text MATCHES "#define GPUKERN_VERSION_${part} ([0-9]+)")
      message(FATAL_ERROR "gpukern: no GPUKERN_VERSION_${part} in ${header}")
    endif()
    list(APPEND version "${CMAKE_MATCH_1}")
  endforeach()
  list(JOIN version "." version)
  set(${variable} "${version}" PARENT_SCOPE)
endfunction()
