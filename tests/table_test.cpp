// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Tables: parts of several sizes on the devices of this machine, each several times where it has
// few, read and written as one array; handles; errors.

#include "gpukern/table.h"

#include <fcntl.h>
#include <unistd.h>

#include <numeric>

#include "gpukern/gpukern.hpp"
#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kPage = std::int64_t{2} << 20;

class TableTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  }
  void TearDown() override { destroy(); }

  void destroy() {
    for (gpukern_table* table : tables_)
      EXPECT_EQ(gpukern_table_destroy(table), GPUKERN_SUCCESS) << gpukern_last_error();
    tables_.clear();
  }

  /// The device of a part: each in turn.
  static std::int32_t device_of(std::size_t part) {
    return static_cast<std::int32_t>(part) % cuda_devices();
  }

  static std::vector<std::int32_t> devices_of(std::size_t parts) {
    std::vector<std::int32_t> devices;
    devices.reserve(parts);
    for (std::size_t i = 0; i < parts; ++i) devices.push_back(device_of(i));
    return devices;
  }

  static std::vector<std::int32_t> all_devices() {
    std::vector<std::int32_t> all(static_cast<std::size_t>(cuda_devices()));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  gpukern_status create(const std::vector<std::int64_t>& bytes,
                        const std::vector<std::int32_t>& devices, bool exported = false) {
    const std::vector<std::int32_t> all = all_devices();
    const gpukern_table_desc desc{sizeof desc,
                                  static_cast<std::int32_t>(bytes.size()),
                                  bytes.data(),
                                  devices.data(),
                                  static_cast<std::int32_t>(all.size()),
                                  all.data(),
                                  exported ? 1 : 0,
                                  0};
    gpukern_table* table = nullptr;
    const gpukern_status status = gpukern_table_create(&desc, &table);
    EXPECT_EQ(table != nullptr, status == GPUKERN_SUCCESS);
    if (table != nullptr) tables_.push_back(table);
    return status;
  }

  [[nodiscard]] gpukern_table* last() const { return tables_.back(); }

  /// The whole of a table as seen by a device.
  static gpukern_tensor tensor(const gpukern_table* table, std::int64_t* count,
                               std::int32_t device) {
    return {gpukern_table_data(table),
            {GPUKERN_CUDA, device},
            1,
            {GPUKERN_UINT, 8, 1},
            count,
            nullptr,
            0};
  }

  static std::vector<std::uint8_t> random_bytes(std::int64_t count) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    Random random(static_cast<std::uint64_t>(count));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    return bytes;
  }

  static void write(const gpukern_table* table, std::vector<std::uint8_t>& bytes,
                    std::int32_t device) {
    auto count = static_cast<std::int64_t>(bytes.size());
    const gpukern_tensor host{bytes.data(), kCpu, 1, {GPUKERN_UINT, 8, 1}, &count, nullptr, 0};
    const gpukern_tensor whole = tensor(table, &count, device);
    ASSERT_EQ(gpukern_copy(&host, &whole, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }

  static std::vector<std::uint8_t> read(const gpukern_table* table, std::int64_t count,
                                        std::int32_t device) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
    const gpukern_tensor host{bytes.data(), kCpu, 1, {GPUKERN_UINT, 8, 1}, &count, nullptr, 0};
    const gpukern_tensor whole = tensor(table, &count, device);
    EXPECT_EQ(gpukern_copy(&whole, &host, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
    return bytes;
  }

  std::vector<gpukern_table*> tables_;
};

TEST_F(TableTest, PartsAreOneArrayOnEachDevice) {
  const std::vector<std::vector<std::int64_t>> cases{
      {kPage},         {1},
      {kPage, kPage},  {3 * kPage, 0, kPage},
      {100, 200, 300}, {kPage - 1, kPage + 7, 0, 0, 3 * kPage + 1, 5},
      {0, 0, 12},      {kPage / 2, kPage / 2, kPage / 2, kPage / 2, kPage / 2},
  };
  for (const auto& bytes : cases) {
    ASSERT_EQ(create(bytes, devices_of(bytes.size())), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(gpukern_table_data(last())) % kPage, 0U);
    const std::int64_t count = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
    std::vector<std::uint8_t> expected = random_bytes(count);
    for (std::int32_t device = 0; device < cuda_devices(); ++device) {
      std::rotate(expected.begin(), expected.begin() + 1, expected.end());
      write(last(), expected, device);
      for (std::int32_t other = 0; other < cuda_devices(); ++other)
        EXPECT_EQ(read(last(), count, other), expected);
    }
    destroy();
  }
}

TEST_F(TableTest, GatherReadsAllParts) {
  constexpr std::int64_t kRow = 300;
  const std::vector<std::int64_t> rows{9000, 0, 7001, 1, 12000};
  std::vector<std::int64_t> bytes;
  bytes.reserve(rows.size());
  for (const std::int64_t each : rows) bytes.push_back(each * kRow);
  std::int64_t count = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  ASSERT_EQ(create(bytes, devices_of(bytes.size())), GPUKERN_SUCCESS) << gpukern_last_error();
  std::vector<std::uint8_t> host = random_bytes(count * kRow);
  write(last(), host, 0);
  std::vector<std::int64_t> index(5000);
  Random random(7);
  for (std::int64_t& each : index)
    each = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(count));
  for (std::int32_t device = 0; device < cuda_devices(); ++device) {
    std::int64_t shape[] = {count, kRow};
    auto wanted = static_cast<std::int64_t>(index.size());
    std::int64_t out_shape[] = {wanted, kRow};
    const gpukern_device on{GPUKERN_CUDA, device};
    const gpukern_tensor source{
        gpukern_table_data(last()), on, 2, {GPUKERN_UINT, 8, 1}, shape, nullptr, 0};
    const gpukern_tensor host_index{index.data(), kCpu,    1, {GPUKERN_INT, 64, 1},
                                    &wanted,      nullptr, 0};
    std::vector<std::uint8_t> result(index.size() * kRow);
    const gpukern_tensor host_out{result.data(), kCpu,    2, {GPUKERN_UINT, 8, 1},
                                  out_shape,     nullptr, 0};
    gpukern_tensor device_index = host_index;
    gpukern_tensor out = host_out;
    device_index.device = out.device = on;
    ASSERT_EQ(gpukern_allocate(on, index.size() * 8, nullptr, &device_index.data), GPUKERN_SUCCESS);
    ASSERT_EQ(gpukern_allocate(on, result.size(), nullptr, &out.data), GPUKERN_SUCCESS);
    ASSERT_EQ(gpukern_copy(&host_index, &device_index, nullptr), GPUKERN_SUCCESS);
    ASSERT_EQ(gpukern_gather(&source, &device_index, 0, &out, nullptr, nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    ASSERT_EQ(gpukern_copy(&out, &host_out, nullptr), GPUKERN_SUCCESS);
    ASSERT_EQ(gpukern_release(on, out.data, nullptr), GPUKERN_SUCCESS);
    ASSERT_EQ(gpukern_release(on, device_index.data, nullptr), GPUKERN_SUCCESS);
    for (std::size_t i = 0; i < index.size(); ++i)
      ASSERT_EQ(
          std::memcmp(&result[i * kRow], &host[static_cast<std::size_t>(index[i]) * kRow], kRow), 0)
          << i;
  }
}

/// Two tables, as two processes have them: each has half of the parts.
TEST_F(TableTest, HandlesShareParts) {
  const std::vector<std::int64_t> bytes{kPage + 5, 3, 2 * kPage, 0};
  std::int64_t count = std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
  for (const std::vector<std::size_t>& own :
       {std::vector<std::size_t>{0, 3}, std::vector<std::size_t>{1, 2}}) {
    std::vector<std::int32_t> devices(bytes.size(), -1);
    for (const std::size_t part : own) devices[part] = device_of(part);
    ASSERT_EQ(create(bytes, devices, true), GPUKERN_SUCCESS) << gpukern_last_error();
  }
  for (std::int32_t part = 0; part < 4; ++part) {
    const bool first = part == 0 || part == 3;
    gpukern_table_handle handle{};
    ASSERT_EQ(gpukern_table_export(tables_[first ? 0 : 1], part, GPUKERN_HANDLE_FILE, &handle),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
    // Part 1 is stored in a page of part 0, part 3 has no bytes.
    EXPECT_EQ(handle.type == GPUKERN_HANDLE_NONE, part == 1 || part == 3);
    EXPECT_EQ(handle.file == -1, part == 1 || part == 3);
    ASSERT_EQ(gpukern_table_import(tables_[first ? 1 : 0], part, &handle), GPUKERN_SUCCESS)
        << gpukern_last_error();
    if (handle.type == GPUKERN_HANDLE_FILE) {
      expect_error(gpukern_table_import(tables_[first ? 1 : 0], part, &handle), GPUKERN_VALUE_ERROR,
                   "table_import: part " + std::to_string(part) + " has been imported");
      EXPECT_EQ(close(handle.file), 0);
    }
  }
  std::vector<std::uint8_t> expected = random_bytes(count);
  write(tables_[0], expected, 0);
  EXPECT_EQ(read(tables_[1], count, cuda_devices() - 1), expected);
  // What is mapped stays allocated.
  EXPECT_EQ(gpukern_table_destroy(tables_[0]), GPUKERN_SUCCESS);
  tables_.erase(tables_.begin());
  EXPECT_EQ(read(tables_[0], count, 0), expected);
}

TEST_F(TableTest, DestroyedTablesLeaveNoMemory) {
  // More than any GPU has, in turn.
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(create({kPage * 64, kPage * 64}, devices_of(2), true), GPUKERN_SUCCESS)
        << i << gpukern_last_error();
    destroy();
  }
}

TEST_F(TableTest, ATableOfNoBytesHasNoAddress) {
  ASSERT_EQ(create({0, 0}, devices_of(2)), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(gpukern_table_data(last()), nullptr);
  EXPECT_EQ(gpukern_table_data(nullptr), nullptr);
  EXPECT_EQ(gpukern_table_destroy(nullptr), GPUKERN_SUCCESS);
}

TEST_F(TableTest, WrongDescriptionsAreRefused) {
  const std::int64_t most = INT64_MAX;
  expect_error(create({}, {}), GPUKERN_VALUE_ERROR, "table_create: part_count must be from 1");
  expect_error(create({-1}, {0}), GPUKERN_VALUE_ERROR,
               "table_create: part_bytes must not be negative, got -1");
  expect_error(create({most}, {0}), GPUKERN_MEMORY_ERROR, "table_create: the parts take more than");
  expect_error(create({most / 2, most / 2, 2}, {0, 0, 0}), GPUKERN_MEMORY_ERROR,
               "table_create: the parts take more than");
  expect_error(create({1}, {-2}), GPUKERN_DEVICE_ERROR, "there is no device cuda:-2");
  expect_error(create({1}, {1000}), GPUKERN_DEVICE_ERROR, "there is no device cuda:1000");
  gpukern_table* table = nullptr;
  gpukern_table_desc desc{};
  expect_error(gpukern_table_create(nullptr, &table), GPUKERN_VALUE_ERROR,
               "table_create: desc must not be");
  expect_error(gpukern_table_create(&desc, nullptr), GPUKERN_VALUE_ERROR,
               "table_create: table must not be");
  expect_error(gpukern_table_create(&desc, &table), GPUKERN_VALUE_ERROR,
               "table_create: desc must have struct_size");
  desc.struct_size = sizeof desc;
  expect_error(gpukern_table_create(&desc, &table), GPUKERN_VALUE_ERROR,
               "table_create: device_count");
  desc.device_count = 1;
  expect_error(gpukern_table_create(&desc, &table), GPUKERN_VALUE_ERROR,
               "table_create: devices must not be");
  const std::int32_t device = 0;
  desc.devices = &device;
  desc.part_count = 1;
  expect_error(gpukern_table_create(&desc, &table), GPUKERN_VALUE_ERROR,
               "table_create: part_bytes and");
  EXPECT_EQ(table, nullptr);
}

TEST_F(TableTest, WrongHandlesAreRefused) {
  gpukern_table_handle handle{};
  ASSERT_EQ(create({5, kPage}, {0, -1}), GPUKERN_SUCCESS) << gpukern_last_error();
  const auto export_part = [&](std::int32_t part, std::int32_t type) {
    return gpukern_table_export(last(), part, type, &handle);
  };
  expect_error(export_part(0, GPUKERN_HANDLE_FILE), GPUKERN_VALUE_ERROR,
               "table_export: the table was created without");
  expect_error(export_part(1, GPUKERN_HANDLE_FILE), GPUKERN_VALUE_ERROR,
               "table_export: part 1 is that of another process");
  expect_error(export_part(2, GPUKERN_HANDLE_FILE), GPUKERN_VALUE_ERROR,
               "table_export: part must be from 0 to 1, got 2");
  expect_error(export_part(-1, GPUKERN_HANDLE_FILE), GPUKERN_VALUE_ERROR,
               "table_export: part must be from 0 to 1, got -1");
  expect_error(export_part(0, 5), GPUKERN_VALUE_ERROR,
               "table_export: type must be GPUKERN_HANDLE_FILE or GPUKERN_HANDLE_FABRIC, got 5");
  expect_error(gpukern_table_import(last(), 0, &handle), GPUKERN_VALUE_ERROR,
               "table_import: part 0 is that of this process");
  expect_error(gpukern_table_import(last(), 1, nullptr), GPUKERN_VALUE_ERROR,
               "table_import: table and handle must not be NULL");
  expect_error(gpukern_table_import(last(), 1, &handle), GPUKERN_VALUE_ERROR,
               "table_import: the handle of part 1 must be that of a table with the same");
  handle = {GPUKERN_HANDLE_FILE, -1, {}};
  EXPECT_NE(gpukern_table_import(last(), 1, &handle), GPUKERN_SUCCESS);
  // A file of another kind.
  handle.file = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_NE(gpukern_table_import(last(), 1, &handle), GPUKERN_SUCCESS);
  close(handle.file);
  std::vector<std::uint8_t> bytes = random_bytes(5);
  write(last(), bytes, 0);
  EXPECT_EQ(read(last(), 5, 0), bytes);
}

TEST_F(TableTest, ClassOfCpp) {
  const std::vector<std::int64_t> bytes{12, 30};
  const std::vector<std::int32_t> all = all_devices();
  gpukern::Table ours(bytes, std::vector<std::int32_t>{0, -1}, all, true);
  gpukern::Table theirs(bytes, std::vector<std::int32_t>{-1, device_of(1)}, all, true);
  ours.import_part(1, theirs.export_part(1));
  const gpukern_table_handle handle = ours.export_part(0);
  theirs.import_part(0, handle);
  EXPECT_EQ(close(handle.file), 0);
  const gpukern::Table moved(std::move(ours));
  EXPECT_NE(moved.data(), theirs.data());
  EXPECT_THROW(static_cast<void>(theirs.export_part(0)), gpukern::ValueError);
  EXPECT_THROW(gpukern::Table({}, std::vector<std::int32_t>{0}, all), gpukern::ValueError);
}

TEST(TableWithoutDeviceTest, IsADeviceError) {
  if (cuda_devices() > 0) GTEST_SKIP() << "there is a CUDA device";
  const std::int64_t bytes = 1;
  const std::int32_t device = 0;
  const gpukern_table_desc desc{sizeof desc, 1, &bytes, &device, 1, &device, 0, 0};
  gpukern_table* table = nullptr;
  expect_error(gpukern_table_create(&desc, &table), GPUKERN_DEVICE_ERROR,
               "there is no CUDA device");
}

}  // namespace
}  // namespace gpukern_test
