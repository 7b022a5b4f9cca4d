// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The pipeline of host arrays through a device, in chunks: while one chunk is computed, the next
// ones are uploaded and the last ones downloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

/// Whether sizes in bytes together are within the limit.
bool fits_memory(std::initializer_list<std::int64_t> sizes, std::int64_t limit);

/// Bytes of an operand in a chunk. A chunk holds `operands` operands in device memory; the whole
/// operand has `total` bytes; the host packs operands that are `staged`.
std::int64_t chunk_bytes(std::int64_t limit, int operands, std::int64_t total, bool staged);

/// The layout of a slice's operand in host memory: its positions in C order, `item` bytes each.
struct Layout {
  std::int64_t item = 0;
  Loop<1> loop;
  [[nodiscard]] bool gapless() const { return loop.contiguous(0, item); }
  [[nodiscard]] std::int64_t bytes() const { return loop.count() * item; }
};

/// The layout of one operand of a loop. Dimensions with stride 0 repeat the operand, or are left
/// out if `once` is set.
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

/// The copy of an operand to contiguous memory.
CopyArgs packing(const std::byte* from, const Layout& layout, std::byte* to);
/// The copy back.
CopyArgs unpacking(const std::byte* from, std::byte* to, const Layout& layout);

/// Whether the host must pack an input, or unpack an output, of this layout: it is not pinned or
/// not contiguous.
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
  /// The device memory of an operand of a chunk, and its staging memory, 0 if it is copied directly
  /// from or to host memory.
  struct Operand {
    std::int64_t device_bytes;
    std::int64_t staging_bytes;
  };
  using Operands = std::vector<Operand>;

  class Chunk {
   public:
    /// The operand's device memory.
    [[nodiscard]] std::byte* memory(int operand) const { return memory_of(operand).device; }
    /// The operand's staging memory, for the caller to fill.
    [[nodiscard]] std::byte* staging(int operand) const { return memory_of(operand).staging; }
    /// Uploads host memory, through the operand's staging memory if it has any.
    void send(int operand, const std::byte* from, const Layout& layout, std::byte* to);
    /// Uploads pinned host memory, such as staging memory.
    void send_pinned(const std::byte* from, std::int64_t bytes, std::byte* to);
    /// The stream to compute on, ordered after all uploads.
    Stream work();
    /// Downloads the result after the computation; it is in host memory once the chunk has retired.
    void fetch(int operand, const std::byte* from, std::byte* to, const Layout& layout);

   private:
    friend class Pipeline;
    /// The memory of an operand.
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
    Event last_ = nullptr;  ///< the one of these that the host waits for
    std::int64_t done_bytes_ = 0;
    const std::byte* unpack_from_ = nullptr;
    std::byte* unpack_to_ = nullptr;
    Layout unpack_layout_;
  };

  /// Starts after the earlier work on the caller's stream.
  Pipeline(Device& device, Stream stream, Progress& progress, const Operands& operands,
           std::int64_t chunks);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  /// Waits for all enqueued work.
  ~Pipeline();

  /// Records the memory, threads and chunks that a pipeline with these operands would use.
  static void explain(gpukern_explanation& explanation, const Operands& operands,
                      std::int64_t chunks);

  /// The next chunk to fill; waits until the previous user of its slot has retired.
  Chunk& next();
  /// Uploads a whole host operand to device memory in chunks, through the staging memory of
  /// `operand`.
  void upload(const std::byte* from, const Layout& layout, std::byte* to, int operand,
              std::int64_t most_bytes);
  /// Retires all chunks.
  void finish();
  /// Allocates more device memory, which all chunks share.
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
