// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/tensors.hpp"

#include <sys/mman.h>

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) (static_cast<void>(address))
#endif

namespace gpukern_fuzz {
namespace {

/// The most elements of the tensors of a call, multiplied.
constexpr std::int64_t kMostWork = 1 << 18;

constexpr gpukern_dtype kIndexDtypes[] = {
    {GPUKERN_INT, 64, 1},  {GPUKERN_INT, 32, 1},  {GPUKERN_INT, 16, 1},  {GPUKERN_INT, 8, 1},
    {GPUKERN_UINT, 64, 1}, {GPUKERN_UINT, 32, 1}, {GPUKERN_UINT, 16, 1}, {GPUKERN_UINT, 8, 1}};
constexpr gpukern_dtype kDtypes[] = {
    {GPUKERN_FLOAT, 32, 1},    {GPUKERN_FLOAT, 64, 1}, {GPUKERN_FLOAT, 16, 1},
    {GPUKERN_BFLOAT, 16, 1},   {GPUKERN_INT, 64, 1},   {GPUKERN_INT, 32, 1},
    {GPUKERN_INT, 16, 1},      {GPUKERN_INT, 8, 1},    {GPUKERN_UINT, 64, 1},
    {GPUKERN_UINT, 8, 1},      {GPUKERN_BOOL, 8, 1},   {GPUKERN_COMPLEX, 64, 1},
    {GPUKERN_COMPLEX, 128, 1}, {GPUKERN_OPAQUE, 8, 3}, {GPUKERN_UINT, 8, 33},
    {GPUKERN_FLOAT, 128, 1}};
constexpr gpukern_device kDevices[] = {
    {GPUKERN_CPU, 0},          {GPUKERN_CUDA_HOST, 0},      {GPUKERN_CUDA_HOST, 7},
    {GPUKERN_CUDA, 0},         {GPUKERN_CUDA, 1},           {GPUKERN_CUDA, -1},
    {GPUKERN_CUDA_MANAGED, 0}, {GPUKERN_DEVICE_DEFAULT, 0}, {99, 0}};

/// The arena, between two pages that cannot be accessed.
std::byte* arena() {
  static std::byte* const begin = [] {
    constexpr std::size_t kGuard = 65536;  // at least a page anywhere
    void* const memory =
        mmap(nullptr, kGuard + kArenaBytes + kGuard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    expect(memory != MAP_FAILED, "no memory");
    // The guard after the arena must follow its last byte.
    std::byte* const data = static_cast<std::byte*>(memory) + kGuard;
    expect(mprotect(data, kArenaBytes, PROT_READ | PROT_WRITE) == 0, "no memory");
    return data;
  }();
  return begin;
}

/// The contents of the arena before the call.
std::byte before_call[kArenaBytes];

/// A separate array for each tensor, so that a read beyond it is found.
std::unique_ptr<std::int64_t[]> exact(const Shape& values) {
  auto copy = std::make_unique<std::int64_t[]>(values.size());
  std::ranges::copy(values, copy.get());
  return copy;
}

}  // namespace

Described described(const gpukern_tensor& tensor) {
  const Wide item = Wide{tensor.dtype.bits} * tensor.dtype.lanes;
  if (tensor.ndim < 0 || tensor.ndim > GPUKERN_MAX_NDIM || item == 0 || item % 8 != 0) return {};
  if (tensor.ndim > 0 && tensor.shape == nullptr) return {};
  Wide count = 1;
  for (int d = 0; d < tensor.ndim; ++d) {
    if (tensor.shape[d] <= 0) return {};  // empty, or refused for a negative size
    count = std::min(count * tensor.shape[d], Wide{1} << 63);
  }
  if (count * (item / 8) >= Wide{1} << 63) return {};  // larger than any memory
  Wide below = 0;
  Wide above = 0;
  Wide contiguous = 1;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    const Wide size = tensor.shape[d];
    Wide reach = tensor.strides != nullptr ? tensor.strides[d] : contiguous;
    contiguous *= size;
    reach *= size - 1;  // less than 2^126
    (reach < 0 ? below : above) += std::clamp(reach, -(Wide{1} << 64), Wide{1} << 64);
  }
  const Wide span = (above - below) * (item / 8);
  // The library computes with one less for each negative stride.
  if (span >= (Wide{1} << 63) + GPUKERN_MAX_NDIM) return {};
  if (span + item / 8 > Wide{kArenaBytes} || count > kMostElements)
    return {.kind = Described::kTooMuch};
  return {Described::kMemory, static_cast<std::int64_t>(-below * (item / 8)),
          static_cast<std::int64_t>((above + 1) * (item / 8)), static_cast<std::int64_t>(count)};
}

gpukern_tensor& Tensors::add(const Plan& plan) {
  enum : unsigned { kStrides = 1, kShape = 2, kDtype = 4, kDevice = 8, kOffset = 16, kOdd = 32 };
  enum : unsigned { kAnyDtype = 1, kAnyDimensions = 2, kNoShape = 4, kNoData = 8, kNull = 16 };
  constexpr std::int32_t kDimensions[] = {-1, GPUKERN_MAX_NDIM + 1, INT32_MAX, INT32_MIN};
  const unsigned flags = input_.byte();
  const unsigned odd = (flags & kOdd) != 0 ? input_.byte() : 0;
  Owned& owned = owned_.emplace_back();
  gpukern_tensor& tensor = owned.tensor;
  owned.contents = (flags & 128) != 0 ? Contents::kBytes : plan.contents;
  owned.axis = plan.axis;
  owned.seed = plan.contents == Contents::kIndex ? input_.byte() : 0;
  tensor.device = (flags & kDevice) != 0 ? input_.pick(kDevices) : kDevices[0];
  if (plan.like != nullptr && (flags & kDtype) == 0)
    tensor.dtype = plan.like->dtype;
  else
    tensor.dtype =
        plan.contents == Contents::kBytes ? input_.pick(kDtypes) : input_.pick(kIndexDtypes);
  if ((odd & kAnyDtype) != 0) tensor.dtype = input_.raw<gpukern_dtype>();
  set_shape(owned, plan.shape, (flags & kShape) != 0);
  if ((flags & kStrides) != 0) set_strides(owned);
  if ((odd & kAnyDimensions) != 0) tensor.ndim = input_.pick(kDimensions);
  if ((odd & kNoShape) != 0) tensor.shape = nullptr;
  owned.null = (odd & kNull) != 0;
  set_data(tensor, (odd & kNoData) != 0, (flags & kOffset) != 0);
  return tensor;
}

void Tensors::set_shape(Owned& owned, const Shape* planned, bool other) {
  constexpr int kOften = 240;  // of 256
  Shape shape;
  if (planned != nullptr) shape = *planned;
  if (planned == nullptr || other) {
    const int first = input_.byte();
    shape.assign(static_cast<std::size_t>(first < kOften ? first % 5 : 4 * (first - kOften + 1)),
                 1);
    for (std::int64_t& size : shape) {
      const int next = input_.byte();
      if (first >= kOften && next < 224) continue;
      size = next < 192 ? (next + 3) % 12 : next < kOften ? next : input_.extreme();
    }
  }
  owned.tensor.ndim = static_cast<std::int32_t>(shape.size());
  owned.shape = exact(shape);
  owned.tensor.shape = shape.empty() ? nullptr : owned.shape.get();
}

void Tensors::set_strides(Owned& owned) {
  constexpr std::int64_t kFactors[] = {1, -1, 2, 0};
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  Shape strides(static_cast<std::size_t>(owned.tensor.ndim));
  std::int64_t contiguous = 1;
  for (std::size_t d = strides.size(); d-- > 0;) {
    const std::uint8_t next = input_.byte();
    strides[d] = next < 128   ? contiguous * kFactors[next % 4]
                 : next < 240 ? std::int64_t{next} - 184
                              : input_.extreme();
    if (__builtin_mul_overflow(contiguous, owned.shape[d], &contiguous) || contiguous > kLarge ||
        contiguous < -kLarge)
      contiguous = 1;
  }
  owned.strides = exact(strides);
  owned.tensor.strides = owned.strides.get();
}

void Tensors::set_data(gpukern_tensor& tensor, bool null, bool offset) {
  const std::uint64_t where = input_.raw<std::uint16_t>();
  if (offset) {
    const std::uint8_t next = input_.byte();
    tensor.byte_offset = next < 240 ? next : input_.raw<std::uint64_t>();
  }
  if (null) return;
  const Described memory = described(tensor);
  auto address = reinterpret_cast<std::uintptr_t>(arena());
  if (memory.kind == Described::kMemory) {
    if (!explains_ && work_ * memory.count > kMostWork) return;
    if (!explains_) work_ *= memory.count;
    const auto span = static_cast<std::uint64_t>(memory.below + memory.above);
    address += static_cast<std::uint64_t>(memory.below) + where % (kArenaBytes - span + 1);
  } else {
    if (!explains_ && memory.kind == Described::kTooMuch) return;
    address += where << (where % 48);  // anywhere
  }
  tensor.data = memory_at(address - tensor.byte_offset);
}

/// Writes indices or offsets into an axis, most of them in bounds.
void Tensors::fill(const Owned& owned) {
  const gpukern_tensor& tensor = owned.tensor;
  const gpukern_dtype dtype = tensor.dtype;
  if (owned.contents == Contents::kBytes || owned.axis <= 0 || dtype.lanes != 1 || dtype.bits > 64)
    return;
  const std::int64_t n = std::min<std::int64_t>(owned.axis, 127);
  const std::int64_t count = described(tensor).count;
  std::int64_t k = 0;
  for_each_element(tensor, [&](std::uintptr_t address) {
    std::int64_t value = (k * (owned.seed | 1) + owned.seed) % n;
    if (dtype.code == GPUKERN_INT && k % 3 == 2) value -= n;
    if (owned.contents == Contents::kOffsets) value = n * k / count;
    std::memcpy(memory_at(address), &value, dtype.bits / 8);
    ++k;
  });
}

void Tensors::ready() {
  const auto bytes = input_.rest();
  std::memset(arena(), 0, kArenaBytes);
  for (std::size_t at = 0; at < kArenaBytes && !bytes.empty(); at += bytes.size())
    std::memcpy(arena() + at, bytes.data(), std::min(bytes.size(), kArenaBytes - at));
  std::vector<std::pair<std::uintptr_t, std::size_t>> accessible;
  for (const Owned& owned : owned_) {
    const Described memory = described(owned.tensor);
    if (explains_ || memory.kind != Described::kMemory || owned.tensor.data == nullptr) continue;
    accessible.emplace_back(first_address(owned.tensor) - static_cast<std::uintptr_t>(memory.below),
                            static_cast<std::size_t>(memory.below + memory.above));
    fill(owned);
  }
  std::memcpy(before_call, arena(), kArenaBytes);
  ASAN_POISON_MEMORY_REGION(arena(), kArenaBytes);
  for (const auto& [address, size] : accessible)
    ASAN_UNPOISON_MEMORY_REGION(memory_at(address), size);
}

void Tensors::finish(const gpukern_tensor* out) {
  ASAN_UNPOISON_MEMORY_REGION(arena(), kArenaBytes);
  if (out != nullptr && out->data != nullptr && described(*out).kind == Described::kMemory)
    for_each_element(*out, [&](std::uintptr_t address) {
      const std::byte* const element = memory_at(address);
      std::memcpy(before_call + (element - arena()), element,
                  static_cast<std::size_t>(bytes_of(out->dtype)));
    });
  expect(std::memcmp(before_call, arena(), kArenaBytes) == 0,
         "the call changed memory that it must not write to");
}

const std::byte* Tensors::before(std::uintptr_t address) {
  return before_call + (memory_at(address) - arena());
}

}  // namespace gpukern_fuzz
