// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/gather_hybrid.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "src/core/environment.hpp"
#include "src/core/make_once.hpp"
#include "src/runtime/host_function.hpp"
#include "src/runtime/pipeline_tuning.hpp"
#include "src/runtime/profiler_range.hpp"
#include "src/runtime/throughput_estimate.hpp"
#include "src/threading/thread_limit.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern {

int gathering_threads(int threads) { return std::max(1, threads - 1); }

double cpu_time(std::int64_t item, int threads) {
  const auto bytes = static_cast<double>(item);
  return std::max((kRowThread + bytes / kRowThreadBytes) / gathering_threads(threads),
                  bytes / kRowBytes);
}

std::int64_t split(const SplitFacts& facts) {
  if (facts.threads < 2 || facts.item > kHybridLongest) return 0;
  const auto items = static_cast<double>(facts.items);
  const auto item = static_cast<double>(facts.item);
  const double seldom_missed = std::max(1 / kInPlaceItems, item / kInPlaceBytes);
  const double in_place =
      facts.source_bytes > kTranslated ? std::max(1 / kFarItems, seldom_missed) : seldom_missed;
  const double on_cpu = facts.slowdown * cpu_time(facts.item, facts.threads);
  const double balanced = (items * in_place - kHybridLag) / (in_place + on_cpu);
  const double bounded = kHybridLoss * items * seldom_missed / on_cpu;
  const double by_cpu = std::min(balanced, bounded);
  const double together = std::max(
      {by_cpu * on_cpu + kHybridLag, (items - by_cpu) * in_place, items * item / kPinnedCopy});
  return kHybridGain * together < items * in_place ? static_cast<std::int64_t>(by_cpu) : 0;
}

namespace {

/// The throughput of the CPU, measured over the chunks of all calls: no fixed rate accounts for the
/// machine and its load. Each call is split by the measurements of earlier calls.
ThroughputEstimate& cpu_throughput() {
  static ThroughputEstimate estimate;
  return estimate;
}

/// $GPUKERN_CPU_SHARE.
std::optional<std::int64_t> percent_for_cpu() {
  const std::string_view text = environment().cpu_share;
  if (text.empty()) return std::nullopt;
  std::int64_t percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  require(
      error == std::errc() && end == text.data() + text.size() && percent >= 0 && percent <= 100,
      GPUKERN_VALUE_ERROR, "GPUKERN_CPU_SHARE must be a percentage from 0 to 100, got ", text);
  return percent;
}

/// Whether the items are contiguous in index and out, so that the call can be split at any item,
/// and small enough that a chunk holds many.
bool can_be_split(const GatherArgs& args) {
  return args.loop.ndim == 1 && args.loop.stride[kIndex][0] == args.index_type.bytes &&
         args.loop.stride[kOut][0] == args.item && !args.moves_both() &&
         args.item <= kHybridLongest;
}

GatherArgs items_of(const GatherArgs& args, std::int64_t begin, std::int64_t count) {
  Slice<4> slice;
  std::array<std::int64_t, 4> strides{};
  for (std::size_t k = 0; k < strides.size(); ++k) {
    strides[k] = args.loop.stride[k][0];
    slice.offset[k] = begin * strides[k];
  }
  slice.loop.push(count, strides);
  return part_of(args, slice);
}

/// The number of items in the next chunk, with `before` items in earlier ones and `left` remaining.
/// A chunk is about half of the smaller of the two, at least kHybridSmall bytes if that many
/// remain, and its indices and rows fit in a slot.
std::int64_t chunk_items(const GatherArgs& args, std::int64_t before, std::int64_t left) {
  const std::int64_t each = args.item + args.index_type.bytes;
  const std::int64_t wanted = std::min(before, left) / 2 * each;
  const std::int64_t bytes = std::clamp(wanted, kHybridSmall, kHybridSlot - kChunkAlignment);
  return std::min(left, bytes / each);
}

std::int64_t chunks_of(const GatherArgs& args, std::int64_t count) {
  std::int64_t chunks = 0;
  for (std::int64_t begin = 0; begin < count; ++chunks)
    begin += chunk_items(args, begin, count - begin);
  return chunks;
}

/// The host's work for one chunk.
struct ChunkWork {
  Device* host;
  GatherArgs args;
  std::shared_ptr<const std::vector<std::byte>> fill;  ///< holds the fill value of args
  bool last;                                           ///< of its call
};

/// Cannot fail: the arguments have been checked. If sharing the work among threads needs memory
/// that is not available, the items are gathered one by one, which allocates nothing.
void gather_chunk(Device& host, const GatherArgs& args, bool last) noexcept {
  const Range range("gather: chunk on the CPU");
  try {
    const cpu::ExternalSpinner waiting;  // a thread probably spins in a synchronization
    if (!last) cpu::expect_work(std::chrono::nanoseconds(kHybridPause));
    const auto start = std::chrono::steady_clock::now();
    host.run(args, nullptr);
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
    const std::int64_t items = args.loop.extent[0];
    if (items * args.item >= kHybridTelling)
      cpu_throughput().note(static_cast<double>(items) * cpu_time(args.item, cpu::thread_limit()),
                            taken.count());
  } catch (...) {
    for (std::int64_t k = 0; k < args.loop.extent[0]; ++k) host.run(items_of(args, k, 1), nullptr);
  }
}

void run_chunk(void* context) noexcept {
  const std::unique_ptr<ChunkWork> work(static_cast<ChunkWork*>(context));
  const HostWork time;
  if (time.in_time()) gather_chunk(*work->host, work->args, work->last);
}

/// A stream and the page-locked memory that only its work accesses. The stream order alone
/// separates successive chunks, including those of different calls.
struct Slot {
  Stream stream;
  std::byte* memory;
  Event done = nullptr;
};

/// The slots of one device, created by the first call that needs them and then cached.
class StagingRing {
 public:
  explicit StagingRing(Device& device) : device_(device) {}

  void run(const GatherArgs& args, const std::byte* host_source, std::int64_t by_cpu,
           Stream stream) {
    const std::scoped_lock lock(mutex_);
    if (!open() || !take_turn(stream)) return device_.run(args, stream);
    const std::int64_t in_place = args.loop.extent[0] - by_cpu;
    if (in_place > 0) device_.run(items_of(args, 0, in_place), stream);
    GatherArgs rest = items_of(args, in_place, by_cpu);
    rest.source = host_source;
    rest.in_place = false;
    gather_through_slots(rest, stream);
  }

 private:
  [[nodiscard]] bool is_open() const { return slots_.size() == kHybridSlots; }

  /// Returns false without page-locked memory. The allocation is not retried: each attempt would
  /// synchronize the device.
  bool open() {
    if (is_open() || refused_) return is_open();
    try {
      if (memory_ == nullptr)
        memory_ = static_cast<std::byte*>(device_.allocate_pinned(kHybridSlots * kHybridSlot));
      slots_.reserve(kHybridSlots);
      while (!is_open())
        slots_.push_back({device_.make_stream(),
                          memory_ + static_cast<std::int64_t>(slots_.size()) * kHybridSlot});
      HostWork::watch_exit();
    } catch (const Error& error) {
      if (error.status() != GPUKERN_MEMORY_ERROR) throw;
      refused_ = true;
    }
    return is_open();
  }

  /// Returns false if the call must not use the slots: if its stream is being captured, since a
  /// graph must not hold the slots, or if another stream's gather in them has not started, since
  /// this call must not wait for that stream.
  bool take_turn(Stream stream) {
    const std::uint64_t number = device_.number_of(stream);
    if (start_ != nullptr && number != last_ && !device_.is_done(start_)) return false;
    start_ = device_.record(stream, start_);
    last_ = number;
    return start_ != nullptr;
  }

  /// Gathers all items of `args` through the slots, after start_ and before later work on the
  /// stream.
  void gather_through_slots(const GatherArgs& args, Stream stream) {
    const std::int64_t count = args.loop.extent[0];
    Device& host = device_for({});  // may throw here, but not on CUDA's thread
    const auto fill = std::make_shared<const std::vector<std::byte>>(
        args.fill_value, args.fill_value + args.fill_size);
    std::vector<Slot*> used;
    used.reserve(kHybridSlots);
    std::exception_ptr failed;
    try {
      for (std::int64_t begin = 0, end = 0; begin < count; begin = end, ++turn_) {
        end += chunk_items(args, begin, count - begin);
        Slot& slot = slots_[turn_ % kHybridSlots];
        const Range range("gather: chunk for the CPU");
        if (used.size() < kHybridSlots) {
          device_.wait_event(slot.stream, start_);
          used.push_back(&slot);
        }
        enqueue(slot, {&host, items_of(args, begin, end - begin), fill, end == count});
      }
    } catch (...) {  // the enqueued work is waited for nevertheless
      failed = std::current_exception();
    }
    for (Slot* slot : used) {
      slot->done = device_.record(slot->stream, slot->done);
      device_.wait_event(stream, slot->done);
    }
    if (failed) std::rethrow_exception(failed);
  }

  void enqueue(const Slot& slot, const ChunkWork& chunk) {
    const GatherArgs& part = chunk.args;
    const std::int64_t count = part.loop.extent[0];
    const std::int64_t bytes = count * part.item;
    auto work = std::make_unique<ChunkWork>(chunk);
    std::byte* const index = slot.memory + aligned(bytes);
    work->args.index = index;
    work->args.out = slot.memory;
    if (part.fill_value != nullptr) work->args.fill_value = chunk.fill->data();
    device_.enqueue_download(index, part.index,
                             static_cast<std::size_t>(count * part.index_type.bytes), slot.stream);
    device_.enqueue_host(run_chunk, work.get(), slot.stream);
    [[maybe_unused]] const ChunkWork* const handed_over = work.release();  // run_chunk() deletes it
    device_.enqueue_upload(part.out, slot.memory, static_cast<std::size_t>(bytes), slot.stream);
  }

  Device& device_;
  std::mutex mutex_;
  std::byte* memory_ = nullptr;
  std::vector<Slot> slots_;
  std::size_t turn_ = 0;    ///< number of enqueued chunks, which use the slots in turn
  Event start_ = nullptr;   ///< the last caller's stream at the time of its call
  std::uint64_t last_ = 0;  ///< the number of that stream
  bool refused_ = false;
};

/// The ring of each device.
struct Rings {
  std::mutex mutex;
  std::deque<std::pair<Device*, std::unique_ptr<StagingRing>>> all;
};
constinit std::atomic<Rings*> all_rings{nullptr};

// Never destroyed: CUDA may be gone before static destructors run.
StagingRing& ring_of(Device& device) {
  auto& [mutex, all] = make_once(all_rings, [] { return std::make_unique<Rings>(); });
  const std::scoped_lock lock(mutex);
  const auto found = std::ranges::find(all, &device, [](const auto& one) { return one.first; });
  if (found != all.end()) return *found->second;
  return *all.emplace_back(&device, std::make_unique<StagingRing>(device)).second;
}

void explain_hybrid(const GatherCall& gather, const GatherArgs& args, std::int64_t by_cpu) {
  gpukern_explanation& explanation = *gather.call.explanation;
  const std::int64_t in_place = args.loop.extent[0] - by_cpu;
  gather.call.device.run(items_of(args, 0, in_place), gather.call.stream);
  explanation.threads = gathering_threads(cpu::thread_limit());
  explanation.chunks =
      static_cast<std::int32_t>(std::min<std::int64_t>(chunks_of(args, by_cpu), INT32_MAX));
  add_reported(explanation.bytes_from_device, by_cpu * args.index_type.bytes);
  add_reported(explanation.bytes_to_device, by_cpu * args.item);
}

std::int64_t split_by_throughput(SplitFacts facts, bool is_dry_run) {
  const std::int64_t by_model = split(facts);
  facts.slowdown = cpu_throughput().factor();
  const std::int64_t by_cpu = split(facts);
  if (by_cpu == 0 && by_model > 0 && !is_dry_run) cpu_throughput().forget();
  return by_cpu;
}

}  // namespace

std::int64_t items_for_cpu(const GatherCall& gather, const GatherArgs& args) {
  if (gather.host_source == nullptr || !can_be_split(args)) return 0;
  const std::int64_t items = args.loop.extent[0];
  const auto percent = percent_for_cpu();
  const std::int64_t by_cpu =
      percent ? items / 100 * *percent + items % 100 * *percent / 100
              : split_by_throughput({.source_bytes = gather.operands.source.bytes(),
                                     .items = items,
                                     .item = args.item,
                                     .threads = cpu::thread_limit()},
                                    gather.call.explanation != nullptr);
  const bool captured = by_cpu > 0 && gather.call.device.capture_of(gather.call.stream) != 0;
  return captured ? 0 : by_cpu;
}

void hybrid_gather(const GatherCall& gather, const GatherArgs& args, std::int64_t by_cpu) {
  const Call& call = gather.call;
  if (call.explanation != nullptr) return explain_hybrid(gather, args, by_cpu);
  ring_of(call.device).run(args, gather.host_source, by_cpu, call.stream);
}

}  // namespace gpukern
