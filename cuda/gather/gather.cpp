// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "cuda/gather/strategy.hpp"
#include "cuda/runtime/kernels.hpp"
#include "cuda/runtime/mailbox.hpp"
#include "src/core/index.hpp"
#include "src/runtime/buffer.hpp"

namespace gpukern::gpu {
namespace {

/// Scratch memory; empty if there is not enough, or (a value error) if a device without memory
/// pools is captured.
Buffer scratch_or_none(Device& device, std::int64_t bytes, cudaStream_t stream) {
  try {
    return {device, bytes, stream};
  } catch (const Error& error) {
    if (error.status() == GPUKERN_MEMORY_ERROR || error.status() == GPUKERN_VALUE_ERROR) return {};
    throw;
  }
}

}  // namespace

void gather(Device& device, const GatherArgs& args, cudaStream_t stream) {
  const GatherProblem problem(args);
  Buffer fill_memory;
  const Fill fill = make_fill(device, args, problem.has_rows, fill_memory, stream);
  for (const GatherStrategy& strategy : gather_strategies()) {
    if (!strategy.serves(problem)) continue;
    Buffer scratch;
    if (strategy.scratch_bytes != nullptr) {
      scratch = scratch_or_none(device, strategy.scratch_bytes(problem), stream);
      if (scratch.data() == nullptr) continue;
    }
    return strategy.run({problem, fill, scratch.data(), stream});
  }
}

Strategy gather_strategy(const GatherArgs& args) {
  const GatherProblem problem(args);
  const auto strategies = gather_strategies();
  const auto chosen =
      std::find_if(strategies.begin(), strategies.end(),
                   [&](const GatherStrategy& strategy) { return strategy.serves(problem); });
  return {.path = chosen->path(problem)};
}

bool gather_checked(Device& device, const GatherArgs& args, cudaStream_t stream) {
  if (accepts_all(args.index_type, args.n)) {
    gather(device, args, stream);
    return true;
  }
  MailboxLease box(device, stream);
  GatherArgs checked = args;
  checked.bad = &box.mailbox().outcome_on_device->position;
  gather(device, checked, stream);
  wait_for_mailboxes(stream);
  return box.read().position == Outcome::kNone;
}

}  // namespace gpukern::gpu
