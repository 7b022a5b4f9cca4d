// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather of host arrays that a GPU is to compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/ops/gather_args.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// How the GPU comes by the items of a source in host memory.
enum class SourceWay {
  Copied,   ///< the whole source lies in device memory during the call
  InPlace,  ///< the GPU reads them where they lie
  OnHost    ///< not at all: the CPU's threads take them where they lie, to where they belong
};

/// What the choice is made of.
struct SourceFacts {
  std::int64_t source_bytes;
  std::int64_t index_bytes;
  std::int64_t out_bytes;
  std::int64_t items;  ///< that are read, each in one piece
  bool pinned;         ///< the source
  std::int64_t limit;  ///< bytes of device memory
  int threads;         ///< of the CPU
};

/// The quickest way by the rates of pipeline_tuning.hpp.
SourceWay source_way(const SourceFacts& facts);

/// A gather as far as its front brings it: out overlaps neither of the others, and the index has
/// been checked.
struct GatherCall {
  const Call& call;
  GatherOperands operands;
  const Axis& axis;
  gpukern_index_mode mode;
  gpukern_gather_path path;
  const std::byte* host_source;  ///< a source that the GPU reads in place, as the CPU sees it
};

/// Where the device sees a source in host memory, its first element; nullptr if it is not pinned.
std::byte* seen_in_place(Backend& device, const Tensor& source);

/// Host operands, computed by a device in chunks. It uses up to `limit` bytes of its memory.
void gather_through(const GatherCall& gather, std::int64_t limit, Progress& progress);

/// On the CPU, in parts of which the caller is told.
void gather_in_parts(Backend& backend, const GatherArgs& args, Progress& progress);

}  // namespace gpukern
