// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Tables whose n-th call of the driver fails, and handles of a fabric.

#include "fake_virtual_memory.hpp"
#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kPage = std::int64_t{2} << 20;

gpukern_status create(std::vector<std::int32_t> devices, gpukern_table** table) {
  const std::vector<std::int64_t> bytes{kPage, kPage + 1};
  const std::int32_t device = 0;
  const gpukern_table_desc desc{sizeof desc, 2, bytes.data(), devices.data(), 1, &device, 1, 0};
  return gpukern_table_create(&desc, table);
}

TEST(TableFaultsTest, AFailedCreationLeavesNothing) {
  gpukern_table* table = nullptr;
  int calls = 0;
  for (int n = 1; table == nullptr; ++n) {
    ASSERT_LT(n, 100);
    fake_virtual_memory().fail_call(n);
    const gpukern_status status = create({0, 0}, &table);
    fake_virtual_memory().fail_call(0);
    EXPECT_EQ(status, table == nullptr ? GPUKERN_CUDA_ERROR : GPUKERN_SUCCESS);
    EXPECT_EQ(fake_virtual_memory().in_use() == 0, table == nullptr) << n;
    calls = n - 1;
  }
  EXPECT_EQ(calls, 7);  // one range; allocate, map and allow for each part
  EXPECT_EQ(gpukern_table_destroy(table), GPUKERN_SUCCESS);
  EXPECT_EQ(fake_virtual_memory().in_use(), 0);
}

TEST(TableFaultsTest, AFailedImportCanBeRepeated) {
  fake_virtual_memory().have_fabric(true);
  gpukern_table* ours = nullptr;
  gpukern_table* theirs = nullptr;
  ASSERT_EQ(create({0, -1}, &ours), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(create({-1, 0}, &theirs), GPUKERN_SUCCESS) << gpukern_last_error();
  gpukern_table_handle handle{};
  ASSERT_EQ(gpukern_table_export(theirs, 1, GPUKERN_HANDLE_FABRIC, &handle), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(handle.type, GPUKERN_HANDLE_FABRIC);
  const int before = fake_virtual_memory().in_use();
  for (int n = 1; n <= 3; ++n) {  // import, map, allow
    fake_virtual_memory().fail_call(n);
    EXPECT_EQ(gpukern_table_import(ours, 1, &handle), GPUKERN_CUDA_ERROR) << n;
    EXPECT_EQ(fake_virtual_memory().in_use(), before) << n;
  }
  fake_virtual_memory().fail_call(0);
  EXPECT_EQ(gpukern_table_import(ours, 1, &handle), GPUKERN_SUCCESS) << gpukern_last_error();
  fake_virtual_memory().have_fabric(false);
  expect_error(gpukern_table_export(theirs, 1, GPUKERN_HANDLE_FABRIC, &handle),
               GPUKERN_DEVICE_ERROR, "this system has no fabric handles");
  EXPECT_EQ(gpukern_table_destroy(ours), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_table_destroy(theirs), GPUKERN_SUCCESS);
  EXPECT_EQ(fake_virtual_memory().in_use(), 0);
}

}  // namespace
}  // namespace gpukern_test
