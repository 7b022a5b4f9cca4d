// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The progress that a call reports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpukern/gpukern.h"

namespace gpukern_test {

/// All reports of a call, which is stopped by the one with the number `stops_after`.
struct Reports {
  std::vector<std::uint64_t> done;
  std::uint64_t total = 0;
  std::size_t stops_after = SIZE_MAX;

  void listen_to(gpukern_exec& exec) {
    exec.progress = add;
    exec.progress_user = this;
  }
  void expect_whole() const {
    EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
    ASSERT_FALSE(done.empty());
    EXPECT_EQ(done.back(), total);
    EXPECT_EQ(std::count(done.begin(), done.end(), total), 1);
  }

 private:
  static std::int32_t add(void* user, std::uint64_t done, std::uint64_t total) {
    auto& reports = *static_cast<Reports*>(user);
    reports.done.push_back(done);
    reports.total = total;
    return reports.done.size() >= reports.stops_after ? 1 : 0;
  }
};

}  // namespace gpukern_test
