// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "src/ops/indexed_reduction.hpp"

namespace gpukern {
namespace {

void gather_reduce(const gpukern_tensor* raw_source, const gpukern_tensor* raw_index,
                   const gpukern_tensor* raw_offsets, const gpukern_tensor* raw_weights,
                   std::int32_t axis, const gpukern_tensor* raw_out,
                   const gpukern_gather_reduce_options* options, const gpukern_exec* exec) {
  const Argument source("gather_reduce", "source", raw_source);
  const Argument index("gather_reduce", "index", raw_index);
  const Argument offsets("gather_reduce", "offsets", raw_offsets);
  const Argument out("gather_reduce", "out", raw_out);
  std::unique_ptr<const Argument> weights;  // see run_apart() of indexed_write.cpp
  if (raw_weights != nullptr)
    weights = std::make_unique<const Argument>("gather_reduce", "weights", raw_weights);
  run_indexed_reduction(
      {"gather_reduce", "the source", source, &index, offsets, weights.get(), out, axis}, options,
      exec);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_gather_reduce(
    const gpukern_tensor* source, const gpukern_tensor* index, const gpukern_tensor* offsets,
    const gpukern_tensor* weights, int32_t axis, const gpukern_tensor* out,
    const gpukern_gather_reduce_options* options, const gpukern_exec* exec) {
  return gpukern::guard(
      [&] { gpukern::gather_reduce(source, index, offsets, weights, axis, out, options, exec); });
}
