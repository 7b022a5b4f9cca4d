// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// How the kernels of element-wise functions reach their operands. Operand 0 is the output, which
// may be an input as well: nothing is read through the read-only cache, and each thread reads all
// that it needs before it writes.
#pragma once

namespace gpukern {

constexpr int kThreads = 128;  // see cuda/saxpy/tuning.hpp

/// A boolean in memory is any byte but 0; as the type that is read and written.
template <class T>
struct Memory {
  using type = T;
};
template <>
struct Memory<bool> {
  using type = uint8;
};

/// The arguments that are numbers; each is at the beginning of its 16 bytes.
template <int Count>
struct Scalars {
  struct alignas(16) Slot {
    uint64 word[2];  // words, since the compiler reads parameters as what they are declared to be
  } slot[Count];
};

template <class T, int Count>
__device__ T scalar(const Scalars<Count>& scalars, int number) {
  typename Memory<T>::type value;
  memcpy(&value, scalars.slot[number].word, sizeof(value));
  return cast<T>(value);
}

/// Contiguous operands in packs of a few items, one pack a thread. The items before the first pack
/// and behind the last one, the edges, have a thread each.
template <int Operands>
struct Span {
  int64 packs;
  int32 head;   ///< items before the first pack
  int32 edges;  ///< those and the ones behind the last pack
  char* address[Operands];
};

/// A loop nest over strided operands, the innermost dimension last.
template <int Operands, int Rank>
struct Nest {
  int64 count;
  char* address[Operands];
  int64 extent[Rank];
  int64 stride[Operands][Rank];  ///< bytes
  uint32 magic[Rank];            ///< of the extents, for divided()
  uint32 shift[Rank];
};

/// A launch lets the kernel come while the previous one of the stream still runs. It waits for its
/// end, and lets the next one come as close behind. (The names that CUDA has for this need its
/// headers.)
__device__ inline void wait_for_previous() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

__device__ inline int64 thread_of_grid() { return int64{blockIdx.x} * kThreads + threadIdx.x; }

template <int Bytes>
struct Word;
template <>
struct Word<1> {
  using type = uint8;
};
template <>
struct Word<2> {
  using type = uint16;
};
template <>
struct Word<4> {
  using type = uint32;
};
template <>
struct Word<8> {
  using type = uint2;
};
template <>
struct Word<16> {
  using type = uint4;
};

template <class T, int Count>
struct Pack {
  using Stored = typename Memory<T>::type;
  Stored item[Count];
  __device__ T operator[](int i) const { return cast<T>(item[i]); }
  __device__ void set(int i, T value) { item[i] = static_cast<Stored>(value); }
};

/// A pack by one instruction.
template <class T, int Count>
__device__ Pack<T, Count> load_pack(const char* from) {
  using Bits = typename Word<sizeof(T) * Count>::type;
  const Bits bits = *reinterpret_cast<const Bits*>(from);
  Pack<T, Count> pack;
  memcpy(&pack, &bits, sizeof(bits));
  return pack;
}
template <class T, int Count>
__device__ void store_pack(char* to, const Pack<T, Count>& pack) {
  using Bits = typename Word<sizeof(T) * Count>::type;
  Bits bits;
  memcpy(&bits, &pack, sizeof(bits));
  *reinterpret_cast<Bits*>(to) = bits;
}

/// An item, byte by byte unless it is known to be aligned.
template <class T, bool Aligned = true>
__device__ T load(const char* from) {
  typename Memory<T>::type value;
  if constexpr (Aligned) {
    value = *reinterpret_cast<const typename Memory<T>::type*>(from);
  } else {
    char bytes[sizeof(T)];
    for (int b = 0; b < static_cast<int>(sizeof(T)); ++b) bytes[b] = from[b];
    memcpy(&value, bytes, sizeof(T));
  }
  return cast<T>(value);
}
template <class T, bool Aligned = true>
__device__ void store(char* to, T value) {
  const auto stored = static_cast<typename Memory<T>::type>(value);
  if constexpr (Aligned) {
    *reinterpret_cast<typename Memory<T>::type*>(to) = stored;
  } else {
    char bytes[sizeof(T)];
    memcpy(bytes, &stored, sizeof(T));
    for (int b = 0; b < static_cast<int>(sizeof(T)); ++b) to[b] = bytes[b];
  }
}

/// n / extent for n < 2^31, by a multiplication (Granlund and Montgomery, PLDI 1994, figure 4.1).
__device__ inline uint32 divided(uint32 n, int64, uint32 magic, uint32 shift) {
  return (__umulhi(n, magic) + n) >> shift;
}
__device__ inline uint64 divided(uint64 n, int64 extent, uint32, uint32) {
  return n / static_cast<uint64>(extent);
}

/// The operands' byte offsets at a position. `Offset` is uint32 where that holds all positions.
template <class Offset, int Operands, int Rank>
__device__ void unravel(const Nest<Operands, Rank>& nest, Offset position,
                        int64 (&offset)[Operands]) {
#pragma unroll
  for (int k = 0; k < Operands; ++k) offset[k] = 0;
#pragma unroll
  for (int d = Rank - 1; d >= 0; --d) {
    const Offset rest =
        d > 0 ? divided(position, nest.extent[d], nest.magic[d], nest.shift[d]) : Offset(0);
    const auto at = static_cast<int64>(position - rest * static_cast<Offset>(nest.extent[d]));
#pragma unroll
    for (int k = 0; k < Operands; ++k) offset[k] += at * nest.stride[k][d];
    position = rest;
  }
}

}  // namespace gpukern
