// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A fake GPU: it computes on the CPU, but as late as its streams and events allow. A missing wait,
// or memory that is reused too early, thus gives wrong results on any machine. Several devices have
// separate streams, and access each other's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>

#include "src/runtime/device.hpp"

namespace gpukern_test {

class FakeGpu final : public gpukern::Device {
 public:
  using Stream = gpukern::Stream;
  using Event = gpukern::Event;

  void run(const gpukern::Operation& operation, Stream stream) override;
  gpukern::Strategy strategy(const gpukern::Operation& operation) override;
  void check_indices(std::span<const gpukern::IndexArgs> args,
                     std::span<gpukern::IndexCheck> checks, Stream stream) override;
  std::int64_t count_nonzero(const gpukern::SelectArgs& args, Stream stream) override;
  void* allocate(std::size_t bytes, Stream stream) override;
  void release(void* data, Stream stream) override;
  void upload(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void download(void* to, const void* from, std::size_t bytes, Stream stream) override;
  void set(void* to, const void* element, std::size_t bytes, Stream stream) override;
  void synchronize(Stream stream) override;
  Stream make_stream() override;
  void release_stream(Stream stream) override;
  void* allocate_pinned(std::size_t bytes) override;
  void release_pinned(void* data) override;
  void pin(void* data, std::size_t bytes) override;
  static void unpin(void* data);
  void enqueue_upload(void* to, const void* pinned, std::size_t bytes, Stream stream) override;
  void enqueue_download(void* pinned, const void* from, std::size_t bytes, Stream stream) override;
  void enqueue_host(gpukern::HostFunction function, void* context, Stream stream) override;
  std::byte* pinned_view(const std::byte* begin, const std::byte* end) override;
  void wait(Stream stream, Stream other) override;
  Event record(Stream stream, Event event) override;
  void wait_event(Stream stream, Event event) override;
  bool is_done(Event event) override;
  void await_event(Event event) override;
  void release_event(Event event) override;

  std::uint64_t capture_of(Stream stream) override;

  gpukern_device device_of(const void* data);
  /// Memory of the device that others allocate.
  void add_memory(const std::byte* data, std::size_t bytes);
  void remove_memory(const std::byte* data);
  /// Pretends that all streams are being captured; their work runs nevertheless.
  void capture(bool captured) { captured_ = captured; }
  /// Lets one copy from or to pinned memory fail, after this number of them.
  void fail_copies_after(int copies) { copies_left_ = copies; }
  /// Limits the size of each allocation of pinned memory.
  void limit_pinned(std::size_t bytes) { most_pinned_ = bytes; }
  /// The maximum number of bytes in use at the same time since the last call.
  std::size_t take_peak_bytes();
  [[nodiscard]] std::size_t bytes_in_use();
  void begin_range(const char* name);
  void end_range();
  /// The number of ranges of each name that have begun since the last call.
  std::map<std::string, int> take_ranges();
  [[nodiscard]] int open_ranges() const { return open_ranges_; }
  /// The number of operations that were enqueued and have not run.
  [[nodiscard]] std::size_t waiting();
  [[nodiscard]] std::size_t launches() const { return launches_; }

 private:
  struct Queue;
  struct Step {
    std::function<void()> run;
    Queue* after = nullptr;  ///< runs first, up to `position`
    std::uint64_t position = 0;
  };
  struct Queue {
    std::deque<Step> steps;
    std::uint64_t done = 0;
    [[nodiscard]] std::uint64_t end() const { return done + steps.size(); }
  };
  struct Mark {
    Queue* queue = nullptr;
    std::uint64_t position = 0;
  };
  using Memory = std::map<const std::byte*, std::size_t>;

  Queue& queue_of(Stream stream);
  void enqueue(Stream stream, std::function<void()> run);
  void run_until(Queue& queue, std::uint64_t position);
  void require_reachable(const void* data);
  static Memory::const_iterator find(const Memory& memory, const void* data);

  // Of all devices.
  static inline std::recursive_mutex mutex;
  static inline Memory device_memory;
  static inline Memory pinned_memory;  ///< also that of callers
  static inline Memory callers_memory;

  std::map<Stream, Queue> queues_;
  std::size_t in_use_ = 0;
  std::size_t peak_ = 0;
  std::atomic<std::size_t> launches_{0};
  std::size_t most_pinned_ = std::size_t{1} << 40;
  std::map<std::string, int> ranges_;
  int open_ranges_ = 0;
  int copies_left_ = -1;
  bool captured_ = false;
};

/// A device; there are as many as $GPUKERN_FAKE_GPUS says, by default one.
FakeGpu& fake_gpu(int device = 0);

}  // namespace gpukern_test
