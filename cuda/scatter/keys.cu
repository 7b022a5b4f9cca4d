// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/common/indexing.cuh"
#include "cuda/scatter/scatter.cuh"

namespace gpukern::gpu {
namespace {

/// What moves with the keys.
enum class Payload { InPlace, Numbers, Values };

struct KeySource {
  const std::byte* index;
  const std::byte* values;
  Loop<3> updates;
  std::int64_t n;
  std::int64_t key_step;
  IndexType index_type;
  gpukern_index_mode mode;
  bool aligned;  ///< the indices
  int item;      ///< bytes of a value
  bool values_aligned;
};

template <class To>
__device__ To load_value(const std::byte* from, int item, bool aligned) {
  switch (item) {
    case 1:
      return static_cast<To>(load_element<std::uint8_t>(from, aligned));
    case 2:
      return static_cast<To>(load_element<std::uint16_t>(from, aligned));
    case 4:
      return static_cast<To>(load_element<std::uint32_t>(from, aligned));
    default:
      return static_cast<To>(load_element<std::uint64_t>(from, aligned));
  }
}

/// Updates that a thread has in flight.
constexpr int kInFlight = 4;

template <class Key, class Carried>
__global__ void __launch_bounds__(kThreads)
    keys_kernel(const __grid_constant__ KeySource from, Payload kind, std::int64_t count, Key none,
                Key* keys, Carried* payload, unsigned long long* long_keys) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * kThreads * kInFlight + threadIdx.x;
  if (first == 0) *long_keys = 0;
  std::int64_t offset[kInFlight][3];
  std::int64_t value[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::int64_t u = min(first + k * kThreads, count - 1);
    unravel(from.updates, static_cast<std::uint64_t>(u), offset[k]);
    value[k] = load_index(from.index + offset[k][kUpdateIndex], from.index_type, from.aligned);
  }
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::int64_t u = first + k * kThreads;
    if (u >= count) return;
    const std::int64_t position =
        resolve_index(from.mode, value[k], from.index_type.is_signed, from.n);
    keys[u] = position < 0 ? none : static_cast<Key>(position * from.key_step + offset[k][kKey]);
    if (kind == Payload::Numbers)
      payload[u] = static_cast<Carried>(u);
    else if (kind == Payload::Values)
      payload[u] = load_value<Carried>(from.values + offset[k][kUpdateValue], from.item,
                                       from.values_aligned);
  }
}

template <class Key, class Carried>
void launch_keys(const ScatterCall& call, Payload kind, void* keys, void* payload,
                 unsigned long long* long_keys) {
  const ScatterArgs& args = call.args;
  const KeySource from{
      .index = args.index,
      .values = args.values,
      .updates = args.updates,
      .n = args.n,
      .key_step = args.key_step,
      .index_type = args.index_type,
      .mode = args.mode,
      .aligned = index_aligned(args.index, args.updates, kUpdateIndex, args.index_type),
      .item = static_cast<int>(args.item),
      .values_aligned = is_aligned(args, args.item)};
  launch(keys_kernel<Key, Carried>, ceil_divide(call.count, kThreads * kInFlight), call.stream,
         from, kind, call.count, static_cast<Key>(args.keys.count()), static_cast<Key*>(keys),
         static_cast<Carried*>(payload), long_keys);
}

}  // namespace

void scatter_keys(const ScatterCall& call, const SortPlan& plan, void* keys, void* payload,
                  unsigned long long* long_keys) {
  const Payload kind = payload == nullptr  ? Payload::InPlace
                       : plan.moves_values ? Payload::Values
                                           : Payload::Numbers;
  if (plan.wide_keys)
    launch_keys<std::uint64_t, std::uint64_t>(call, kind, keys, payload, long_keys);
  else if (plan.payload_bytes == 8)
    launch_keys<std::uint32_t, std::uint64_t>(call, kind, keys, payload, long_keys);
  else
    launch_keys<std::uint32_t, std::uint32_t>(call, kind, keys, payload, long_keys);
}

}  // namespace gpukern::gpu
