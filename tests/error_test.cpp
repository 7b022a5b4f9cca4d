// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Versions, statuses and messages, and the header in a C99 program.

#include <set>
#include <thread>

#include "support.hpp"

extern "C" std::int32_t gpukern_c99_gather_and_saxpy(void);

namespace gpukern_test {
namespace {

TEST(VersionTest, MatchesTheHeader) {
  EXPECT_EQ(gpukern_version(), GPUKERN_VERSION);
  EXPECT_EQ(GPUKERN_VERSION,
            GPUKERN_VERSION_MAJOR * 10000 + GPUKERN_VERSION_MINOR * 100 + GPUKERN_VERSION_PATCH);
  EXPECT_EQ(gpukern_abi_version(), GPUKERN_ABI_VERSION);
}

TEST(AbiTest, ServesC99) { EXPECT_EQ(gpukern_c99_gather_and_saxpy(), 2 * (1000 + 10)); }

TEST(StatusTest, EachHasItsOwnName) {
  std::set<std::string> names;
  for (int status = GPUKERN_SUCCESS; status <= GPUKERN_CANCELLED; ++status)
    names.insert(gpukern_status_name(static_cast<gpukern_status>(status)));
  EXPECT_EQ(names.size(), GPUKERN_CANCELLED + 1U);
  EXPECT_STREQ(gpukern_status_name(GPUKERN_SUCCESS), "GPUKERN_SUCCESS");
  EXPECT_STREQ(gpukern_status_name(GPUKERN_INDEX_ERROR), "GPUKERN_INDEX_ERROR");
  EXPECT_STREQ(gpukern_status_name(GPUKERN_INTERNAL_ERROR), "GPUKERN_INTERNAL_ERROR");
  EXPECT_STREQ(gpukern_status_name(GPUKERN_CONTEXT_LOST), "GPUKERN_CONTEXT_LOST");
  EXPECT_STREQ(gpukern_status_name(GPUKERN_CANCELLED), "GPUKERN_CANCELLED");
}

TEST(StatusTest, UnknownOnesHaveAName) {
  for (const int status : {-1, 100, 1000})
    EXPECT_NE(gpukern_status_name(static_cast<gpukern_status>(status)), nullptr);
}

TEST(LastErrorTest, IsEmptyBeforeAnyError) {
  std::thread([] { EXPECT_STREQ(gpukern_last_error(), ""); }).join();
}

TEST(LastErrorTest, BelongsToTheThread) {
  expect_error(gpukern_device_query(0, nullptr), GPUKERN_VALUE_ERROR, "device_query: ");
  std::thread([] {
    expect_error(gpukern_cuda_query(nullptr), GPUKERN_VALUE_ERROR, "cuda_query: ");
  }).join();
  EXPECT_EQ(std::string(gpukern_last_error()).rfind("device_query: ", 0), 0U);
}

TEST(LastErrorTest, OutlivesASuccess) {
  expect_error(gpukern_device_query(0, nullptr), GPUKERN_VALUE_ERROR, "device_query: ");
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
  EXPECT_EQ(std::string(gpukern_last_error()).rfind("device_query: ", 0), 0U);
}

}  // namespace
}  // namespace gpukern_test
