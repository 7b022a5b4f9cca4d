// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Every operation on many threads at once, from the first call of the process on, while the thread
// limit changes and the process forks. GPUKERN_TEST_CALLS calls for each thread.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <latch>
#include <thread>

#include "gpukern/index_errors.h"
#include "gpukern/pipeline.h"
#include "gpukern/program.h"
#include "support.hpp"

namespace gpukern_test {
namespace {

constexpr int kThreads = 16;

int calls_per_thread() {
  const char* text = std::getenv("GPUKERN_TEST_CALLS");
  return text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : rounds(2000);
}

template <class T>
constexpr gpukern_dtype kDtype{};
template <>
constexpr gpukern_dtype kDtype<float>{GPUKERN_FLOAT, 32, 1};
template <>
constexpr gpukern_dtype kDtype<std::int64_t>{GPUKERN_INT, 64, 1};
template <>
constexpr gpukern_dtype kDtype<std::uint8_t>{GPUKERN_UINT, 8, 1};

/// A vector that calls take.
template <class T>
struct Vector : std::vector<T> {
  using std::vector<T>::vector;
  operator const gpukern_tensor*() {  // NOLINT(google-explicit-constructor)
    count_ = static_cast<std::int64_t>(this->size());
    tensor_ = {this->data(), kCpu, 1, kDtype<T>, &count_, nullptr, 0};
    return &tensor_;
  }

 private:
  std::int64_t count_ = 0;
  gpukern_tensor tensor_{};
};

/// The calls of one thread, on arrays of one length.
class Caller {
 public:
  explicit Caller(int id) : random_(static_cast<std::uint64_t>(id)) { resize(100); }

  void step() {
    // Mostly short calls, which are the most at once; some are shared with helper threads.
    if (random_() % 256 == 0) resize(pick<std::int64_t>(random_, {1, 100, 5000, 40000}));
    static constexpr std::array kSteps{
        &Caller::gather,    &Caller::bad_index, &Caller::take,   &Caller::scatter,  &Caller::put,
        &Caller::bags,      &Caller::segment,   &Caller::select, &Caller::compress, &Caller::saxpy,
        &Caller::many,      &Caller::axpby,     &Caller::fma,    &Caller::copy,     &Caller::memory,
        &Caller::questions, &Caller::refused};
    (this->*kSteps[random_() % kSteps.size()])();
  }

 private:
  void resize(std::int64_t n) {
    n_ = static_cast<std::size_t>(n);
    x_.resize(n_);
    out_.resize(n_);
    index_.resize(n_);
    mask_.resize(n_);
    for (std::size_t i = 0; i < n_; ++i) {
      x_[i] = static_cast<float>(i % 8);
      index_[i] = static_cast<std::int64_t>((i * 7 + 3) % n_);
      mask_[i] = i % 3 == 0;
    }
  }

  static void expect_success(gpukern_status status) {
    ASSERT_EQ(status, GPUKERN_SUCCESS) << gpukern_last_error();
  }
  [[nodiscard]] float gathered(std::size_t i) const {
    return x_[static_cast<std::size_t>(index_[i])];
  }

  void gather() {
    const auto mode = static_cast<gpukern_index_mode>(random_() % 4);
    const gpukern_gather_options options = gather_options(mode);
    expect_success(gpukern_gather(x_, index_, 0, out_, &options, nullptr));
    for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(out_[i], gathered(i));
  }
  void bad_index() {
    const std::size_t at = random_() % n_;
    const auto before = std::exchange(index_[at], static_cast<std::int64_t>(n_ + 9));
    expect_error(gpukern_gather(x_, index_, 0, out_, nullptr, nullptr), GPUKERN_INDEX_ERROR,
                 "index " + std::to_string(n_ + 9) + " is out of bounds");
    index_[at] = before;
  }
  void take() {
    expect_success(gpukern_take_along_axis(x_, index_, 0, out_, nullptr, nullptr));
    for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(out_[i], gathered(i));
  }
  void scatter() {
    Vector<float> bins(8);
    Vector<std::int64_t> bin(n_);
    for (std::size_t i = 0; i < n_; ++i) bin[i] = static_cast<std::int64_t>(i % 8);
    gpukern_scatter_options options = GPUKERN_SCATTER_OPTIONS_INIT;
    options.reduce = GPUKERN_REDUCE_ADD;
    expect_success(gpukern_scatter(bins, bin, x_, 0, nullptr, &options, nullptr));
    for (std::size_t b = 0; b < 8; ++b) {
      const std::size_t sum = b * (n_ / 8 + (b < n_ % 8 ? 1 : 0));
      ASSERT_EQ(bins[b], static_cast<float>(sum));
    }
  }
  void put() {
    Vector<float> target(n_);
    expect_success(gpukern_put_along_axis(target, index_, x_, 0, nullptr, nullptr, nullptr));
    for (std::size_t i = 0; i < n_; ++i)
      ASSERT_EQ(target[static_cast<std::size_t>(index_[i])], x_[i]);
  }
  void bags() {
    const auto n = static_cast<std::int64_t>(n_);
    Vector<std::int64_t> offsets{0, n / 3, n};
    Vector<float> sums(2);
    expect_success(gpukern_gather_reduce(x_, index_, offsets, nullptr, 0, sums, &kSum, nullptr));
    float expected = 0;
    for (std::size_t i = 0; i < n_; ++i) expected += gathered(i);
    ASSERT_EQ(sums[0] + sums[1], expected);
  }
  void segment() {
    const auto n = static_cast<std::int64_t>(n_);
    Vector<std::int64_t> offsets{0, n / 2, n};
    Vector<float> sums(2);
    expect_success(gpukern_segment_reduce(x_, offsets, 0, sums, &kSum, nullptr));
    ASSERT_EQ(sums[0] + sums[1], std::accumulate(x_.begin(), x_.end(), 0.F));
  }
  void select() {
    std::int64_t count = 0;
    expect_success(gpukern_count_nonzero(mask_, &count, nullptr));
    ASSERT_EQ(count, static_cast<std::int64_t>((n_ + 2) / 3));
    Vector<std::int64_t> found(static_cast<std::size_t>(count));
    std::array<std::int64_t, 2> shape{1, count};
    const gpukern_tensor out{found.data(), kCpu, 2, kDtype<std::int64_t>, shape.data(), nullptr, 0};
    expect_success(gpukern_nonzero(mask_, &out, nullptr, nullptr));
    for (std::size_t k = 0; k < found.size(); ++k)
      ASSERT_EQ(found[k], static_cast<std::int64_t>(3 * k));
  }
  void compress() {
    Vector<float> selected((n_ + 2) / 3);
    expect_success(gpukern_compress(mask_, x_, 0, selected, nullptr, nullptr));
    for (std::size_t k = 0; k < selected.size(); ++k) ASSERT_EQ(selected[k], x_[3 * k]);
  }
  void saxpy() {
    const float two = 2;
    expect_success(gpukern_saxpy(&two, x_, x_, out_, nullptr));
    for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(out_[i], 3 * x_[i]);
  }
  void many() {
    const float two = 2;
    Vector<float> other(n_);
    const gpukern_tensor* const x[] = {x_, x_, x_};
    const gpukern_tensor* const out[] = {out_, other, other};
    expect_success(gpukern_saxpy_many(&two, x, x, out, 2, nullptr));
    for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(out_[i] + other[i], 6 * x_[i]);
    expect_success(gpukern_saxpy_many(&two, x, x, out, 3, nullptr));  // the outputs overlap
  }
  void axpby() {
    Vector<float> a(1);
    a[0] = 2;
    expect_success(gpukern_axpby(a, x_, x_, x_, out_, nullptr, nullptr));
    for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(out_[i], 2 * x_[i] + x_[i] * x_[i]);
  }
  void fma() {
    Vector<float> one(1);
    one[0] = 1;
    expect_success(gpukern_fma(x_, one, x_, out_, nullptr, nullptr));
    for (std::size_t i = 0; i < n_; ++i) ASSERT_EQ(out_[i], x_[i] + x_[i]);
  }
  void copy() {
    expect_success(gpukern_copy(x_, out_, nullptr));
    ASSERT_EQ(static_cast<std::vector<float>&>(out_), x_);
  }
  void memory() {
    void* data = nullptr;
    expect_success(gpukern_allocate(kCpu, 1 + random_() % 10000, nullptr, &data));
    expect_success(gpukern_synchronize(kCpu, nullptr));
    expect_success(gpukern_release(kCpu, data, nullptr));
  }
  void questions() {
    ASSERT_GE(gpukern_num_threads(), 1);
    gpukern_cuda_info cuda{};
    cuda.struct_size = sizeof cuda;
    expect_success(gpukern_cuda_query(&cuda));
    ASSERT_EQ(cuda.device_count, gpukern_device_count());
    gpukern_cache_info cache{};
    cache.struct_size = sizeof cache;
    if (random_() % 16 == 0) expect_success(gpukern_cache_query(&cache));
    expect_success(gpukern_reload_environment());
    gpukern_device device{};
    if (cuda.device_count == 0) expect_success(gpukern_pointer_device(&device, &device));
  }
  void refused() {
    const gpukern_tensor* const input = x_;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.device = kCpu;
    const auto step = [](void*, const gpukern_pipeline_chunk*) { return GPUKERN_SUCCESS; };
    ASSERT_EQ(gpukern_pipeline_run(&input, 1, out_, step, nullptr, &exec), GPUKERN_VALUE_ERROR);
    expect_error(gpukern_saxpy(nullptr, x_, x_, out_, nullptr), GPUKERN_VALUE_ERROR, "saxpy: a ");
    gpukern_program_desc description{};
    description.struct_size = 1;
    gpukern_program* program = nullptr;
    ASSERT_NE(gpukern_program_compile(&description, &program), GPUKERN_SUCCESS);
    gpukern_index_errors* errors = nullptr;
    ASSERT_NE(gpukern_index_errors_create(kCpu, &errors), GPUKERN_SUCCESS);
  }

  static constexpr gpukern_gather_reduce_options kSum = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  Random random_;
  std::size_t n_ = 0;
  Vector<float> x_;
  Vector<float> out_;
  Vector<std::int64_t> index_;
  Vector<std::uint8_t> mask_;
};

/// A child that computes; it must not wait for a thread that it does not have.
void expect_fork_to_compute() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    Caller caller(99);
    for (int call = 0; call < 50; ++call) caller.step();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(StressTest, AllOperationsOnAllThreads) {
  const int calls = calls_per_thread();
  std::latch ready(kThreads);
  std::atomic<int> left{kThreads};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int id = 0; id < kThreads; ++id)
    threads.emplace_back([&, id] {
      Caller caller(id);
      ready.arrive_and_wait();
      for (int call = 0; call < calls && !testing::Test::HasFatalFailure(); ++call) caller.step();
      --left;
    });
  ready.wait();
  int forks = 0;
  for (Random random(7); left.load() > 0;) {
    EXPECT_EQ(gpukern_set_num_threads(static_cast<std::int32_t>(random() % 9)), GPUKERN_SUCCESS);
// Sanitizers do not follow a fork() of several threads: their own locks may be held in the child.
#ifndef __SANITIZE_THREAD__
    if (!under_address_sanitizer() && forks < calls / 100) {
      expect_fork_to_compute();
      ++forks;
    }
#endif
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gpukern_set_num_threads(0), GPUKERN_SUCCESS);
  RecordProperty("calls", kThreads * calls);
  RecordProperty("forks", forks);
}

}  // namespace
}  // namespace gpukern_test
