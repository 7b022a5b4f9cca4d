// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// saxpy by hand, as main.py does it: a source string, a program, a kernel, device buffers, copies
// on a stream.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <gpukern/program.hpp>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

constexpr char kSaxpy[] = R"(
extern "C" __global__ void saxpy(float a, float *x, float *y, float *out, size_t n) {
  size_t tid = blockIdx.x * blockDim.x + threadIdx.x;
  if (tid < n) out[tid] = a * x[tid] + y[tid];
}
)";
constexpr std::uint32_t kBlocks = 32768;
constexpr std::uint32_t kThreads = 512;
constexpr std::size_t kSize = std::size_t{kBlocks} * kThreads;
constexpr int kLaunches = 20;

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

// The steps of a program and their times.
class Laps {
 public:
  // Ends a step and begins the next.
  void end(const char* step) {
    const Clock::time_point now = Clock::now();
    steps_.emplace_back(step, now - last_);
    last_ = now;
  }
  [[nodiscard]] double total() const {
    double sum = 0;
    for (const auto& [step, time] : steps_) sum += time.count();
    return sum;
  }
  void print() const {
    const char* before = "  ms: ";
    for (const auto& [step, time] : steps_) {
      std::printf("%s%s %.2f", before, step, 1e3 * time.count());
      before = ", ";
    }
    std::printf("\n");
  }

 private:
  std::vector<std::pair<const char*, Seconds>> steps_;
  Clock::time_point last_ = Clock::now();
};

void check(float a, const std::vector<float>& x, const std::vector<float>& y,
           const std::vector<float>& out) {
  for (std::size_t i = 0; i < kSize; ++i) {
    const float expected = (a * x[i]) + y[i];
    const bool right = std::abs(out[i] - expected) <= 1e-5F * std::abs(expected);
    if (!right) throw std::runtime_error("saxpy: wrong");
  }
}

void run() {
  const float a = 2;
  std::vector<float> x(kSize);
  const std::vector<float> y(kSize, 1);
  std::vector<float> out(kSize, std::numeric_limits<float>::quiet_NaN());
  std::iota(x.begin(), x.end(), 0.0F);

  Laps laps;
  if (gpukern::device_count() == 0) {
    std::printf("skipped: a kernel that runs needs a GPU\n");
    return;
  }
  laps.end("start");
  const gpukern::Program program(kSaxpy, {.name = "saxpy.cu", .options = {"--fmad=false"}});
  laps.end("compile");
  const gpukern::Kernel saxpy = program.kernel("saxpy");
  laps.end("load");
  // On the default stream; any other stream works as well.
  gpukern::DeviceBuffer<float> d_x(kSize);
  gpukern::DeviceBuffer<float> d_y(kSize);
  gpukern::DeviceBuffer<float> d_out(kSize);
  laps.end("allocate");
  gpukern::copy_async(x, d_x);
  gpukern::copy_async(y, d_y);
  laps.end("copy");
  const gpukern::Launch shape{.grid = {kBlocks}, .block = {kThreads}};
  saxpy(shape, a, d_x, d_y, d_out, kSize);
  laps.end("launch");
  gpukern::copy_async(d_out, out);
  gpukern::synchronize(gpukern::cuda_device());
  laps.end("copy back");

  // Once more, for the time of the kernel alone.
  const Clock::time_point started = Clock::now();
  for (int i = 0; i < kLaunches; ++i) saxpy(shape, a, d_x, d_y, d_out, kSize);
  gpukern::synchronize(gpukern::cuda_device());
  const double launch = Seconds(Clock::now() - started).count() / kLaunches;

  check(a, x, y, out);
  std::printf("GPU 0, C++:\n  application %.2f ms, kernel %.1f us: right\n", 1e3 * laps.total(),
              1e6 * launch);
  laps.print();
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
