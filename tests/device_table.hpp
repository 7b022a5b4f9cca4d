// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A source too large to create on the host: it is generated on the GPU, and its values follow from
// the position.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "device_memory.hpp"

namespace gpukern_test {

inline std::uint64_t mixed(std::uint64_t number) {
  number = (number ^ (number >> 31U)) * 0x9e3779b97f4a7c15U;
  return number ^ (number >> 29U);
}

/// Copies host values of any width to memory that is counted in words.
template <class T>
void write_items(const DeviceMemory<int>& to, const std::vector<T>& values) {
  cuda("cuMemcpyHtoD_v2", reinterpret_cast<Address>(to.data()),
       static_cast<const void*>(values.data()), values.size() * sizeof(T));
}

/// rows * kColumns integers, each the sum of its row number and its column number.
template <class T>
class Table {
 public:
  static constexpr std::int64_t kColumns = 1 << 16;

  explicit Table(std::int64_t rows)
      : rows_(numbers(rows, 1)), columns_(numbers(kColumns, 2)), memory_(rows * kColumns * kWords) {
    const DeviceMemory<int> row(rows * kWords);
    const DeviceMemory<int> column(kColumns * kWords);
    write_items(row, rows_);
    write_items(column, columns_);
    std::int64_t shape[] = {rows, kColumns};
    std::int64_t by_row[] = {1, 0};
    std::int64_t by_column[] = {0, 1};
    const gpukern_dtype dtype{GPUKERN_INT, 8 * sizeof(T), 1};
    const gpukern_tensor x{row.data(), kCuda, 2, dtype, shape, by_row, 0};
    const gpukern_tensor y{column.data(), kCuda, 2, dtype, shape, by_column, 0};
    const gpukern_tensor out{memory_.data(), kCuda, 2, dtype, shape, nullptr, 0};
    const T one = 1;
    EXPECT_EQ(gpukern_saxpy(&one, &x, &y, &out, nullptr), GPUKERN_SUCCESS) << gpukern_last_error();
  }

  [[nodiscard]] T item(std::int64_t position) const {
    using Unsigned = std::make_unsigned_t<T>;
    const auto row = static_cast<std::size_t>(position / kColumns);
    const auto column = static_cast<std::size_t>(position % kColumns);
    return static_cast<T>(static_cast<Unsigned>(rows_[row]) +
                          static_cast<Unsigned>(columns_[column]));
  }
  [[nodiscard]] void* data() const { return memory_.data(); }

 private:
  static constexpr std::int64_t kWords = sizeof(T) / 4;

  static std::vector<T> numbers(std::int64_t count, std::uint64_t seed) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<T>(mixed(4 * k + seed));
    return values;
  }
  std::vector<T> rows_;
  std::vector<T> columns_;
  DeviceMemory<int> memory_;
};

}  // namespace gpukern_test
