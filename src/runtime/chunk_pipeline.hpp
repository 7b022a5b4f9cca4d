// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Host arrays on their way through a device, in chunks: while one is computed, the next ones come
// in and the last ones go out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/core/loop.hpp"
#include "src/core/slices.hpp"
#include "src/core/tensor.hpp"
#include "src/runtime/buffer.hpp"
#include "src/runtime/device.hpp"
#include "src/runtime/pipeline_tuning.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// Checks exec->device_memory_limit or its environment variable.
std::int64_t device_memory_limit(const gpukern_exec* exec);

/// Bytes of an operand in a chunk, where a chunk holds `operands` of them in device memory, the
/// whole operand has `total` bytes, and `staged` ones are packed by the host.
std::int64_t chunk_bytes(std::int64_t limit, int operands, std::int64_t total, bool staged);

/// Bytes of a call's result between two reports to the caller.
std::int64_t report_bytes(std::int64_t total);

/// How an operand of a slice lies in host memory: its positions in C order, `item` bytes each.
struct Layout {
  std::int64_t item = 0;
  Loop<1> loop;
  [[nodiscard]] bool gapless() const { return loop.contiguous(0, item); }
  [[nodiscard]] std::int64_t bytes() const { return loop.count() * item; }
};

/// The layout of one operand of a loop. Dimensions along which it does not move repeat it, unless
/// `once`: then they are left out.
template <int Operands>
Layout layout_of(const Loop<Operands>& loop, int operand, std::int64_t item, bool once = false) {
  Layout layout{item, {}};
  for (int d = 0; d < loop.ndim; ++d)
    if (!once || loop.stride[operand][d] != 0)
      layout.loop.push(loop.extent[d], {loop.stride[operand][d]});
  layout.loop.coalesce();
  return layout;
}

/// The layout of a whole tensor.
Layout layout_of(const Tensor& tensor);

/// Whether an operand, of this layout in all, has to be packed for a device, or unpacked: it is not
/// pinned, or has gaps.
bool needs_staging(Device& device, const Tensor& tensor, const Layout& layout);

/// Three streams of a device and pinned staging memory, cached between calls.
struct PipelineStreams {
  Stream in = nullptr;
  Stream work = nullptr;
  Stream out = nullptr;
  std::byte* staging = nullptr;
  std::int64_t staging_bytes = 0;
};

class Pipeline {
 public:
  /// An operand of the chunks: what it takes of device memory and, unless it is copied from and to
  /// where it lies, of staging.
  struct Operand {
    std::int64_t device_bytes;
    std::int64_t staging_bytes;
  };
  using Operands = std::vector<Operand>;

  class Chunk {
   public:
    /// The operand's device memory.
    [[nodiscard]] std::byte* memory(int operand) const { return memory_of(operand).device; }
    /// Brings host memory in, by way of the operand's staging if it has any.
    void send(int operand, const std::byte* from, const Layout& layout, std::byte* to);
    /// The stream to compute on, behind all that was sent.
    Stream work();
    /// Takes the result out, behind the work; it is in host memory when the chunk has retired.
    void fetch(int operand, const std::byte* from, std::byte* to, const Layout& layout);

   private:
    friend class Pipeline;
    /// Where an operand lies.
    struct Memory {
      std::byte* device = nullptr;
      std::byte* staging = nullptr;  ///< nullptr for none
    };
    [[nodiscard]] const Memory& memory_of(int operand) const {
      return memory_[static_cast<std::size_t>(operand)];
    }
    Pipeline* pipeline_ = nullptr;
    std::vector<Memory> memory_;
    Event sent_ = nullptr;
    Event worked_ = nullptr;
    Event fetched_ = nullptr;
    bool in_flight_ = false;
    Event last_ = nullptr;  ///< of those, what the host has to wait for
    std::int64_t done_bytes_ = 0;
    const std::byte* unpack_from_ = nullptr;
    std::byte* unpack_to_ = nullptr;
    Layout unpack_layout_;
  };

  /// Begins behind the work on the caller's stream.
  Pipeline(Device& device, Stream behind, Progress& progress, const Operands& operands,
           std::int64_t chunks);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  /// Waits for what is still on its way.
  ~Pipeline();

  /// Records the memory, threads and chunks that a pipeline of these operands would take.
  static void explain(gpukern_explanation& explanation, const Operands& operands,
                      std::int64_t chunks);

  /// A chunk to fill, after the one that had its place has retired.
  Chunk& next();
  /// Brings device memory a whole host operand, through the staging of `operand`, by chunks.
  void upload(const std::byte* from, const Layout& layout, std::byte* to, int operand,
              std::int64_t most_bytes);
  /// Retires all chunks.
  void finish();
  /// More device memory, for all chunks.
  std::byte* hold(std::int64_t bytes);

 private:
  void lay_out(const Operands& operands);
  void retire(Chunk& chunk);
  void drain() noexcept;

  Device& device_;
  Device& host_;
  Progress& progress_;
  PipelineStreams streams_;
  std::vector<Buffer> memory_;
  std::vector<Chunk> chunks_;
  std::size_t turn_ = 0;
};

}  // namespace gpukern
