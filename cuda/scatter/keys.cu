// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/scatter/key_of.cuh"

namespace gpukern::gpu {
namespace {

/// What moves with the keys.
enum class Payload { InPlace, Numbers, Values };

struct KeySource {
  IndexReader index;
  const std::byte* values;
  LoopOffsets<3> updates;
  std::int64_t key_step;
  int item;  ///< bytes of a value
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

template <class Raw>
__device__ __noinline__ std::int64_t resolved(const Bounds<Raw>& bounds, Raw raw) {
  return bounds.position(raw);
}

template <class Key, class Carried>
__global__ void __launch_bounds__(kThreads)
    keys_kernel(const __grid_constant__ KeySource from, Payload kind, std::int64_t count, Key none,
                Key* keys, Carried* payload, unsigned long long* long_keys) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * kThreads * kInFlight + threadIdx.x;
  if (first == 0) *long_keys = 0;
  OffsetsAt<3> at[kInFlight];
  std::int64_t loaded[kInFlight];
  from.updates.find(Positions<kInFlight>(first, kThreads, count - 1).of, at);
  from.index.load([&](int k) { return at[k].offset[kUpdateIndex]; }, loaded);
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::int64_t u = first + k * kThreads;
    if (u >= count) return;
    const std::int64_t position = from.index.resolve(loaded[k]);
    keys[u] = position < 0 ? none : static_cast<Key>(position * from.key_step + at[k].offset[kKey]);
    if (kind == Payload::Numbers)
      payload[u] = static_cast<Carried>(u);
    else if (kind == Payload::Values)
      payload[u] = load_value<Carried>(from.values + at[k].offset[kUpdateValue], from.item,
                                       from.values_aligned);
  }
}

/// Contiguous indices whose values stay where they are, or move by number.
template <class Key, class Raw>
__global__ void __launch_bounds__(kThreads)
    plain_keys_kernel(const Raw* index, const __grid_constant__ Bounds<Raw> bounds, Key key_step,
                      std::int64_t count, Key none, Key* keys, Key* numbers,
                      unsigned long long* long_keys) {
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * kThreads * kInFlight + threadIdx.x;
  if (first == 0) *long_keys = 0;
  Raw raw[kInFlight];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) raw[k] = index[min(first + k * kThreads, count - 1)];
#pragma unroll
  for (int k = 0; k < kInFlight; ++k) {
    const std::int64_t u = first + k * kThreads;
    if (u >= count) return;
    const bool inside = raw[k] <= bounds.last;
    const std::int64_t position =
        inside ? static_cast<std::int64_t>(raw[k]) : resolved(bounds, raw[k]);
    keys[u] = position < 0 ? none : static_cast<Key>(position) * key_step;
    if (numbers != nullptr) numbers[u] = static_cast<Key>(u);
  }
}

/// Whether the plain kernel serves: it does not look at values.
bool is_plain(const ScatterArgs& args, Payload kind) {
  return kind != Payload::Values && args.updates.ndim == 1 && args.index_type.bytes >= 4 &&
         args.updates.stride[kUpdateIndex][0] == args.index_type.bytes &&
         args.updates.stride[kKey][0] == 0 && alignment_of(args.index) >= args.index_type.bytes;
}

template <class Key>
void launch_plain_keys(const ScatterCall& call, Key* keys, Key* numbers,
                       unsigned long long* long_keys) {
  const ScatterArgs& args = call.args;
  const auto of_width = [&]<class Raw>(Raw) {
    launch(plain_keys_kernel<Key, Raw>, ceil_divide(call.count, kThreads * kInFlight), call.stream,
           reinterpret_cast<const Raw*>(args.index),
           Bounds<Raw>(args.index_type, args.mode, args.n, nullptr),
           static_cast<Key>(args.key_step), call.count, static_cast<Key>(args.keys.count()), keys,
           numbers, long_keys);
  };
  if (args.index_type.bytes == 4)
    of_width(std::uint32_t{});
  else
    of_width(std::uint64_t{});
}

template <class Key, class Carried>
void launch_keys(const ScatterCall& call, Payload kind, void* keys, void* payload,
                 unsigned long long* long_keys) {
  const ScatterArgs& args = call.args;
  const KeySource from{.index = index_reader(args),
                       .values = args.values,
                       .updates = LoopOffsets(args.updates),
                       .key_step = args.key_step,
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
  if (is_plain(call.args, kind) && plan.wide_keys)
    launch_plain_keys(call, static_cast<std::uint64_t*>(keys), static_cast<std::uint64_t*>(payload),
                      long_keys);
  else if (is_plain(call.args, kind))
    launch_plain_keys(call, static_cast<std::uint32_t*>(keys), static_cast<std::uint32_t*>(payload),
                      long_keys);
  else if (plan.wide_keys)
    launch_keys<std::uint64_t, std::uint64_t>(call, kind, keys, payload, long_keys);
  else if (plan.payload_bytes == 8)
    launch_keys<std::uint32_t, std::uint64_t>(call, kind, keys, payload, long_keys);
  else
    launch_keys<std::uint32_t, std::uint32_t>(call, kind, keys, payload, long_keys);
}

}  // namespace gpukern::gpu
