// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/core/operation.hpp"

#include <algorithm>
#include <limits>

namespace gpukern {
namespace {

/// The bytes of an operand's elements in a loop, each counted once.
template <int Operands>
std::int64_t distinct_bytes(const Loop<Operands>& loop, int operand, std::int64_t item) {
  std::int64_t count = 1;
  for (int d = 0; d < loop.ndim; ++d)
    if (loop.stride[operand][d] != 0) count *= loop.extent[d];
  return count * item;
}

}  // namespace

std::int64_t reported(long double bytes) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max() / 4;
  return bytes < static_cast<long double>(kMost) ? static_cast<std::int64_t>(bytes) : kMost;
}

void add_reported(std::int64_t& total, std::int64_t bytes) {
  if (__builtin_add_overflow(total, bytes, &total))
    total = std::numeric_limits<std::int64_t>::max();
}

Traffic traffic_of(const GatherArgs& args) {
  const std::int64_t moved = args.loop.count() * args.item;
  std::int64_t indices = 0;
  if (args.tuple == nullptr)
    indices = distinct_bytes(args.loop, kIndex, args.index_type.bytes);
  else
    for (const auto& axis : args.tuple->axes) add_reported(indices, index_bytes(axis.index));
  return {.read = reported(static_cast<long double>(indices) + (args.in_place ? 0 : moved)),
          .written = moved,
          .from_host = args.in_place ? moved : 0};
}

Traffic traffic_of(const SaxpyArgs& args) {
  const std::int64_t bytes = args.loop.count() * args.item;
  return {.read = reported(2 * static_cast<long double>(bytes)), .written = bytes};
}

Traffic traffic_of(const SaxpyManyArgs& args) {
  const auto bytes = static_cast<long double>(args.count) * static_cast<long double>(args.item);
  return {.read = reported(2 * bytes), .written = reported(bytes)};
}

Traffic traffic_of(const AxpbyArgs& args) {
  Traffic traffic;
  for (int k = kFactorOfX; k <= kResult; ++k) {
    const AxpbyArgs::Operand& operand = args.operand[static_cast<std::size_t>(k)];
    if (!operand.in_memory) continue;
    add_reported(k == kResult ? traffic.written : traffic.read,
                 distinct_bytes(args.loop, k, size_of(operand.type)));
  }
  return traffic;
}

Traffic traffic_of(const CopyArgs& args) {
  const std::int64_t bytes = args.loop.count() * args.item;
  return {.read = bytes, .written = bytes};
}

Traffic traffic_of(const ScatterArgs& args) {
  const std::int64_t bytes = args.updates.count() * args.columns.count() * args.item;
  const int passes = args.reduce != GPUKERN_REDUCE_NONE ? 2 : 1;  // values, and the target
  const std::int64_t indices = distinct_bytes(args.updates, kUpdateIndex, args.index_type.bytes);
  return {.read = reported(static_cast<long double>(bytes) * passes + indices), .written = bytes};
}

Traffic traffic_of(const GatherReduceArgs& args) {
  const std::int64_t row = args.columns.count() * args.item;
  const std::int64_t each = row + (args.index != nullptr ? args.index_type.bytes : 0) +
                            (args.weights != nullptr ? args.item : 0);
  const auto offsets = static_cast<long double>(args.bags + 1) * args.offset_type.bytes;
  return {.read = reported(static_cast<long double>(args.count) * each + offsets),
          .written = args.bags * row};
}

Traffic traffic_of(const RavelArgs& args) {
  long double read = 0;
  for (const IndexArgs& index : args.indices) read += static_cast<long double>(index_bytes(index));
  return {.read = reported(read),
          .written =
              args.indices.front().loop.count() * static_cast<std::int64_t>(sizeof(std::int64_t))};
}

Traffic traffic_of(const RecordIndexArgs& args) { return {.read = index_bytes(args.index)}; }

Traffic traffic_of(const SelectArgs& args) {
  const std::int64_t count = args.loop.count();
  const std::int64_t selected = args.source != nullptr ? std::min(count, args.size) : 0;
  const auto columns = args.source != nullptr ? 1 : args.coordinates.ndim;
  return {.read = reported(static_cast<long double>(count) * args.item +
                           static_cast<long double>(selected) * args.width),
          .written = args.size * columns * args.width};
}

std::int64_t index_bytes(const IndexArgs& args) {
  return distinct_bytes(args.loop, 0, args.index_type.bytes);
}

}  // namespace gpukern
