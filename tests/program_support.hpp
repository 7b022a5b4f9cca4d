// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Helpers for the tests of programs: descriptions by name, and a cache directory for each test.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "gpukern/program.h"
#include "support.hpp"

namespace gpukern_test {

inline constexpr char kAdd[] =
    "extern \"C\" __global__ void add(float* x, double a, int n, char c) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] += static_cast<float>(a) + c;\n"
    "}\n";

/// A description of a program that owns its memory; the default architecture is sm_90.
struct Description {
  std::string source;
  // NOLINTBEGIN(readability-redundant-member-init): GCC warns about a missing one
  std::vector<const char*> options{};
  const char* architecture = "sm_90";
  std::vector<gpukern_header> headers{};
  std::vector<const char*> names{};
  // NOLINTEND(readability-redundant-member-init)
  const char* name = nullptr;
  const char* key = nullptr;
  const char* note = nullptr;

  [[nodiscard]] gpukern_program_desc desc() const {
    gpukern_program_desc desc = GPUKERN_PROGRAM_DESC_INIT;
    desc.source = source.c_str();
    desc.name = name;
    desc.architecture = architecture;
    desc.options = options.data();
    desc.option_count = options.size();
    desc.headers = headers.data();
    desc.header_count = headers.size();
    desc.name_expressions = names.data();
    desc.name_expression_count = names.size();
    desc.cache_key = key;
    desc.note = note;
    return desc;
  }
};

/// A program's handle.
class Compiled {
 public:
  explicit Compiled(const Description& description) {
    const gpukern_program_desc desc = description.desc();
    status_ = gpukern_program_compile(&desc, &program_);
  }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { EXPECT_EQ(gpukern_program_release(program_), GPUKERN_SUCCESS); }

  [[nodiscard]] gpukern_status status() const { return status_; }
  [[nodiscard]] gpukern_program* get() const { return program_; }
  [[nodiscard]] std::string part(gpukern_program_part part) const {
    const void* data = nullptr;
    std::size_t size = 0;
    EXPECT_EQ(gpukern_program_get(program_, part, &data, &size), GPUKERN_SUCCESS)
        << gpukern_last_error();
    return {static_cast<const char*>(data), size};
  }
  [[nodiscard]] std::string ptx() const { return part(GPUKERN_PROGRAM_PTX); }

 private:
  gpukern_program* program_ = nullptr;
  gpukern_status status_;
};

inline gpukern_cache_info cache_info() {
  gpukern_cache_info info{};
  info.struct_size = sizeof info;
  EXPECT_EQ(gpukern_cache_query(&info), GPUKERN_SUCCESS) << gpukern_last_error();
  return info;
}

/// An empty directory that is removed at the end of the scope.
struct TemporaryFolder {
  TemporaryFolder() {
    std::string name = testing::TempDir() + "gpukern-" + std::string(6, 'X');
    path = mkdtemp(name.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

/// A test with NVRTC and a separate, empty cache; skipped without NVRTC. $GPUKERN_TEST_TOOLKIT
/// names a toolkit that is searched first.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* toolkit = std::getenv("GPUKERN_TEST_TOOLKIT")) {
      ASSERT_EQ(gpukern_nvrtc_search(toolkit), GPUKERN_SUCCESS);
    }
    std::int32_t version = 0;
    const char* reason = nullptr;
    ASSERT_EQ(gpukern_nvrtc_query(&version, nullptr, &reason), GPUKERN_SUCCESS);
    if (version == 0) GTEST_SKIP() << "no NVRTC: " << reason;
    ASSERT_EQ(gpukern_cache_clear(), GPUKERN_SUCCESS) << gpukern_last_error();
  }

  [[nodiscard]] std::filesystem::path directory() const { return folder_.path / "cache"; }
  [[nodiscard]] std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> found;
    std::error_code missing;
    for (const auto& file : std::filesystem::directory_iterator(directory(), missing))
      if (file.path().extension() == ".gpukern") found.push_back(file.path());
    return found;
  }

 private:
  TemporaryFolder folder_;
  EnvironmentVariable cache_{"GPUKERN_CACHE_DIR", directory().string()};
};

/// Drops the programs in memory; the disk cache keeps its entries.
inline void forget_memory() {
  const EnvironmentVariable elsewhere("GPUKERN_CACHE_DIR", "off");
  EXPECT_EQ(gpukern_cache_clear(), GPUKERN_SUCCESS) << gpukern_last_error();
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace gpukern_test
