// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The CPU quota of control groups, read from files that the test writes.

#include "src/threading/cgroup.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace gpukern_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kV1Mount =
    "30 29 0:26 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n";
constexpr const char* kV2Mount = "30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";

class CgroupTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ =
        fs::temp_directory_path() / ("gpukern_cgroup_" + std::to_string(getpid())) / test->name();
  }
  void TearDown() override { fs::remove_all(root_.parent_path()); }

  void write(const std::string& path, const std::string& text) const {
    const fs::path file(root_.string() + path);
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void write_v1(const std::string& folder, const std::string& quota) const {
    write(folder + "/cpu.cfs_quota_us", quota + "\n");
    write(folder + "/cpu.cfs_period_us", "100000\n");
  }
  [[nodiscard]] std::optional<double> cores() const {
    return gpukern::cpu::cgroup_cores(root_.string());
  }

 private:
  fs::path root_;
};

TEST_F(CgroupTest, NoFilesNoQuota) { EXPECT_EQ(cores(), std::nullopt); }

TEST_F(CgroupTest, Version2UsesTheSmallestQuotaOfTheAncestors) {
  write("/proc/self/mountinfo", kV2Mount);
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), std::nullopt);
  write("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
  EXPECT_EQ(cores(), 2.5);
  write("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  EXPECT_EQ(cores(), 0.5);
}

TEST_F(CgroupTest, Version2InAContainer) {
  write("/proc/self/mountinfo", kV2Mount);
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores(), 4);
}

TEST_F(CgroupTest, Version1) {
  write("/proc/self/mountinfo",
        "29 20 0:25 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n" + std::string(kV1Mount) +
            "31 29 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  write("/proc/self/cgroup", "5:cpuset:/other\n4:cpu,cpuacct:/a\n0::/\n");
  write_v1("/sys/fs/cgroup/cpuset/other", "100000");
  write_v1("/sys/fs/cgroup/cpu,cpuacct/a", "-1");
  EXPECT_EQ(cores(), std::nullopt);
  write_v1("/sys/fs/cgroup/cpu,cpuacct", "300000");
  EXPECT_EQ(cores(), 3);
}

TEST_F(CgroupTest, AGroupIsMountedAsTheRoot) {
  write("/proc/self/mountinfo",
        "30 29 0:26 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
  write("/proc/self/cgroup", "4:cpu:/docker/x/y\n");
  write_v1("/sys/fs/cgroup/cpu", "200000");
  write_v1("/sys/fs/cgroup/cpu/y", "150000");
  EXPECT_EQ(cores(), 1.5);
}

}  // namespace
}  // namespace gpukern_test
