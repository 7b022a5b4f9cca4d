// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Runs a fuzz test on each file of a directory, in place of libFuzzer's main().
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/input.hpp"

int main(int count, char** arguments) {
  int files = 0;
  for (int i = 1; i < count; ++i)
    for (const auto& file : std::filesystem::directory_iterator(arguments[i])) {
      std::ifstream stream(file.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
      std::fprintf(stderr, "%s\n", file.path().c_str());
      // In a separate allocation, so that a read beyond it is found.
      const auto copy = std::make_unique<std::uint8_t[]>(bytes.size());
      std::copy(bytes.begin(), bytes.end(), copy.get());
      LLVMFuzzerTestOneInput(copy.get(), bytes.size());
      ++files;
    }
  gpukern_fuzz::expect(files > 0, "no file to run on");
  return 0;
}
