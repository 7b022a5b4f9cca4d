// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy by hand, as main.py does it: a source string, a program, a kernel, device buffers, copies
// on a stream.
#include <gpukern/program.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

constexpr char kSaxpy[] = R"(
extern "C" __global__ void saxpy(float a, float *x, float *y, float *out, size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
}
)";
constexpr unsigned kBlocks = 32768;
constexpr unsigned kThreads = 512;
constexpr std::size_t kSize = std::size_t{kBlocks} * kThreads;
constexpr int kLaunches = 20;
constexpr gpukern_device kGpu{GPUKERN_CUDA, 0};

void check(gpukern_status status) {
  if (status != GPUKERN_SUCCESS) throw std::runtime_error(gpukern_last_error());
}

// CUDA's handle of the thread's own stream.
gpukern_exec on_stream() {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  exec.stream = reinterpret_cast<void*>(std::uintptr_t{2});
  return exec;
}

// Memory of the GPU.
class Buffer {
 public:
  Buffer() { check(gpukern_allocate(kGpu, kSize * sizeof(float), &exec_, &data_)); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { gpukern_release(kGpu, data_, &exec_); }

  void read(std::vector<float>& host) { check(gpukern_copy(&on_host(host), &here(), &exec_)); }
  void write(std::vector<float>& host) { check(gpukern_copy(&here(), &on_host(host), &exec_)); }
  [[nodiscard]] void* const* address() const { return &data_; }

 private:
  const gpukern_tensor& here() { return describe(here_, kGpu, data_); }
  const gpukern_tensor& on_host(std::vector<float>& host) {
    return describe(host_, {GPUKERN_CPU, 0}, host.data());
  }
  const gpukern_tensor& describe(gpukern_tensor& tensor, gpukern_device device, void* data) {
    tensor = {data, device, 1, {GPUKERN_FLOAT, 32, 1}, &shape_, nullptr, 0};
    return tensor;
  }

  gpukern_exec exec_ = on_stream();
  std::int64_t shape_ = kSize;
  gpukern_tensor here_{};
  gpukern_tensor host_{};
  void* data_ = nullptr;
};

class Timer {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void run() {
  const float a = 2;
  std::vector<float> x(kSize);
  std::vector<float> y(kSize, 1);
  std::vector<float> out(kSize);
  std::iota(x.begin(), x.end(), 0.0F);

  const Timer application;
  std::int32_t count = 0;
  check(gpukern_device_count(&count));
  if (count == 0) {
    std::printf("skipped: a kernel that runs needs a GPU\n");
    return;
  }
  const char* const options[] = {"--fmad=false"};
  gpukern_program_desc desc = GPUKERN_PROGRAM_DESC_INIT;
  desc.source = kSaxpy;
  desc.name = "saxpy.cu";
  desc.options = options;
  desc.option_count = 1;
  gpukern_program* program = nullptr;
  gpukern_kernel* kernel = nullptr;
  check(gpukern_program_compile(&desc, &program));
  check(gpukern_program_kernel(program, "saxpy", 0, &kernel));
  double seconds = 0;
  double launch_seconds = 0;
  {
    Buffer d_x;
    d_x.read(x);
    Buffer d_y;
    d_y.read(y);
    Buffer d_out;
    d_out.read(out);
    gpukern_launch shape = GPUKERN_LAUNCH_INIT;
    shape.grid[0] = kBlocks;
    shape.block[0] = kThreads;
    const gpukern_exec exec = on_stream();
    const std::size_t n = kSize;
    const void* const arguments[] = {&a, d_x.address(), d_y.address(), d_out.address(), &n};
    const std::size_t sizes[] = {sizeof a, sizeof(void*), sizeof(void*), sizeof(void*), sizeof n};
    check(gpukern_kernel_launch(kernel, &shape, arguments, sizes, 5, &exec));
    d_out.write(out);  // waits
    seconds = application.seconds();

    // Once more, for the time of the kernel alone.
    const Timer looped;
    for (int i = 0; i < kLaunches; ++i) {
      check(gpukern_kernel_launch(kernel, &shape, arguments, sizes, 5, &exec));
    }
    d_out.write(out);
    launch_seconds = looped.seconds();
    const Timer copied;
    d_out.write(out);
    launch_seconds = (launch_seconds - copied.seconds()) / kLaunches;
  }
  check(gpukern_kernel_release(kernel));
  check(gpukern_program_release(program));

  for (std::size_t i = 0; i < kSize; ++i) {
    const float expected = (a * x[i]) + y[i];
    if (std::abs(out[i] - expected) > 1e-5F * std::abs(expected)) {
      throw std::runtime_error("saxpy: wrong");
    }
  }
  std::printf("GPU 0, C++:\n  application %.2f ms, kernel %.1f us: right\n", 1e3 * seconds,
              1e6 * launch_seconds);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
