// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Runs operations on host arrays in chunks on a device: slices, staging, device memory, progress
// and dry runs. An operation describes its operands and computes a chunk.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "src/core/slices.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/chunk_pipeline.hpp"
#include "src/runtime/profiler_range.hpp"

namespace gpukern {

/// An operand of the loop that is transferred in chunks.
struct ChunkOperand {
  int number;            ///< in the loop
  const Tensor* tensor;  ///< in host memory
  bool once = false;     ///< dimensions with stride 0 are not repeated in the copy
  int shares = -1;       ///< for the output only: the input whose device memory it reuses
};

/// A slice of the loop in device memory. In a dry run, all addresses are NULL.
template <int Operands>
struct DeviceChunk {
  Loop<Operands> loop;                         ///< coalesced; the chunk's operands are packed
  std::array<std::byte*, Operands> data{};     ///< of the chunk's operands
  std::array<std::int64_t, Operands> bytes{};  ///< of the chunk's operands
  Slice<Operands> slice;                       ///< of the host's loop
  std::byte* whole = nullptr;                  ///< the operand that was copied as a whole
  Stream stream = nullptr;
};

template <int Operands>
class ChunkedCall {
 public:
  /// The last operand is the output. `whole`, if not NULL, is copied to the device before the first
  /// chunk.
  ChunkedCall(const Call& call, const char* range, const Loop<Operands>& loop,
              std::vector<ChunkOperand> operands, std::int64_t limit, const Tensor* whole = nullptr)
      : call_(call),
        range_(range),
        loop_(loop),
        operands_(std::move(operands)),
        whole_(whole),
        whole_layout_(whole != nullptr ? layout_of(*whole) : Layout{}),
        staged_(find_staged()),
        most_(most_bytes(limit)),
        slices_(loop_, std::max<std::int64_t>(1, most_ / bytes_per_position())) {}
  ChunkedCall(const ChunkedCall&) = delete;
  ChunkedCall& operator=(const ChunkedCall&) = delete;
  ~ChunkedCall() = default;

  /// Calls compute(chunk) for each chunk, which enqueues work on chunk.stream. Fills in the
  /// explanation instead if the call has one.
  template <class Compute>
  void run(Progress& progress, const Compute& compute) const {
    if (call_.explanation != nullptr) return explain(*call_.explanation, compute);
    Pipeline pipeline(call_.device, call_.stream, progress, memory(), chunks());
    std::byte* whole = nullptr;
    if (whole_ != nullptr) {
      whole = pipeline.hold(whole_layout_.bytes());
      pipeline.upload(whole_->data, whole_layout_, whole, static_cast<int>(operands_.size()),
                      whole_piece());
    }
    for (std::int64_t k = 0; k < slices_.count(); ++k)
      pass(pipeline.next(), slices_[k], whole, compute);
    pipeline.finish();
  }

 private:
  [[nodiscard]] const ChunkOperand& out() const { return operands_.back(); }
  [[nodiscard]] std::size_t input_count() const { return operands_.size() - 1; }

  [[nodiscard]] Layout layout(const Loop<Operands>& loop, const ChunkOperand& operand) const {
    return layout_of(loop, operand.number, operand.tensor->item, operand.once);
  }

  /// For each operand, and for `whole`.
  [[nodiscard]] std::vector<bool> find_staged() const {
    std::vector<bool> staged(operands_.size() + (whole_ != nullptr ? 1 : 0));
    for (std::size_t k = 0; k < operands_.size(); ++k)
      staged[k] = needs_staging(call_.device, *operands_[k].tensor, layout(loop_, operands_[k]));
    if (whole_ != nullptr) staged.back() = needs_staging(call_.device, *whole_, whole_layout_);
    return staged;
  }

  /// The number of operands with separate device memory.
  [[nodiscard]] int memories() const {
    return static_cast<int>(std::ranges::count(operands_, -1, &ChunkOperand::shares));
  }

  /// For the operand that needs the most.
  [[nodiscard]] std::int64_t bytes_per_position() const {
    std::int64_t most = 1;
    for (const ChunkOperand& operand : operands_) {
      std::int64_t repeats = 1;
      for (int d = loop_.ndim - 1; operand.once && d >= 0 && loop_.stride[operand.number][d] == 0;
           --d)
        repeats *= loop_.extent[d];
      most = std::max(most, (operand.tensor->item - 1) / repeats + 1);
    }
    return most;
  }

  [[nodiscard]] std::int64_t most_bytes(std::int64_t limit) const {
    const bool any_staged = std::ranges::find(staged_, true) != staged_.end();
    const std::int64_t each = bytes_per_position();
    // A loop over repeated operands may have any number of positions.
    const std::int64_t count =
        std::min(loop_.count(), std::numeric_limits<std::int64_t>::max() / each);
    return chunk_bytes(limit - whole_layout_.bytes(), memories(), count * each, any_staged);
  }

  [[nodiscard]] std::int64_t whole_piece() const { return std::max(most_, whole_layout_.item); }

  [[nodiscard]] std::int64_t chunks() const {
    return slices_.count() + (whole_ != nullptr ? whole_layout_.bytes() / whole_piece() + 1 : 0);
  }

  /// The device memory and staging memory of a chunk: no slice is larger than the first one.
  [[nodiscard]] Pipeline::Operands memory() const {
    const Slice<Operands> largest = slices_[0];
    Pipeline::Operands found;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const std::int64_t bytes = layout(largest.loop, operands_[k]).bytes();
      found.push_back({operands_[k].shares < 0 ? bytes : 0, staged_[k] ? bytes : 0});
    }
    if (whole_ != nullptr) found.push_back({0, staged_.back() ? whole_piece() : 0});
    return found;
  }

  /// The slice with the chunk's operands packed.
  [[nodiscard]] DeviceChunk<Operands> packed(const Slice<Operands>& slice) const {
    DeviceChunk<Operands> chunk;
    chunk.slice = slice;
    chunk.loop = slice.loop;
    for (const ChunkOperand& operand : operands_) {
      std::int64_t stride = operand.tensor->item;
      for (int d = slice.loop.ndim - 1; d >= 0; --d) {
        if (operand.once && slice.loop.stride[operand.number][d] == 0) continue;
        chunk.loop.stride[operand.number][d] = stride;
        stride *= slice.loop.extent[d];
      }
      chunk.bytes[static_cast<std::size_t>(operand.number)] = stride;
    }
    chunk.loop.coalesce();
    return chunk;
  }

  template <class Compute>
  void pass(Pipeline::Chunk& memory, const Slice<Operands>& slice, std::byte* whole,
            const Compute& compute) const {
    const Range range(range_);
    DeviceChunk<Operands> chunk = packed(slice);
    chunk.whole = whole;
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const ChunkOperand& operand = operands_[k];
      const auto number = static_cast<std::size_t>(operand.number);
      const auto own = operand.shares < 0 ? static_cast<int>(k) : operand.shares;
      chunk.data[number] = memory.memory(own);
      if (k < input_count())
        memory.send(static_cast<int>(k), operand.tensor->data + slice.offset[number],
                    layout(slice.loop, operand), chunk.data[number]);
    }
    chunk.stream = memory.work();
    compute(chunk);
    const auto number = static_cast<std::size_t>(out().number);
    memory.fetch(static_cast<int>(input_count()), chunk.data[number],
                 out().tensor->data + slice.offset[number], layout(slice.loop, out()));
  }

  template <class Compute>
  void explain(gpukern_explanation& explanation, const Compute& compute) const {
    Pipeline::explain(explanation, memory(), chunks());
    for (std::int64_t k = 0; k < slices_.count(); ++k) {
      const DeviceChunk<Operands> chunk = packed(slices_[k]);
      for (std::size_t i = 0; i < operands_.size(); ++i)
        add_reported(
            i < input_count() ? explanation.bytes_to_device : explanation.bytes_from_device,
            chunk.bytes[static_cast<std::size_t>(operands_[i].number)]);
      compute(chunk);
    }
    add_reported(explanation.bytes_to_device, whole_layout_.bytes());
    add_reported(explanation.bytes_allocated, whole_layout_.bytes());
  }

  const Call& call_;
  const char* range_;
  const Loop<Operands>& loop_;
  std::vector<ChunkOperand> operands_;
  const Tensor* whole_;
  Layout whole_layout_;
  std::vector<bool> staged_;  ///< packed or unpacked by the host; the last may be `whole`
  std::int64_t most_;         ///< bytes of an operand in a chunk
  Slices<Operands> slices_;
};

/// Computes a loop on the host in parts, between which progress is reported. run(slice) computes a
/// slice whose positions have `item` bytes.
template <int Operands, class Run>
void run_in_parts(const Loop<Operands>& loop, std::int64_t item, Progress& progress,
                  const Run& run) {
  const Slices<Operands> slices(loop, std::max<std::int64_t>(1, kReportBytes / item));
  for (std::int64_t k = 0; k < slices.count(); ++k) {
    const Slice<Operands> slice = slices[k];
    run(slice);
    progress.add(slice.loop.count() * item);
  }
}

}  // namespace gpukern
