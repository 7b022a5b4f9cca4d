# SPDX-FileCopyrightText: 2026 The gpukern authors
# SPDX-License-Identifier: Apache-2.0

# Defines GTest::gtest_main: an installed GoogleTest, else the sources of Debian's libgtest-dev,
# else a pinned release. Debian's archive has the same tarball as GitHub, so a machine that reaches
# only one of them can build.
find_package(GTest QUIET)
if(NOT TARGET GTest::gtest_main)
  include(FetchContent)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  set(BUILD_GMOCK OFF CACHE BOOL "" FORCE)
  if(EXISTS /usr/src/googletest/CMakeLists.txt)
    message(STATUS "gpukern: building GoogleTest from /usr/src/googletest")
    FetchContent_Declare(googletest SOURCE_DIR /usr/src/googletest)
  else()
    message(STATUS "gpukern: downloading GoogleTest 1.12.1 (0.9 MB); "
                   "an installed one (Debian: libgtest-dev) is used instead")
    FetchContent_Declare(
      googletest
      URL https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz
          https://deb.debian.org/debian/pool/main/g/googletest/googletest_1.12.1.orig.tar.gz
      URL_HASH SHA256=81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2
      DOWNLOAD_EXTRACT_TIMESTAMP ON
      TIMEOUT 60)
  endif()
  FetchContent_MakeAvailable(googletest)
  if(NOT TARGET GTest::gtest_main)
    add_library(GTest::gtest ALIAS gtest)
    add_library(GTest::gtest_main ALIAS gtest_main)
  endif()
endif()
