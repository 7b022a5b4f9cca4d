// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Host arrays through the fake GPU, which runs everything as late as possible.

#include <thread>

#include "fake_gpu.hpp"
#include "gather_oracle.hpp"
#include "reports.hpp"
#include "saxpy_oracle.hpp"

namespace gpukern_test {
namespace {

const SaxpyType& kFloat = kSaxpyTypes[2];

/// Host memory, pinned on the fake GPU or not.
class HostFloats {
 public:
  HostFloats(std::int64_t count, bool pinned, int first = 0)
      : count_(count), device_{pinned ? GPUKERN_CUDA_HOST : GPUKERN_CPU, 0} {
    void* data = nullptr;
    EXPECT_EQ(gpukern_allocate(device_, static_cast<std::size_t>(count) * 4, nullptr, &data),
              GPUKERN_SUCCESS);
    data_ = static_cast<float*>(data);
    for (std::int64_t i = 0; i < count; ++i) data_[i] = static_cast<float>((i + first) % 65536);
  }
  HostFloats(const HostFloats&) = delete;
  HostFloats& operator=(const HostFloats&) = delete;
  ~HostFloats() { EXPECT_EQ(gpukern_release(device_, data_, nullptr), GPUKERN_SUCCESS); }

  [[nodiscard]] gpukern_tensor tensor() const {
    return {data_, kCpu, 1, kFloat.dtype, const_cast<std::int64_t*>(&count_), nullptr, 0};
  }
  [[nodiscard]] float operator[](std::int64_t i) const { return data_[i]; }

 private:
  std::int64_t count_;
  gpukern_device device_;
  float* data_ = nullptr;
};

gpukern_exec limited(std::size_t bytes) {
  gpukern_exec exec = GPUKERN_EXEC_INIT;
  exec.device = kCuda;
  exec.device_memory_limit = bytes;
  return exec;
}

gpukern_status saxpy(const HostFloats& x, const HostFloats& y, const HostFloats& out,
                     const gpukern_exec& exec) {
  const float a = 2;
  const gpukern_tensor xs = x.tensor();
  const gpukern_tensor ys = y.tensor();
  const gpukern_tensor to = out.tensor();
  return gpukern_saxpy(&a, &xs, &ys, &to, &exec);
}

TEST(PipelineTest, SaxpyStaysInsideItsLimit) {
  for (const std::int64_t count : {1, 100, 10000, 250007})
    for (const std::size_t limit : {2048U, 100000U, 1000000U})
      for (int pinned = 0; pinned < 8; ++pinned) {
        const HostFloats x(count, (pinned & 1) != 0);
        const HostFloats y(count, (pinned & 2) != 0, 7);
        const HostFloats out(count, (pinned & 4) != 0, 9);
        fake_gpu().take_peak_bytes();
        const std::size_t before = fake_gpu().launches();
        ASSERT_EQ(saxpy(x, y, out, limited(limit)), GPUKERN_SUCCESS) << gpukern_last_error();
        for (std::int64_t i = 0; i < count; ++i) ASSERT_EQ(out[i], 2 * x[i] + y[i]) << i;
        EXPECT_LE(fake_gpu().take_peak_bytes(), limit);
        EXPECT_GT(fake_gpu().launches(), before);
        EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
      }
}

TEST(PipelineTest, SaxpyMayWriteOverItsInputs) {
  for (const bool pinned : {false, true}) {
    const HostFloats x(100000, pinned);
    ASSERT_EQ(saxpy(x, x, x, limited(10000)), GPUKERN_SUCCESS) << gpukern_last_error();
    for (std::int64_t i = 0; i < 100000; ++i)
      ASSERT_EQ(x[i], 3 * static_cast<float>(i % 65536)) << i;
  }
}

TEST(PipelineTest, SaxpyTakesAnyLayout) {
  Random random(std::random_device{}());
  for (int round = 0; round < 300; ++round) {
    const SaxpyType& type = kSaxpyTypes[random() % std::size(kSaxpyTypes)];
    Shape shape(random() % 4);
    for (auto& size : shape) size = between(random, 1, 40);
    const auto array = [&](const auto& layouts) {
      return Array(Placement::CudaHost, type.dtype, shape, layouts[random() % std::size(layouts)]);
    };
    const Array x = array(kInputLayouts);
    const Array y = array(kInputLayouts);
    const Array out = array(kOutputLayouts);
    for (const Array* each : {&x, &y, &out}) fill_random(each->memory->host, random);
    Bytes a(16);
    fill_random(a, random);
    const EnvironmentVariable memory("GPUKERN_DEVICE_MEMORY",
                                     pick(random, {"1", "3000", "20K", "1M"}));
    expect_saxpy({type, a, x, y, out}, Placement::CudaHost);
  }
}

TEST(PipelineTest, GatherTakesAnyLayoutOnEveryPath) {
  Random random(std::random_device{}());
  for (int round = 0; round < rounds(1000); ++round) {
    Shape shape(1 + random() % 3);
    for (auto& size : shape) size = between(random, 1, 12);
    // With many indices the source is worth copying, with few it is not.
    Shape index_shape{between(random, 1, random() % 2 == 0 ? 2000 : 3)};
    if (random() % 3 == 0) index_shape.push_back(2);
    const auto axis = static_cast<std::int32_t>(random() % shape.size());
    const IndexType& type = kIndexTypes[random() % std::size(kIndexTypes)];
    const gpukern_dtype dtype = bytes_dtype(pick(random, {1, 2, 3, 4, 8, 16, 40}));
    const auto layout = [&](const auto& layouts) { return layouts[random() % std::size(layouts)]; };
    Array source(Placement::CudaHost, dtype, shape, layout(kInputLayouts));
    Array index(Placement::CudaHost, type.dtype, index_shape, layout(kInputLayouts));
    Array out(Placement::CudaHost, dtype, gather_shape(shape, index_shape, axis),
              layout(kOutputLayouts));
    Array fill(Placement::Cpu, dtype,
               random() % 2 == 0 ? Shape{} : Shape(shape.begin() + axis + 1, shape.end()));
    for (const Array* each : {&source, &out, &fill}) fill_random(each->memory->host, random);
    const auto mode = static_cast<gpukern_index_mode>(random() % 4);
    const std::int64_t size = shape[static_cast<std::size_t>(axis)];
    const bool reach = mode != GPUKERN_INDEX_RAISE || random() % 8 == 0;
    fill_indices(index, random, size, reach ? size : 0);
    const EnvironmentVariable memory("GPUKERN_DEVICE_MEMORY",
                                     pick(random, {"1", "3000", "20K", "1M"}));
    expect_gather({source, index, axis, mode, out, mode == GPUKERN_INDEX_FILL ? &fill : nullptr},
                  Placement::CudaHost);
    EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
  }
}

/// A gather of floats on the host, with descending indices.
struct FloatGather {
  FloatGather(std::int64_t n, std::int64_t count, bool pinned)
      : source(n, pinned), index(static_cast<std::size_t>(count)), out(count, pinned, 5), size(n) {
    for (std::size_t i = 0; i < index.size(); ++i) index[i] = -1 - static_cast<std::int64_t>(i) % n;
  }
  gpukern_status run(const gpukern_exec& exec, gpukern_index_mode mode = GPUKERN_INDEX_RAISE) {
    auto count = static_cast<std::int64_t>(index.size());
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor at{index.data(), kCpu, 1, {GPUKERN_INT, 64, 1}, &count, nullptr, 0};
    const gpukern_tensor to = out.tensor();
    return call_gather(&from, &at, 0, &to, gather_options(mode), &exec);
  }
  void expect_result() const {
    for (std::size_t i = 0; i < index.size(); ++i)
      ASSERT_EQ(out[static_cast<std::int64_t>(i)], source[size + index[i]]) << i;
  }
  HostFloats source;
  std::vector<std::int64_t> index;
  HostFloats out;
  std::int64_t size;
};

/// With many threads, all of these are gathered on the CPU.
struct TwoThreads {
  TwoThreads() { gpukern_set_num_threads(2); }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;
  ~TwoThreads() { gpukern_set_num_threads(0); }
};

TEST(PipelineTest, GatherDoesNotCopyASourceThatItBarelyReads) {
  const TwoThreads threads;
  constexpr std::size_t kLimit = 1 << 20;
  for (const bool pinned : {false, true}) {
    for (const auto& [n, count] : {std::pair(3000000, 30000), {1000, 300000}, {100000, 300000}}) {
      FloatGather call(n, count, pinned);
      fake_gpu().take_peak_bytes();
      const std::size_t before = fake_gpu().launches();
      ASSERT_EQ(call.run(limited(kLimit)), GPUKERN_SUCCESS) << gpukern_last_error();
      call.expect_result();
      EXPECT_LE(fake_gpu().take_peak_bytes(), kLimit);
      if (pinned || n <= 100000) {
        EXPECT_GT(fake_gpu().launches(), before);
      }
    }
  }
}

TEST(PipelineTest, ABadIndexLeavesOutUnchanged) {
  FloatGather call(1000, 100000, false);
  call.index[77777] = 1000;
  expect_error(call.run(limited(100000)), GPUKERN_INDEX_ERROR, "index 1000 is out of bounds");
  for (std::int64_t i = 0; i < 100000; ++i) ASSERT_EQ(call.out[i], (i + 5) % 65536);
}

TEST(PipelineTest, ReportsAndStopsBetweenChunks) {
  const TwoThreads threads;
  for (std::size_t stops_after = 1; stops_after < 15; ++stops_after) {
    for (const bool pinned : {false, true}) {
      Reports reports;
      reports.stops_after = stops_after;
      gpukern_exec exec = limited(100000);
      reports.listen_to(exec);
      const HostFloats x(200000, pinned);
      const HostFloats out(200000, pinned);
      expect_error(saxpy(x, x, out, exec), GPUKERN_CANCELLED, "saxpy: stopped by the progress");
      EXPECT_EQ(reports.done.size(), stops_after);
      EXPECT_EQ(reports.total, 800000U);
      EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
      // A copied source, or one that is read in place.
      FloatGather gather(pinned && stops_after % 2 != 0 ? 300000 : 1000, 200000, pinned);
      reports.done.clear();
      expect_error(gather.run(exec), GPUKERN_CANCELLED, "gather: stopped by the progress callback");
      EXPECT_EQ(fake_gpu().bytes_in_use(), 0U);
    }
  }
}

TEST(PipelineTest, ReportsUntilCompletion) {
  for (const bool pinned : {false, true}) {
    gpukern_exec exec = limited(100000);
    const HostFloats x(200000, pinned);
    const HostFloats out(200000, pinned);
    Reports reports;
    reports.listen_to(exec);
    EXPECT_EQ(saxpy(x, x, out, exec), GPUKERN_SUCCESS) << gpukern_last_error();
    reports.expect_whole();
    for (const std::int64_t n : {1000, 300000}) {
      FloatGather gather(n, 200000, pinned);
      Reports of_gather;
      of_gather.listen_to(exec);
      EXPECT_EQ(gather.run(exec), GPUKERN_SUCCESS) << gpukern_last_error();
      of_gather.expect_whole();
      gather.expect_result();
    }
  }
}

TEST(PipelineTest, ManyThreads) {
  std::vector<std::thread> callers;
  callers.reserve(6);
  for (int caller = 0; caller < 6; ++caller) {
    callers.emplace_back([caller] {
      for (int round = 0; round < 10; ++round) {
        const HostFloats x(30000 + caller, round % 2 == 0, caller);
        const HostFloats out(30000 + caller, round % 3 == 0);
        ASSERT_EQ(saxpy(x, x, out, limited(20000)), GPUKERN_SUCCESS) << gpukern_last_error();
        for (std::int64_t i = 0; i < 30000 + caller; ++i) ASSERT_EQ(out[i], 3 * x[i]) << i;
        FloatGather gather(500, 20000, round % 2 == 0);
        ASSERT_EQ(gather.run(limited(20000)), GPUKERN_SUCCESS) << gpukern_last_error();
        gather.expect_result();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST(PinnedSourceTest, APinnedSourceIsReadInPlace) {
  const HostFloats source(50000, true);
  Array index(Placement::Cuda, {GPUKERN_INT, 64, 1}, {3000});
  Array out(Placement::Cuda, kFloat.dtype, {3000});
  Random random(11);
  for (const gpukern_index_mode mode : {GPUKERN_INDEX_RAISE, GPUKERN_INDEX_CLIP}) {
    fill_indices(index, random, 50000);
    index.memory->commit();
    const gpukern_tensor from = source.tensor();
    const gpukern_tensor at = index.tensor();
    const gpukern_tensor to = out.tensor();
    const std::size_t before = fake_gpu().waiting();
    ASSERT_EQ(call_gather(&from, &at, 0, &to, gather_options(mode), nullptr), GPUKERN_SUCCESS)
        << gpukern_last_error();
    EXPECT_GT(fake_gpu().waiting(), before);  // only enqueued
    out.memory->fetch();
    for (std::int64_t i = 0; i < 3000; ++i) {
      auto position = load<std::int64_t>(index.memory->host, kGuard + i * 8);
      if (position < 0) position = mode == GPUKERN_INDEX_RAISE ? position + 50000 : 0;
      ASSERT_EQ(load<float>(out.memory->host, kGuard + i * 4), source[position]) << i;
    }
  }
}

TEST(PinnedSourceTest, APageableSourceIsAnErrorThatNamesTheAlternative) {
  const HostFloats source(5000, false);
  const Array index(Placement::Cuda, {GPUKERN_INT, 64, 1}, {30});
  const Array out(Placement::Cuda, kFloat.dtype, {30});
  const gpukern_tensor from = source.tensor();
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor to = out.tensor();
  expect_error(call_gather(&from, &at, 0, &to, gather_options(GPUKERN_INDEX_CLIP), nullptr),
               GPUKERN_VALUE_ERROR, "gather: source must be on cuda:0 like index, or in page");
  EXPECT_NE(std::string(gpukern_last_error()).find("pinned_empty"), std::string::npos);
}

TEST(PinnedSourceTest, AViewThatEndsAfterPinnedMemoryIsRefused) {
  const HostFloats source(5000, true);
  const Array index(Placement::Cuda, {GPUKERN_INT, 64, 1}, {30});
  const Array out(Placement::Cuda, kFloat.dtype, {30});
  gpukern_tensor from = source.tensor();
  std::int64_t size = 5001;
  from.shape = &size;
  const gpukern_tensor at = index.tensor();
  const gpukern_tensor to = out.tensor();
  expect_error(call_gather(&from, &at, 0, &to, gather_options(GPUKERN_INDEX_CLIP), nullptr),
               GPUKERN_VALUE_ERROR, "gather: source must be on cuda:0 like index, or in page");
}

}  // namespace
}  // namespace gpukern_test
