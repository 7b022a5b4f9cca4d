// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Gather of host arrays on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "src/ops/gather_args.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {

/// How a source in host memory is read.
enum class SourceWay {
  Copied,   ///< by the GPU, from a copy of the whole source in device memory
  InPlace,  ///< by the GPU, from page-locked host memory
  OnHost    ///< by CPU threads, which gather instead of the GPU
};

/// The values that determine it.
struct SourceFacts {
  std::int64_t source_bytes;
  std::int64_t index_bytes;
  std::int64_t out_bytes;
  std::int64_t items;  ///< that are read, each contiguous
  bool pinned;         ///< whether the source is pinned
  std::int64_t limit;  ///< bytes of device memory
  int threads;         ///< of the CPU
};

/// The fastest way by the rates in pipeline_tuning.hpp.
SourceWay source_way(const SourceFacts& facts);

/// A validated call: out overlaps no other operand.
struct GatherCall {
  const Call& call;
  GatherOperands operands;
  const Axis& axis;
  gpukern_index_mode mode;
  gpukern_gather_path path;
  MakeLoop make_loop;
  const IndexTuple* tuple;       ///< in place of the index
  const std::byte* host_source;  ///< a source that the GPU reads in place, as the CPU sees it
};

/// The address at which the device accesses the first element of a source in host memory; nullptr
/// if it is not pinned.
std::byte* seen_in_place(Device& device, const Tensor& source);

/// Gathers host operands on a device in chunks, with at most `limit` bytes of its memory.
void gather_offloaded(const GatherCall& gather, std::int64_t limit, Progress& progress);

/// Gathers on the CPU in parts, between which progress is reported.
void gather_in_parts(Device& device, const GatherArgs& args, Progress& progress);

}  // namespace gpukern
