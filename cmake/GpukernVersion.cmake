# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# gpukern_read_version(<header> <version> <abi>): reads the version and the number of the ABI, which
# only the header defines.
function(gpukern_read_version header version_variable abi_variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${header}")
  file(READ "${header}" text)
  set(numbers "")
  foreach(name VERSION_MAJOR VERSION_MINOR VERSION_PATCH ABI_VERSION)
    if(NOT text MATCHES "#define GPUKERN_${name} ([0-9]+)")
      message(FATAL_ERROR "gpukern: no GPUKERN_${name} in ${header}")
    endif()
    list(APPEND numbers "${CMAKE_MATCH_1}")
  endforeach()
  list(POP_BACK numbers abi)
  list(JOIN numbers "." version)
  set(${version_variable} "${version}" PARENT_SCOPE)
  set(${abi_variable} "${abi}" PARENT_SCOPE)
endfunction()
