// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Kernels on a GPU: properties, checks before the launch, streams, graphs, threads, lost contexts.

#include <optional>
#include <thread>

#include "device_memory.hpp"
#include "program_support.hpp"

namespace gpukern_test {
namespace {

constexpr std::int64_t kCount = 1000;

/// A kernel that holds the only reference to its program.
class KernelHandle {
 public:
  KernelHandle(const Description& description, const char* name) {
    const Compiled program(description);
    EXPECT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
    EXPECT_EQ(gpukern_program_kernel(program.get(), name, 0, &kernel_), GPUKERN_SUCCESS)
        << gpukern_last_error();
  }
  KernelHandle(const KernelHandle&) = delete;
  KernelHandle& operator=(const KernelHandle&) = delete;
  ~KernelHandle() { EXPECT_EQ(gpukern_kernel_release(kernel_), GPUKERN_SUCCESS); }
  operator const gpukern_kernel*() const { return kernel_; }  // NOLINT(*-explicit-constructor)

  template <class... Values>
  gpukern_status launch(const gpukern_launch& shape, void* stream, const Values&... values) const {
    const void* const addresses[] = {static_cast<const void*>(&values)..., nullptr};
    const std::size_t bytes[] = {sizeof values..., 0};
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.stream = stream;
    return gpukern_kernel_launch(kernel_, &shape, addresses, bytes, sizeof...(Values), &exec);
  }

 private:
  gpukern_kernel* kernel_ = nullptr;
};

gpukern_launch shape_of(std::uint32_t grid, std::uint32_t block, std::uint64_t shared = 0) {
  gpukern_launch launch = GPUKERN_LAUNCH_INIT;
  launch.grid[0] = grid;
  launch.block[0] = block;
  launch.shared_bytes = shared;
  return launch;
}

Description here(const std::string& source) { return {.source = source, .architecture = nullptr}; }

class KernelTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    if (IsSkipped()) return;
    if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
    context_.emplace();
  }

 private:
  std::optional<OnDevice> context_;
};

/// x[i] += 1 for the first n.
constexpr char kIncrement[] =
    "extern \"C\" __global__ void increment(int* x, int n) {\n"
    "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) x[i] += 1;\n"
    "}\n";

TEST_F(KernelTest, HasItsProperties) {
  const KernelHandle kernel(here(kAdd), "add");
  gpukern_kernel_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gpukern_kernel_query(kernel, &info), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(info.parameter_count, 4);
  EXPECT_EQ(info.max_threads_per_block, 1024);
  EXPECT_GT(info.registers, 0);
  EXPECT_EQ(info.static_shared_bytes, 0U);
  EXPECT_GE(info.max_dynamic_shared_bytes, 48U << 10);
  EXPECT_GE(info.preferred_block, 32);
  EXPECT_LE(info.preferred_block, 1024);
  EXPECT_EQ(info.device, 0);
  const std::size_t offsets[] = {0, 8, 16, 20};
  const std::size_t sizes[] = {8, 8, 4, 1};
  for (std::int32_t i = 0; i < 4; ++i) {
    std::size_t offset = 99;
    std::size_t bytes = 99;
    ASSERT_EQ(gpukern_kernel_parameter(kernel, i, &offset, &bytes), GPUKERN_SUCCESS);
    EXPECT_EQ(offset, offsets[i]);
    EXPECT_EQ(bytes, sizes[i]);
  }
  for (const std::int32_t i : {-1, 4})
    expect_error(gpukern_kernel_parameter(kernel, i, nullptr, nullptr), GPUKERN_VALUE_ERROR,
                 "kernel_parameter: i must be in [0, 4), got ");
}

TEST_F(KernelTest, Computes) {
  const KernelHandle kernel(here(kAdd), "add");
  const DeviceMemory<float> x(kCount);
  x.write(std::vector<float>(kCount, 1));
  const StreamHandle stream;
  for (void* on : {static_cast<void*>(nullptr), reinterpret_cast<void*>(1),
                   reinterpret_cast<void*>(2), static_cast<void*>(stream)}) {
    cuda("cuCtxSynchronize");
    EXPECT_EQ(kernel.launch(shape_of(4, 256), on, x.data(), 2.0, int{kCount}, char{3}),
              GPUKERN_SUCCESS)
        << gpukern_last_error();
  }
  cuda("cuCtxSynchronize");
  EXPECT_EQ(x.read(), std::vector<float>(kCount, 21));
}

TEST_F(KernelTest, ComputesFromPtxToo) {
  gpukern_device_info device{};
  device.struct_size = sizeof device;
  ASSERT_EQ(gpukern_device_query(0, &device), GPUKERN_SUCCESS);
  const std::string architecture = "compute_" + std::to_string(device.compute_capability_major) +
                                   std::to_string(device.compute_capability_minor);
  const KernelHandle kernel({.source = kIncrement, .architecture = architecture.c_str()},
                            "increment");
  const DeviceMemory<int> x(kCount);
  x.write(std::vector<int>(kCount, 1));
  EXPECT_EQ(kernel.launch(shape_of(4, 256), nullptr, x.data(), int{kCount}), GPUKERN_SUCCESS);
  EXPECT_EQ(x.read(), std::vector<int>(kCount, 2));
}

TEST_F(KernelTest, NamesAreChecked) {
  const Compiled program(
      here("template <class T> __global__ void f(T* x) { *x += 1; }\n"
           "template __global__ void f<int>(int*);\n"
           "extern \"C\" __global__ void g() {}\n"));
  ASSERT_EQ(program.status(), GPUKERN_SUCCESS) << gpukern_last_error();
  gpukern_kernel* kernel = nullptr;
  EXPECT_EQ(gpukern_program_kernel(program.get(), "f<int>", 0, &kernel), GPUKERN_VALUE_ERROR);
  const std::string message = gpukern_last_error();
  EXPECT_EQ(message.rfind("program_kernel: there is no kernel f<int>; ", 0), 0U) << message;
  EXPECT_NE(message.find("_Z1fIiEvPT_"), std::string::npos) << message;
  EXPECT_EQ(kernel, nullptr);
  expect_error(gpukern_program_kernel(program.get(), "g", 1000, &kernel), GPUKERN_DEVICE_ERROR,
               "there is no device cuda:1000");
  EXPECT_EQ(gpukern_program_kernel(program.get(), "_Z1fIiEvPT_", 0, &kernel), GPUKERN_SUCCESS);
  EXPECT_EQ(gpukern_kernel_release(kernel), GPUKERN_SUCCESS);
}

TEST_F(KernelTest, CodeOfAnotherArchitectureIsRefused) {
  const Compiled program({.source = kIncrement, .architecture = "sm_75"});
  gpukern_device_info device{};
  device.struct_size = sizeof device;
  ASSERT_EQ(gpukern_device_query(0, &device), GPUKERN_SUCCESS);
  if (device.compute_capability_major == 7) GTEST_SKIP() << "the device runs it";
  gpukern_kernel* kernel = nullptr;
  expect_error(gpukern_program_kernel(program.get(), "increment", 0, &kernel), GPUKERN_VALUE_ERROR,
               "program_kernel: the program was compiled for sm_75, which ");
}

TEST_F(KernelTest, ArgumentsAreCheckedBeforeTheLaunch) {
  const KernelHandle kernel(here(kAdd), "add");
  const DeviceMemory<float> x(kCount);
  x.write(std::vector<float>(kCount, 1));
  float* const p = x.data();
  const gpukern_launch shape = shape_of(4, 256);
  const int n = kCount;
  expect_error(kernel.launch(shape, nullptr), GPUKERN_TYPE_ERROR,
               "kernel_launch: the kernel takes 4 arguments, got 0");
  expect_error(kernel.launch(shape, nullptr, p, 2.0, n), GPUKERN_TYPE_ERROR,
               "kernel_launch: the kernel takes 4 arguments, got 3");
  expect_error(kernel.launch(shape, nullptr, p, 2.0, n, char{3}, 1), GPUKERN_TYPE_ERROR,
               "kernel_launch: the kernel takes 4 arguments, got 5");
  expect_error(kernel.launch(shape, nullptr, p, 2.0F, n, char{3}), GPUKERN_TYPE_ERROR,
               "kernel_launch: argument 1 must have 8 bytes, got 4");
  expect_error(kernel.launch(shape, nullptr, p, 2.0, std::int64_t{n}, char{3}), GPUKERN_TYPE_ERROR,
               "kernel_launch: argument 2 must have 4 bytes, got 8");
  expect_error(kernel.launch(shape, nullptr, p, 2.0, n, 3), GPUKERN_TYPE_ERROR,
               "kernel_launch: argument 3 must have 1 bytes, got 4");
  const std::size_t bytes[] = {8, 8, 4, 1};
  const void* const address = static_cast<const void*>(&p);
  const void* const values[] = {address, nullptr, &n, &n};
  expect_error(gpukern_kernel_launch(kernel, &shape, nullptr, bytes, 4, nullptr),
               GPUKERN_VALUE_ERROR, "kernel_launch: arguments and argument_bytes must not be NULL");
  expect_error(gpukern_kernel_launch(kernel, &shape, values, bytes, 4, nullptr),
               GPUKERN_VALUE_ERROR, "kernel_launch: arguments[1] must not be NULL");
  const char c = 3;
  const double a = 2;
  const void* const whole[] = {address, &a, &n, &c};
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = kCpu;
  expect_error(gpukern_kernel_launch(kernel, &shape, whole, bytes, 4, &exec), GPUKERN_VALUE_ERROR,
               "kernel_launch: device must be the kernel's, cuda:0, got cpu");
  EXPECT_EQ(x.read(), std::vector<float>(kCount, 1));
  EXPECT_EQ(kernel.launch(shape, nullptr, p, 2.0, n, char{3}), GPUKERN_SUCCESS);
  EXPECT_EQ(x.read(), std::vector<float>(kCount, 6));
}

TEST_F(KernelTest, ShapesAreCheckedBeforeTheLaunch) {
  const KernelHandle kernel(here(kIncrement), "increment");
  const DeviceMemory<int> x(kCount);
  x.write(std::vector<int>(kCount, 1));
  struct Case {
    gpukern_launch shape;
    const char* words;
  };
  const Case cases[] = {
      {{sizeof(gpukern_launch), {1, 65536, 1}, {1, 1, 1}, 0, 0, 0}, "grid.y must be at most 65535"},
      {{sizeof(gpukern_launch), {1, 1, 65536}, {1, 1, 1}, 0, 0, 0}, "grid.z must be at most 65535"},
      {{sizeof(gpukern_launch), {0x80000000U, 1, 1}, {1, 1, 1}, 0, 0, 0},
       "grid.x must be at most 21"},
      {{sizeof(gpukern_launch), {1, 1, 1}, {0, 1, 1}, 0, 0, 0},
       "block.x must be in [1, 1024], got 0"},
      {{sizeof(gpukern_launch), {1, 1, 1}, {1025, 1, 1}, 0, 0, 0}, "block.x must be in [1, 1024]"},
      {{sizeof(gpukern_launch), {1, 1, 1}, {1, 1, 65}, 0, 0, 0},
       "block.z must be in [1, 64], got 65"},
      {{sizeof(gpukern_launch), {1, 1, 1}, {64, 32, 1}, 0, 0, 0},
       "block must have at most 1024 thr"},
      {{sizeof(gpukern_launch), {1, 1, 1}, {1, 1, 1}, 1 << 20, 0, 0},
       "shared_bytes must be at most"},
      {{8, {1, 1, 1}, {1, 1, 1}, 0, 0, 0}, "launch must have struct_size = "},
  };
  for (const Case& each : cases)
    expect_error(kernel.launch(each.shape, nullptr, x.data(), int{kCount}), GPUKERN_VALUE_ERROR,
                 std::string("kernel_launch: ") + each.words);
  EXPECT_EQ(kernel.launch(shape_of(0, 32), nullptr, x.data(), int{kCount}), GPUKERN_SUCCESS);
  EXPECT_EQ(x.read(), std::vector<int>(kCount, 1));
}

TEST_F(KernelTest, SharedMemoryAboveTheDefaultNeedsNoCall) {
  const KernelHandle kernel(here("extern \"C\" __global__ void f(int* out, int words) {\n"
                                 "  extern __shared__ int room[];\n"
                                 "  __shared__ int declared[64];\n"
                                 "  declared[threadIdx.x] = threadIdx.x;\n"
                                 "  for (int i = threadIdx.x; i < words; i += 64) room[i] = i;\n"
                                 "  __syncthreads();\n"
                                 "  *out = room[words - 1] + declared[63];\n"
                                 "}\n"),
                            "f");
  gpukern_kernel_info info{};
  info.struct_size = sizeof info;
  ASSERT_EQ(gpukern_kernel_query(kernel, &info), GPUKERN_SUCCESS);
  EXPECT_EQ(info.static_shared_bytes, 256U);
  const DeviceMemory<int> out(1);
  for (const std::uint64_t bytes :
       {std::uint64_t{64}, std::uint64_t{48} << 10, info.max_dynamic_shared_bytes}) {
    const int words = static_cast<int>(bytes / 4);
    EXPECT_EQ(kernel.launch(shape_of(1, 64, bytes), nullptr, out.data(), words), GPUKERN_SUCCESS)
        << gpukern_last_error();
    EXPECT_EQ(out.read()[0], words - 1 + 63);
  }
}

TEST_F(KernelTest, CooperativeGridsAreBounded) {
  const KernelHandle kernel(here(kIncrement), "increment");
  const DeviceMemory<int> x(kCount);
  x.write(std::vector<int>(kCount, 1));
  gpukern_launch shape = shape_of(4, 256);
  shape.cooperative = 1;
  EXPECT_EQ(kernel.launch(shape, nullptr, x.data(), int{kCount}), GPUKERN_SUCCESS)
      << gpukern_last_error();
  EXPECT_EQ(x.read(), std::vector<int>(kCount, 2));
  shape.programmatic_launch = 1;
  expect_error(kernel.launch(shape, nullptr, x.data(), int{kCount}), GPUKERN_VALUE_ERROR,
               "kernel_launch: programmatic_launch must be 0 if cooperative is set");
  shape.programmatic_launch = 0;
  shape.grid[0] = 1 << 20;
  expect_error(
      kernel.launch(shape, nullptr, x.data(), int{kCount}), GPUKERN_VALUE_ERROR,
      "kernel_launch: all blocks of a cooperative grid must fit on the device at the same time");
  EXPECT_EQ(x.read(), std::vector<int>(kCount, 2));
}

TEST_F(KernelTest, LaunchesAreCapturedIntoGraphs) {
  const StreamHandle stream;
  const DeviceMemory<int> x(kCount);
  x.write(std::vector<int>(kCount, 0));
  std::optional<KernelHandle> kernel(std::in_place, here(kIncrement), "increment");
  cuda("cuCtxSynchronize");
  stream.begin_capture();
  EXPECT_EQ(kernel->launch(shape_of(4, 256), stream, x.data(), int{kCount}), GPUKERN_SUCCESS)
      << gpukern_last_error();
  expect_error(kernel->launch(shape_of(4, 256), stream, x.data()), GPUKERN_TYPE_ERROR,
               "kernel_launch: ");
  const Graph graph(stream);
  EXPECT_EQ(graph.nodes(), 1U);
  // The graph keeps the code, although the program has been released.
  kernel.reset();
  EXPECT_EQ(gpukern_cache_clear(), GPUKERN_SUCCESS);
  for (int round = 0; round < 3; ++round) graph.launch(stream);
  stream.synchronize();
  EXPECT_EQ(x.read(), std::vector<int>(kCount, 3));
}

TEST_F(KernelTest, TheBlockedLegacyStreamIsRefusedAndTheCaptureContinues) {
  const KernelHandle kernel(here(kIncrement), "increment");
  const DeviceMemory<int> x(kCount);
  cuda("cuCtxSynchronize");
  const StreamHandle blocking(kBlocking);
  blocking.begin_capture(kThreadLocal);
  expect_error(kernel.launch(shape_of(4, 256), nullptr, x.data(), int{kCount}), GPUKERN_VALUE_ERROR,
               "the legacy default stream takes no work");
  EXPECT_EQ(kernel.launch(shape_of(4, 256), blocking, x.data(), int{kCount}), GPUKERN_SUCCESS);
  const Graph graph(blocking);
}

TEST_F(KernelTest, ProgramsMayBeReleasedWhileTheirKernelsRun) {
  const StreamHandle stream;
  const DeviceMemory<int> x(1);
  x.write({0});
  cuda("cuCtxSynchronize");
  {
    const KernelHandle kernel(here("extern \"C\" __global__ void slow(int* x) {\n"
                                   "  const long long start = clock64();\n"
                                   "  while (clock64() - start < 200000000) {}\n"
                                   "  *x = 7;\n"
                                   "}\n"),
                              "slow");
    EXPECT_EQ(kernel.launch(shape_of(1, 1), stream, x.data()), GPUKERN_SUCCESS);
    EXPECT_EQ(gpukern_cache_clear(), GPUKERN_SUCCESS);
  }
  stream.synchronize();
  EXPECT_EQ(x.read()[0], 7);
}

TEST_F(KernelTest, ThreadsShareAKernel) {
  constexpr int kThreads = 8;
  constexpr int kLaunches = 200;
  const KernelHandle kernel(here("extern \"C\" __global__ void f(int* x) { atomicAdd(x, 1); }"),
                            "f");
  const DeviceMemory<int> x(1);
  x.write({0});
  cuda("cuCtxSynchronize");
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kLaunches; ++i)
        EXPECT_EQ(kernel.launch(shape_of(1, 1), nullptr, x.data()), GPUKERN_SUCCESS)
            << gpukern_last_error();
      EXPECT_EQ(current_context(), nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(x.read()[0], kThreads * kLaunches);
}

/// Launches a kernel that loses the context, and exits with a status that reports it.
[[noreturn]] void lose_context(const char* body) {
  const Description description =
      here(std::string("extern \"C\" __global__ void f(int* x) {\n") + body + "\n}\n");
  int exit_code = 1;
  {
    const KernelHandle kernel(description, "f");
    const DeviceMemory<int> memory(100);
    EXPECT_EQ(kernel.launch(shape_of(1, 1), nullptr, memory.data()), GPUKERN_SUCCESS);
    const gpukern_status status = gpukern_synchronize(kCuda, nullptr);
    std::fprintf(stderr, "%s\n", gpukern_last_error());
    const gpukern_status again = kernel.launch(shape_of(1, 1), nullptr, memory.data());
    if (status == GPUKERN_CONTEXT_LOST && again == GPUKERN_CONTEXT_LOST) exit_code = 0;
    // The memory's destructor, which expects success, must not run.
    gpukern_cache_clear();
    std::_Exit(exit_code);
  }
}

using KernelDeathTest = KernelTest;

TEST_F(KernelDeathTest, ALostContextIsReported) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  for (const char* body : {"__trap();", "*(volatile int*)16 = 1;", "x[1ll << 40] = 1;"})
    EXPECT_EXIT(lose_context(body), testing::ExitedWithCode(0), "the CUDA context is unusable")
        << body;
}

}  // namespace
}  // namespace gpukern_test
