# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# cmake -DREADELF= -DLIBRARY= -P: fails if a function of gpukern has a static variable that is
# initialized at first use. See src/core/make_once.hpp for what to use instead. Variables of a thread
# (TLS) have guards that no other thread holds, and nvcc's launch stubs run only where CUDA does, which
# a forked child refuses.
execute_process(COMMAND "${READELF}" --symbols --wide "${LIBRARY}" OUTPUT_VARIABLE symbols
                                                                   COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES " _ZN7gpukern")
  message(FATAL_ERROR "${LIBRARY} has no symbol table to look in")
endif()
string(REGEX MATCHALL "OBJECT[^\n]* _ZGVZ[^\n]*gpukern[^\n]*" guards "${symbols}")
list(FILTER guards EXCLUDE REGEX "__device_stub__")
if(guards)
  list(JOIN guards "\n" text)
  message(FATAL_ERROR "static variables with guards:\n${text}")
endif()
