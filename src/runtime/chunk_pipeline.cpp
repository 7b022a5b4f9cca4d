// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/chunk_pipeline.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "src/core/environment.hpp"
#include "src/core/make_once.hpp"
#include "src/runtime/attempt.hpp"
#include "src/runtime/profiler_range.hpp"
#include "src/threading/thread_limit.hpp"

namespace gpukern {
namespace {

/// Parses a number of bytes such as "2G".
std::int64_t parse_bytes(std::string_view text) {
  constexpr std::string_view kUnits = " KMGT";  // by their powers of 1024
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const std::size_t power = unit.empty() ? 0 : kUnits.find(unit);
  const bool known = power < kUnits.size() && unit.size() <= 1 && unit != " ";
  const int shift = known ? 10 * static_cast<int>(power) : 0;
  require(error == std::errc() && known && number > 0 &&
              number <= std::numeric_limits<std::int64_t>::max() >> shift,
          GPUKERN_VALUE_ERROR,
          "GPUKERN_DEVICE_MEMORY must be a number of bytes, such as 2147483648 or 2G, got ", text);
  return number << shift;
}

}  // namespace

std::int64_t device_memory_limit(const gpukern_exec* exec) {
  if (exec != nullptr && exec->device_memory_limit != 0)
    return static_cast<std::int64_t>(std::min<std::size_t>(exec->device_memory_limit, PTRDIFF_MAX));
  const std::string& text = environment().device_memory;
  return text.empty() ? GPUKERN_DEVICE_MEMORY_LIMIT : parse_bytes(text);
}

bool fits_memory(std::initializer_list<std::int64_t> sizes, std::int64_t limit) {
  return std::ranges::all_of(sizes, [&](std::int64_t size) { return (limit -= size) >= 0; });
}

std::int64_t chunk_bytes(std::int64_t limit, int operands, std::int64_t total, bool staged) {
  const std::int64_t share = limit / (kSlots * operands) / kChunkAlignment * kChunkAlignment;
  const std::int64_t wanted = std::max(kSmallChunk, aligned(total / kWantedChunks));
  const std::int64_t most = staged ? kStagedChunk : kPinnedChunk;
  const std::int64_t together = most * kFullOperands / operands / kChunkAlignment * kChunkAlignment;
  return std::max(kChunkAlignment, std::min({share, most, together, wanted}));
}

bool needs_staging(Device& device, const Tensor& tensor, const Layout& layout) {
  if (!layout.gapless()) return true;
  const Extent extent = extent_of(tensor);
  return device.pinned_view(extent.begin, extent.end) == nullptr;
}

Layout layout_of(const Tensor& tensor) {
  Layout layout{tensor.item, {}};
  for (int d = 0; d < tensor.ndim; ++d) layout.loop.push(tensor.shape[d], {tensor.stride[d]});
  layout.loop.coalesce();
  return layout;
}

namespace {

/// PipelineStreams that no call uses. More than kKept would occupy much pinned memory: concurrent
/// callers share one PCIe link.
class StreamCache {
  using Spare = std::pair<Device*, PipelineStreams>;

 public:
  PipelineStreams take(Device& device) {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(spare_, &device, &Spare::first);
    if (found == spare_.end()) return {};
    const PipelineStreams streams = found->second;
    spare_.erase(found);
    return streams;
  }
  /// Returns false if the cache is full.
  bool keep(Device& device, const PipelineStreams& streams) {
    const std::scoped_lock lock(mutex_);
    const auto kept = std::ranges::count(spare_, &device, &Spare::first);
    if (kept >= kKept) return false;
    spare_.emplace_back(&device, streams);
    return true;
  }

 private:
  static constexpr std::ptrdiff_t kKept = 2;
  std::mutex mutex_;
  std::vector<Spare> spare_;
};

constinit std::atomic<StreamCache*> all_stream_caches{nullptr};

// Never destroyed: CUDA may be gone before static destructors run.
StreamCache& stream_cache() {
  return make_once(all_stream_caches, [] { return std::make_unique<StreamCache>(); });
}

void destroy(Device& device, const PipelineStreams& streams) noexcept {
  for (Stream stream : {streams.in, streams.work, streams.out})
    if (stream != nullptr) attempt([&] { device.release_stream(stream); });
  if (streams.staging != nullptr) attempt([&] { device.release_pinned(streams.staging); });
}

void open(Device& device, PipelineStreams& streams) {
  for (Stream* stream : {&streams.in, &streams.work, &streams.out})
    if (*stream == nullptr) *stream = device.make_stream();
}

void grow_staging(Device& device, PipelineStreams& streams, std::int64_t bytes) {
  if (streams.staging_bytes >= bytes) return;
  if (streams.staging != nullptr) device.release_pinned(std::exchange(streams.staging, nullptr));
  streams.staging_bytes = 0;
  streams.staging =
      static_cast<std::byte*>(device.allocate_pinned(static_cast<std::size_t>(bytes)));
  streams.staging_bytes = bytes;
}

}  // namespace

Pipeline::Pipeline(Device& device, Stream stream, Progress& progress, const Operands& operands,
                   std::int64_t chunks)
    : device_(device), host_(device_for({})), progress_(progress) {
  require(device.capture_of(stream) == 0, GPUKERN_VALUE_ERROR,
          "host arrays are not allowed while a CUDA graph is captured: the call waits for their "
          "copies");
  chunks_.resize(static_cast<std::size_t>(std::min(kSlots, chunks)));
  streams_ = stream_cache().take(device);
  try {
    open(device, streams_);
    device.wait(streams_.in, stream);
    lay_out(operands);
  } catch (...) {
    drain();
    throw;
  }
}

void Pipeline::explain(gpukern_explanation& explanation, const Operands& operands,
                       std::int64_t chunks) {
  std::int64_t device_bytes = 0;
  bool staged = false;
  for (const Operand& operand : operands) {
    device_bytes += aligned(operand.device_bytes);
    staged = staged || operand.staging_bytes > 0;
  }
  explanation.chunks = static_cast<std::int32_t>(std::min<std::int64_t>(chunks, INT32_MAX));
  add_reported(explanation.bytes_allocated, std::min(kSlots, chunks) * device_bytes);
  if (staged) explanation.threads = cpu::thread_limit();
}

void Pipeline::lay_out(const Operands& operands) {
  std::int64_t device_bytes = 0;
  std::int64_t staging_bytes = 0;
  for (const Operand& operand : operands) {
    device_bytes += aligned(operand.device_bytes);
    staging_bytes += aligned(operand.staging_bytes);
  }
  const auto slots = static_cast<std::int64_t>(chunks_.size());
  grow_staging(device_, streams_, slots * staging_bytes);
  std::byte* device = hold(slots * device_bytes);
  std::byte* staging = streams_.staging;
  for (Chunk& chunk : chunks_) {
    chunk.pipeline_ = this;
    for (const Operand& operand : operands) {
      chunk.memory_.push_back({device, operand.staging_bytes > 0 ? staging : nullptr});
      device += aligned(operand.device_bytes);
      staging += aligned(operand.staging_bytes);
    }
  }
}

std::byte* Pipeline::hold(std::int64_t bytes) {
  memory_.emplace_back(device_, bytes, streams_.in);
  return static_cast<std::byte*>(memory_.back().data());
}

Pipeline::~Pipeline() { drain(); }

/// All transfers must complete before host memory returns to the caller, and device memory and
/// staging to the next call.
void Pipeline::drain() noexcept {
  bool in_flight = false;
  for (const Chunk& chunk : chunks_) in_flight = in_flight || chunk.in_flight_;
  if (in_flight)
    for (Stream stream : {streams_.in, streams_.work, streams_.out})
      attempt([&] { device_.synchronize(stream); });
  for (const Chunk& chunk : chunks_)
    for (Event event : {chunk.sent_, chunk.worked_, chunk.fetched_})
      if (event != nullptr) attempt([&] { device_.release_event(event); });
  chunks_.clear();
  memory_.clear();
  bool kept = false;
  attempt([&] { kept = stream_cache().keep(device_, streams_); });
  if (!kept) destroy(device_, streams_);
}

CopyArgs packing(const std::byte* from, const Layout& layout, std::byte* to) {
  CopyArgs args{.source = from, .destination = to, .item = layout.item, .loop = {}};
  args.loop.ndim = layout.loop.ndim;
  std::int64_t packed = layout.item;
  for (int d = layout.loop.ndim - 1; d >= 0; --d) {
    args.loop.extent[d] = layout.loop.extent[d];
    args.loop.stride[0][d] = layout.loop.stride[0][d];
    args.loop.stride[1][d] = packed;
    packed *= layout.loop.extent[d];
  }
  return args;
}

CopyArgs unpacking(const std::byte* from, std::byte* to, const Layout& layout) {
  CopyArgs args = packing(to, layout, nullptr);
  args.source = from;
  args.destination = to;
  for (int d = 0; d < args.loop.ndim; ++d)
    std::swap(args.loop.stride[0][d], args.loop.stride[1][d]);
  return args;
}

void Pipeline::Chunk::send(int operand, const std::byte* from, const Layout& layout,
                           std::byte* to) {
  if (std::byte* const staging = memory_of(operand).staging; staging != nullptr) {
    pipeline_->host_.run(packing(from, layout, staging), nullptr);
    from = staging;
  }
  send_pinned(from, layout.bytes(), to);
}

void Pipeline::Chunk::send_pinned(const std::byte* from, std::int64_t bytes, std::byte* to) {
  in_flight_ = true;
  pipeline_->device_.enqueue_upload(to, from, static_cast<std::size_t>(bytes),
                                    pipeline_->streams_.in);
}

Stream Pipeline::Chunk::work() {
  const PipelineStreams& streams = pipeline_->streams_;
  in_flight_ = true;
  last_ = sent_ = pipeline_->device_.record(streams.in, sent_);
  pipeline_->device_.wait_event(streams.work, sent_);
  return streams.work;
}

void Pipeline::Chunk::fetch(int operand, const std::byte* from, std::byte* to,
                            const Layout& layout) {
  const PipelineStreams& streams = pipeline_->streams_;
  Device& device = pipeline_->device_;
  worked_ = device.record(streams.work, worked_);
  device.wait_event(streams.out, worked_);
  std::byte* const staging = memory_of(operand).staging;
  device.enqueue_download(staging != nullptr ? staging : to, from,
                          static_cast<std::size_t>(layout.bytes()), streams.out);
  last_ = fetched_ = device.record(streams.out, fetched_);
  done_bytes_ = layout.bytes();
  if (staging == nullptr) return;
  unpack_from_ = staging;
  unpack_to_ = to;
  unpack_layout_ = layout;
}

void Pipeline::upload(const std::byte* from, const Layout& layout, std::byte* to, int operand,
                      std::int64_t most_bytes) {
  const Slices<1> slices(layout.loop, std::max<std::int64_t>(1, most_bytes / layout.item));
  for (std::int64_t k = 0; k < slices.count(); ++k) {
    const Slice<1> slice = slices[k];
    const Layout part = layout_of(slice.loop, 0, layout.item);
    Chunk& chunk = next();
    const Range range("source: chunk");
    chunk.send(operand, from + slice.offset[0], part, to);
    chunk.last_ = chunk.sent_ = device_.record(streams_.in, chunk.sent_);
    chunk.done_bytes_ = part.bytes();
    to += part.bytes();
  }
}

Pipeline::Chunk& Pipeline::next() {
  Chunk& chunk = chunks_[turn_++ % chunks_.size()];
  retire(chunk);
  return chunk;
}

void Pipeline::finish() {
  // The oldest first.
  for (std::size_t k = 0; k < chunks_.size(); ++k) retire(chunks_[(turn_ + k) % chunks_.size()]);
}

void Pipeline::retire(Chunk& chunk) {
  if (!chunk.in_flight_) return;
  const Range range("wait for chunk");
  device_.await_event(chunk.last_);
  chunk.in_flight_ = false;
  if (chunk.unpack_to_ != nullptr) {
    host_.run(unpacking(chunk.unpack_from_, chunk.unpack_to_, chunk.unpack_layout_), nullptr);
    chunk.unpack_to_ = nullptr;
  }
  if (chunk.done_bytes_ > 0) progress_.add(std::exchange(chunk.done_bytes_, 0));
}

}  // namespace gpukern
