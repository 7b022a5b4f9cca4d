// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Many threads, each with a separate stream: results and memory use.

#include <fstream>
#include <thread>

#include "device_memory.hpp"

namespace gpukern_test {
namespace {

constexpr int kThreads = 16;
constexpr int kCalls = 10000;
constexpr int kCallsBetweenLooks = 500;
constexpr std::int64_t kCount = 500;

struct Usage {
  std::size_t device = 0;  ///< bytes of the GPU that are free
  std::size_t host = 0;    ///< bytes of this process that are resident
};

Usage usage() {
  Usage now;
  std::size_t total = 0;
  cuda("cuCtxSynchronize");
  cuda("cuMemGetInfo_v2", &now.device, &total);
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  now.host = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return now;
}

/// The arrays of one thread and their expected contents.
class Worker {
 public:
  explicit Worker(int id) : random_(static_cast<std::uint64_t>(id)) {
    stream_.synchronize();  // the memory is ready on all streams
    std::vector<int> positions(kCount);
    for (std::int64_t i = 0; i < kCount; ++i)
      positions[static_cast<std::size_t>(i)] = static_cast<int>(kCount - 1 - i);
    for (std::int64_t i = 0; i < kCount; ++i) expected_.push_back(static_cast<float>(i));
    index_.write(positions);
    x_.write(expected_);
    for (const auto* memory : {&sum_, &zero_}) memory->write(std::vector<float>(kCount, 0));
    cuda("cuStreamSynchronize", static_cast<void*>(nullptr));
  }

  void run(int calls) {
    for (int call = 1; call <= calls; ++call) {
      step();
      if (call % kCallsBetweenLooks == 0) look();
    }
  }

 private:
  void step() {
    switch (random_() % 4) {
      case 0:
        gather(x_, index_, x_, random_() % 8 == 0 ? GPUKERN_INDEX_RAISE : GPUKERN_INDEX_CLIP,
               stream_);
        std::reverse(expected_.begin(), expected_.end());
        break;
      case 1:
        saxpy(1, summand(random_() % 2 == 0), sum_, sum_, stream_);
        break;
      case 2: {
        const DeviceMemory<float> apart(kCount, stream_);
        gather(x_, index_, apart, GPUKERN_INDEX_WRAP, stream_);
        gather(apart, index_, x_, GPUKERN_INDEX_FILL, stream_);
        break;
      }
      default:
        EXPECT_EQ(gpukern_stream_wait(kCuda, stream_, side_), GPUKERN_SUCCESS);
        EXPECT_EQ(gpukern_stream_wait(kCuda, side_, stream_), GPUKERN_SUCCESS);
    }
  }

  const DeviceMemory<float>& summand(bool zero) {
    if (zero) return zero_;
    for (std::size_t i = 0; i < kCount; ++i) total_[i] += expected_[i];
    return x_;
  }

  void look() {
    stream_.synchronize();
    ASSERT_EQ(x_.read(), expected_);
    ASSERT_EQ(sum_.read(), total_);
    // Sums stay small enough to be exact.
    sum_.write(total_ = std::vector<float>(kCount, 0));
    cuda("cuStreamSynchronize", static_cast<void*>(nullptr));
  }

  Random random_;
  StreamHandle stream_;
  StreamHandle side_;
  DeviceMemory<float> x_{kCount, stream_};
  DeviceMemory<float> sum_{kCount, stream_};
  DeviceMemory<float> zero_{kCount, stream_};
  DeviceMemory<int> index_{kCount, stream_};
  std::vector<float> expected_;
  std::vector<float> total_ = std::vector<float>(kCount, 0);
};

void run_on_all_threads(int calls) {
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int id = 0; id < kThreads; ++id) {
    threads.emplace_back([=] {
      const OnDevice context;
      Worker(id).run(calls);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(StreamThreadsTest, ConcurrentCallsAreCorrectAndLeakNothing) {
  if (cuda_devices() == 0) GTEST_SKIP() << "no CUDA device";
  const OnDevice context;
  // Twice: memory that CUDA and the allocators retain is allocated in the first run.
  run_on_all_threads(kCallsBetweenLooks);
  const Usage before = usage();
  run_on_all_threads(kCalls);
  const Usage after = usage();
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  RecordProperty("device_bytes_lost",
                 std::to_string(static_cast<std::int64_t>(before.device - after.device)));
  RecordProperty("host_bytes_more",
                 std::to_string(static_cast<std::int64_t>(after.host - before.host)));
  EXPECT_LE(before.device, after.device + 64 * kMiB);
  EXPECT_LE(after.host, before.host + 64 * kMiB);
}

}  // namespace
}  // namespace gpukern_test
