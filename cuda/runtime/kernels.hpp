// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The operations of CUDA devices, on the current device.
#pragma once

#include <cuda_runtime.h>

#include "src/runtime/device.hpp"

namespace gpukern::gpu {

void gather(Device& device, const GatherArgs& args, cudaStream_t stream);
bool gather_checked(Device& device, const GatherArgs& args, cudaStream_t stream);
/// See Device::takes_tuple().
bool gather_takes_tuple(const IndexTuple& tuple, std::int64_t count, std::int64_t item_bytes,
                        gpukern_gather_path path);
/// The strategy of gather(). If its scratch memory is not available, gather() runs the next
/// strategy that serves the call.
Strategy gather_strategy(const GatherArgs& args);
void saxpy(const SaxpyArgs& args, cudaStream_t stream);
Strategy saxpy_strategy(const SaxpyArgs& args);
void saxpy_many(const SaxpyManyArgs& args, cudaStream_t stream);
void axpby(const AxpbyArgs& args, cudaStream_t stream);
Strategy axpby_strategy(const AxpbyArgs& args);
void copy(const CopyArgs& args, cudaStream_t stream);
void set(void* to, const void* element, std::size_t bytes, cudaStream_t stream);
void scatter(Device& device, const ScatterArgs& args, cudaStream_t stream);
Strategy scatter_strategy(const ScatterArgs& args);
void ravel_index(const RavelArgs& args, cudaStream_t stream);
void gather_reduce(Device& device, const GatherReduceArgs& args, cudaStream_t stream);
Strategy gather_reduce_strategy(const GatherReduceArgs& args);
void select(Device& device, const SelectArgs& args, cudaStream_t stream);
Strategy select_strategy(const SelectArgs& args);
void record_bad_index(const RecordIndexArgs& args, cudaStream_t stream);
void check_indices(Device& device, std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                   cudaStream_t stream);
std::int64_t count_nonzero(Device& device, const SelectArgs& args, cudaStream_t stream);

}  // namespace gpukern::gpu
