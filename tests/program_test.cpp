// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Programs without a GPU: compilation, its output, and error messages.

#include <thread>

#include "program_support.hpp"

namespace gpukern_test {
namespace {

using testing::Test;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ProgramTest, HasAllItsParts) {
  const Compiled program({.source = kAdd});
  ASSERT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(contains(program.ptx(), ".entry add("));
  EXPECT_TRUE(contains(program.ptx(), ".target sm_90"));
  EXPECT_EQ(program.part(GPUKERN_PROGRAM_CUBIN).substr(0, 4), "\177ELF");
  EXPECT_EQ(program.part(GPUKERN_PROGRAM_LOG), "");
  EXPECT_EQ(program.part(GPUKERN_PROGRAM_ARCHITECTURE), "sm_90");
}

TEST_F(ProgramTest, OfAVirtualArchitectureIsPtxOnly) {
  const Compiled program({.source = kAdd, .architecture = "compute_80"});
  ASSERT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(contains(program.ptx(), ".target sm_80"));
  EXPECT_EQ(program.part(GPUKERN_PROGRAM_CUBIN), "");
}

TEST_F(ProgramTest, ArchitecturesAreChecked) {
  for (const char* wrong : {"", "90", "sm_", "sm_9", "sm_9000", "sm_90x", "lto_90", "native"})
    expect_error(
        Compiled({.source = kAdd, .architecture = wrong}).status(), GPUKERN_VALUE_ERROR,
        "program_compile: architecture must have the form sm_90, sm_90a or compute_90, got ");
  expect_error(Compiled({.source = kAdd, .architecture = "sm_35"}).status(), GPUKERN_VALUE_ERROR,
               "program_compile: architecture must be one that NVRTC ");
  EXPECT_EQ(Compiled({.source = kAdd, .architecture = "sm_90a"}).status(), GPUKERN_SUCCESS);
}

TEST_F(ProgramTest, ErrorsShowTheLines) {
  const Compiled program(
      {.source = "__global__ void f() {\n  undeclared = 1;\n}\n", .name = "my kernel.cu"});
  EXPECT_EQ(program.get(), nullptr);
  expect_error(program.status(), GPUKERN_COMPILE_ERROR,
               "program_compile: my kernel.cu does not compile:\nmy kernel.cu(2): error: ");
  const char* log = nullptr;
  ASSERT_EQ(gpukern_compile_log(&log), GPUKERN_SUCCESS);
  EXPECT_TRUE(contains(log, "undeclared = 1;")) << log;
}

TEST_F(ProgramTest, LogsAreCompleteAndPerThread) {
  std::string source;
  for (int i = 0; i < 90; ++i)
    source += "__device__ int f" + std::to_string(i) + "() { return nothing; }\n";
  EXPECT_EQ(Compiled({.source = source}).status(), GPUKERN_COMPILE_ERROR);
  const char* log = nullptr;
  ASSERT_EQ(gpukern_compile_log(&log), GPUKERN_SUCCESS);
  EXPECT_TRUE(contains(log, "program.cu(90)"));
  std::thread([] {
    const char* other = nullptr;
    EXPECT_EQ(gpukern_compile_log(&other), GPUKERN_SUCCESS);
    EXPECT_STREQ(other, "");
  }).join();
}

TEST_F(ProgramTest, WarningsAreInTheLog) {
  const Compiled program({.source = "extern \"C\" __global__ void f() { int unused; }\n"});
  ASSERT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(contains(program.part(GPUKERN_PROGRAM_LOG), "unused"));
}

TEST_F(ProgramTest, OptionsReachTheCompiler) {
  const std::string source =
      "extern \"C\" __global__ void f(float* x) { *x = x[1] * x[2] + x[3] * SCALE; }\n";
  const Compiled fused({.source = source, .options = {"-DSCALE=3", "--std=c++20"}});
  const Compiled apart({.source = source, .options = {"--define-macro=SCALE=3", "--fmad=false"}});
  const Compiled split({.source = source, .options = {"-D", "SCALE=3"}});
  ASSERT_EQ(fused.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(apart.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  ASSERT_EQ(split.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(contains(fused.ptx(), "fma.rn.f32"));
  EXPECT_FALSE(contains(apart.ptx(), "fma.rn.f32"));
}

TEST_F(ProgramTest, OptionsAreChecked) {
  for (const char* unknown : {"--no-such-option", "-O9000x", "nonsense"})
    expect_error(
        Compiled({.source = kAdd, .options = {unknown}}).status(), GPUKERN_VALUE_ERROR,
        std::string("program_compile: options: nvrtc: error: unrecognized option ") + unknown);
  expect_error(Compiled({.source = kAdd, .options = {"--std=c++99"}}).status(), GPUKERN_VALUE_ERROR,
               "program_compile: options: nvrtc: error: invalid value");
  for (const char* refused :
       {"--gpu-architecture=sm_80", "-arch=sm_80", "-arch", "--gpu-architecture", "-dc",
        "--device-c", "-rdc=true", "--relocatable-device-code=true", "-dlto", "--dlink-time-opt",
        "--optix-ir", "--fdevice-syntax-only"})
    expect_error(Compiled({.source = kAdd, .options = {refused}}).status(), GPUKERN_VALUE_ERROR,
                 std::string("program_compile: option ") + refused + " cannot be used: ");
}

TEST_F(ProgramTest, HeadersInMemory) {
  const Compiled program(
      {.source = "#include <outer.h>\nextern \"C\" __global__ void f(float* x) { *x = kValue; }\n",
       .headers = {{"outer.h", "#include \"inner.h\"\n"},
                   {"inner.h", "constexpr float kValue = 3;\n"}}});
  EXPECT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST_F(ProgramTest, HeadersOnDiskByIncludePathOnly) {
  std::filesystem::create_directories(directory());
  write_file(directory() / "mine.cuh", "constexpr float kValue = 3;\n");
  const std::string source =
      "#include \"mine.cuh\"\nextern \"C\" __global__ void f(float* x) { *x = kValue; }\n";
  const std::string option = "-I" + directory().string();
  EXPECT_EQ(Compiled({.source = source, .options = {option.c_str()}}).status(), GPUKERN_SUCCESS)
      << gpukern_last_error();
  write_file(directory() / "outer.cuh", "#include \"mine.cuh\"\n");
  const std::string outer = "#include \"outer.cuh\"\n" + source.substr(source.find('\n') + 1);
  EXPECT_EQ(Compiled({.source = outer, .options = {option.c_str()}}).status(), GPUKERN_SUCCESS)
      << gpukern_last_error();
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(directory());
  EXPECT_EQ(Compiled({.source = source}).status(), GPUKERN_COMPILE_ERROR);
  EXPECT_EQ(
      Compiled({.source = outer, .headers = {{"outer.cuh", "#include \"mine.cuh\"\n"}}}).status(),
      GPUKERN_COMPILE_ERROR);
  std::filesystem::current_path(before);
}

TEST_F(ProgramTest, CudaHeadersAreFound) {
  const Compiled program({.source = "#include <cuda_fp16.h>\n"
                                    "#include <cuda/std/type_traits>\n"
                                    "extern \"C\" __global__ void f(__half* x) {\n"
                                    "  static_assert(!cuda::std::is_same_v<int, float>);\n"
                                    "  *x = __hadd(*x, *x);\n"
                                    "}\n"});
  EXPECT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
}

TEST_F(ProgramTest, TemplatesByNameExpression) {
  const std::string source = "template <class T, int n> __global__ void scale(T* x) { *x *= n; }\n";
  const Compiled program({.source = source, .names = {"scale<float, 2>", "&scale<double, 3>"}});
  ASSERT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_TRUE(contains(program.ptx(), ".entry _Z5scaleIfLi2EEvPT_("));
  EXPECT_TRUE(contains(program.ptx(), ".entry _Z5scaleIdLi3EEvPT_("));
  expect_error(Compiled({.source = source, .names = {"scale<nothing>"}}).status(),
               GPUKERN_COMPILE_ERROR, "program_compile: program.cu does not compile:\n");
}

TEST_F(ProgramTest, TheDevicesArchitectureNeedsTheDevice) {
  if (cuda_devices() != 0) GTEST_SKIP() << "there is a CUDA device";
  expect_error(Compiled({.source = kAdd, .architecture = nullptr}).status(), GPUKERN_DEVICE_ERROR,
               "there is no CUDA device: ");
  const Compiled program({.source = kAdd});
  gpukern_kernel* kernel = nullptr;
  expect_error(gpukern_program_kernel(program.get(), "add", 0, &kernel), GPUKERN_DEVICE_ERROR,
               "there is no CUDA device: ");
  EXPECT_EQ(kernel, nullptr);
}

TEST_F(ProgramTest, BrokenDescriptionsAreRefused) {
  gpukern_program* program = nullptr;
  expect_error(gpukern_program_compile(nullptr, &program), GPUKERN_VALUE_ERROR,
               "program_compile: desc must not be NULL");
  gpukern_program_desc desc = Description{.source = kAdd}.desc();
  expect_error(gpukern_program_compile(&desc, nullptr), GPUKERN_VALUE_ERROR,
               "program_compile: program must not be NULL");
  const auto refused = [&](auto change, const char* words) {
    const Description description{.source = kAdd};
    gpukern_program_desc broken = description.desc();
    change(broken);
    expect_error(gpukern_program_compile(&broken, &program), GPUKERN_VALUE_ERROR, words);
    EXPECT_EQ(program, nullptr);
  };
  refused([](auto& d) { d.struct_size = 8; }, "program_compile: desc must have struct_size = ");
  refused([](auto& d) { d.source = nullptr; }, "program_compile: source must not be NULL");
  refused([](auto& d) { d.options = nullptr, d.option_count = 1; },
          "program_compile: options must not be NULL");
  refused([](auto& d) { d.headers = nullptr, d.header_count = 1; },
          "program_compile: headers must not be NULL");
  refused([](auto& d) { d.name_expressions = nullptr, d.name_expression_count = 1; },
          "program_compile: name_expressions must not be NULL");
  const char* const nothing[] = {nullptr};
  refused([&](auto& d) { d.options = nothing, d.option_count = 1; },
          "program_compile: options[0] must not be NULL");
  refused([&](auto& d) { d.name_expressions = nothing, d.name_expression_count = 1; },
          "program_compile: name_expressions must not contain NULL");
  const gpukern_header header{"name.h", nullptr};
  refused([&](auto& d) { d.headers = &header, d.header_count = 1; },
          "program_compile: headers must have a name and a source");
}

TEST_F(ProgramTest, BrokenQueriesAreRefused) {
  const Compiled program({.source = kAdd});
  const void* data = nullptr;
  std::size_t size = 0;
  expect_error(gpukern_program_get(nullptr, GPUKERN_PROGRAM_PTX, &data, &size), GPUKERN_VALUE_ERROR,
               "program_get: ");
  expect_error(gpukern_compile_log(nullptr), GPUKERN_VALUE_ERROR, "compile_log: ");
  expect_error(gpukern_nvrtc_search(nullptr), GPUKERN_VALUE_ERROR, "nvrtc_search: ");
  expect_error(gpukern_nvrtc_search(""), GPUKERN_VALUE_ERROR, "nvrtc_search: ");
  expect_error(gpukern_kernel_query(nullptr, nullptr), GPUKERN_VALUE_ERROR, "kernel_query: ");
  expect_error(gpukern_kernel_parameter(nullptr, 0, nullptr, nullptr), GPUKERN_VALUE_ERROR,
               "kernel_parameter: ");
  expect_error(gpukern_kernel_launch(nullptr, nullptr, nullptr, nullptr, 0, nullptr),
               GPUKERN_VALUE_ERROR, "kernel_launch: ");
  EXPECT_EQ(gpukern_program_release(nullptr), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_kernel_release(nullptr), GPUKERN_SUCCESS);
}

TEST_F(ProgramTest, NvrtcIsDescribed) {
  std::int32_t version = 0;
  const char* path = nullptr;
  const char* reason = nullptr;
  ASSERT_EQ(gpukern_nvrtc_query(&version, &path, &reason), GPUKERN_SUCCESS);
  EXPECT_GE(version, 12000);
  EXPECT_TRUE(std::filesystem::exists(path)) << path;
  EXPECT_STREQ(reason, "");
}

// A separate process, since the search for NVRTC is cached.
TEST(ProgramDeathTest, TheMessageWithoutNvrtcIsHelpful) {
  gpukern_cuda_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gpukern_cuda_query(&info), GPUKERN_SUCCESS);
  if (info.built == 0) GTEST_SKIP() << "a build without CUDA";
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const EnvironmentVariable variable("GPUKERN_NVRTC", "/no/such/path");
        const gpukern_status status = Compiled({.source = kAdd}).status();
        std::fputs(gpukern_last_error(), stderr);
        std::exit(status);
      },
      testing::ExitedWithCode(GPUKERN_DEVICE_ERROR),
      "no libnvrtc.so.* at .GPUKERN_NVRTC, /no/such/path.*pip install nvidia-cuda-nvrtc");
}

TEST(ProgramTestWithoutCuda, IsRefused) {
  gpukern_cuda_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gpukern_cuda_query(&info), GPUKERN_SUCCESS);
  if (info.built != 0) GTEST_SKIP() << "a build with CUDA";
  expect_error(Compiled({.source = kAdd}).status(), GPUKERN_DEVICE_ERROR,
               "programs cannot be compiled: this gpukern was built without CUDA");
  EXPECT_EQ(gpukern_nvrtc_search("/"), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_nvrtc_query(nullptr, nullptr, nullptr), GPUKERN_SUCCESS);
}

}  // namespace
}  // namespace gpukern_test
