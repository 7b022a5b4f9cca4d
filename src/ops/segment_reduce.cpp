// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/indexed_reduction.hpp"

namespace gpukern {
namespace {

void segment_reduce(const gpukern_tensor* raw_x, const gpukern_tensor* raw_offsets,
                    std::int32_t axis, const gpukern_tensor* raw_out,
                    const gpukern_gather_reduce_options* options, const gpukern_exec* exec) {
  const Argument x("segment_reduce", "x", raw_x);
  const Argument offsets("segment_reduce", "offsets", raw_offsets);
  const Argument out("segment_reduce", "out", raw_out);
  run_indexed_reduction({"segment_reduce", "x", x, nullptr, offsets, nullptr, out, axis}, options,
                        exec);
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_segment_reduce(const gpukern_tensor* x,
                                                 const gpukern_tensor* offsets, int32_t axis,
                                                 const gpukern_tensor* out,
                                                 const gpukern_gather_reduce_options* options,
                                                 const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::segment_reduce(x, offsets, axis, out, options, exec); });
}
