// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "case.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace gpukern_torture {
namespace {

/// Bytes before and after the elements of an operand.
constexpr std::size_t kGuard = 64;

std::int64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t bytes_of(gpukern_dtype dtype, const Shape& shape) {
  return static_cast<std::size_t>(count_of(shape) * dtype.bits / 8);
}

/// A sequence without a pattern, the same in every process.
std::uint32_t next_random() {
  static std::uint32_t state = 1;
  state = state * 1664525 + 1013904223;
  return state >> 8;
}

void require_success(gpukern_status status) {
  if (status == GPUKERN_SUCCESS) return;
  std::fprintf(stderr, "preparation failed: %s\n", gpukern_last_error());
  std::abort();
}

template <class T>
Bytes bytes_from(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

}  // namespace

Case::Case(Placement placement) : placement_(placement) {
  if (placement == Placement::Cpu) exec.device = kCpu;
  if (placement == Placement::HostOnGpu) {
    exec.device = kGpu;
    exec.device_memory_limit = 100'000;  // some chunks
  }
}

Case::~Case() {
  for (const Operand& operand : operands_) {
    if (operand.device.device_type == GPUKERN_CPU)
      std::free(operand.data);
    else
      require_success(gpukern_release(operand.device, operand.data, nullptr));
  }
}

gpukern_tensor* Case::add(gpukern_dtype dtype, const Shape& shape, gpukern_device device,
                          const Bytes& contents, bool written) {
  Operand& operand = operands_.emplace_back();
  operand.initial.assign(kGuard + contents.size() + kGuard, std::byte{0x5a});
  std::memcpy(operand.initial.data() + kGuard, contents.data(), contents.size());
  operand.device = device;
  operand.shape = shape;
  if (device.device_type == GPUKERN_CPU)
    operand.data = std::malloc(operand.initial.size());
  else
    require_success(gpukern_allocate(device, operand.initial.size(), nullptr, &operand.data));
  operand.tensor = {
      operand.data, device, static_cast<std::int32_t>(shape.size()), dtype, operand.shape.data(),
      nullptr,      kGuard};
  if (device.device_type == GPUKERN_CUDA_HOST) operand.tensor.device = kCpu;
  constant_.resize(constant_.size() + kGuard, true);
  constant_.resize(constant_.size() + contents.size(), !written);
  constant_.resize(constant_.size() + kGuard, true);
  return &operand.tensor;
}

gpukern_tensor* Case::floats(const Shape& shape, gpukern_device device) {
  std::vector<float> values(static_cast<std::size_t>(count_of(shape)));
  for (float& value : values) value = static_cast<float>(next_random() % 1000) / 8;
  return add(kFloat, shape, device, bytes_from(values), false);
}

gpukern_tensor* Case::integers(const Shape& shape, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count_of(shape)));
  for (std::int64_t& value : values) value = low + next_random() % (high - low);
  return add(kInt64, shape, device(), bytes_from(values), false);
}

gpukern_tensor* Case::numbers(const std::vector<std::int64_t>& values) {
  return add(kInt64, {static_cast<std::int64_t>(values.size())}, device(), bytes_from(values),
             false);
}

gpukern_tensor* Case::mask(std::int64_t count) {
  Bytes values(static_cast<std::size_t>(count));
  for (std::byte& value : values) value = static_cast<std::byte>(next_random() % 2);
  return add(kBool, {count}, device(), values, false);
}

gpukern_tensor* Case::result(gpukern_dtype dtype, const Shape& shape, gpukern_device device) {
  return add(dtype, shape, device, Bytes(bytes_of(dtype, shape), std::byte{0x11}), true);
}

gpukern_tensor* Case::view(const gpukern_tensor* operand, const Shape& shape, const Shape& strides,
                           std::int64_t first) {
  Operand& view = views_.emplace_back();
  view.shape = shape;
  view.strides = strides;
  view.tensor = *operand;
  view.tensor.ndim = static_cast<std::int32_t>(shape.size());
  view.tensor.shape = view.shape.data();
  view.tensor.strides = view.strides.data();
  view.tensor.byte_offset += static_cast<std::uint64_t>(first * operand->dtype.bits / 8);
  return &view.tensor;
}

void Case::copy(void* from, gpukern_device from_device, void* to, gpukern_device to_device,
                std::size_t bytes) const {
  auto size = static_cast<std::int64_t>(bytes);
  constexpr gpukern_dtype kByte{GPUKERN_UINT, 8, 1};
  const gpukern_tensor source{from, from_device, 1, kByte, &size, nullptr, 0};
  const gpukern_tensor destination{to, to_device, 1, kByte, &size, nullptr, 0};
  require_success(gpukern_copy(&source, &destination, nullptr));
}

void Case::reset() {
  for (Operand& operand : operands_) {
    if (operand.device.device_type == GPUKERN_CUDA)
      copy(operand.initial.data(), kCpu, operand.data, operand.device, operand.initial.size());
    else
      std::memcpy(operand.data, operand.initial.data(), operand.initial.size());
  }
}

Bytes Case::contents() {
  Bytes all(constant_.size());
  std::byte* to = all.data();
  for (const Operand& operand : operands_) {
    if (operand.device.device_type == GPUKERN_CUDA)
      copy(operand.data, operand.device, to, kCpu, operand.initial.size());
    else
      std::memcpy(to, operand.data, operand.initial.size());
    to += operand.initial.size();
  }
  return all;
}

}  // namespace gpukern_torture
