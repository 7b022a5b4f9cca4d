// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// program.hpp: the arguments it passes to the C ABI and its exceptions. Launches need a GPU.

#include "gpukern/program.hpp"
#include "program_support.hpp"

namespace gpukern_test {
namespace {

using gpukern::Kernel;
using gpukern::Program;

class ProgramHppTest : public ProgramTest {};

TEST_F(ProgramHppTest, CompilesAndReads) {
  const Program program(
      "#include <value.h>\n"
      "template <class T> __global__ void f(T* x) { *x = kValue + OFFSET; }\n",
      {.name = "mine.cu",
       .architecture = "sm_90",
       .options = {"-DOFFSET=1"},
       .headers = {{"value.h", "constexpr int kValue = 2;\n"}},
       .name_expressions = {"f<float>"}});
  EXPECT_NE(program.ptx().find("_Z1fIfEvPT_"), std::string_view::npos);
  EXPECT_EQ(program.architecture(), "sm_90");
  EXPECT_EQ(program.log(), "");
  ASSERT_GT(program.cubin().size(), 4U);
  EXPECT_EQ(program.cubin()[0], std::byte{0x7f});
}

TEST_F(ProgramHppTest, ThrowsWithTheLog) {
  try {
    const Program program("nonsense", {.architecture = "sm_90"});
    FAIL();
  } catch (const gpukern::CompileError& error) {
    EXPECT_EQ(error.status(), GPUKERN_COMPILE_ERROR);
    EXPECT_NE(error.log().find("program.cu(1): error"), std::string::npos);
  }
  EXPECT_THROW(Program(kAdd, {.architecture = "sm_1"}), gpukern::ValueError);
}

TEST_F(ProgramHppTest, LaunchesWithValues) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  constexpr std::uint32_t kCount = 1000;
  gpukern::DeviceBuffer<float> x(kCount);
  std::vector<float> host(kCount, 1);
  x.copy_from(host);
  Kernel add = Program(kAdd).kernel("add");
  EXPECT_EQ(add.info().parameter_count, 4);
  add({.grid = {(kCount + 255) / 256}, .block = {256}}, x, 2.0, static_cast<int>(kCount), char{3});
  x.copy_to(host);
  EXPECT_EQ(host, std::vector<float>(kCount, 6));
  EXPECT_THROW(add({}, x, 2.0F, 1, char{3}), gpukern::TypeError);
  EXPECT_THROW(add({}, x), gpukern::TypeError);
}

}  // namespace
}  // namespace gpukern_test
