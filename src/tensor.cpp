// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "tensor.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace gpukern {

std::string device_name(Device device) {
  return device.cuda ? "cuda:" + std::to_string(device.id) : "cpu";
}

Device checked_device(gpukern_device device, const std::string& what) {
  switch (device.device_type) {
    case GPUKERN_CPU:
    case GPUKERN_CUDA_HOST:
      return {};
    case GPUKERN_CUDA:
    case GPUKERN_CUDA_MANAGED:
      require(device.device_id >= 0, GPUKERN_DEVICE_ERROR, what,
              " must name a CUDA device from 0 on, got ", device.device_id);
      return {true, device.device_id};
    default:
      fail(GPUKERN_VALUE_ERROR, what,
           " must name the CPU (1) or a CUDA device (2), got device type ", device.device_type);
  }
}

std::int64_t checked_multiply(std::int64_t a, std::int64_t b, const std::string& what) {
  std::int64_t product = 0;
  require(!__builtin_mul_overflow(a, b, &product), GPUKERN_VALUE_ERROR, what,
          " is larger than 2**63 bytes");
  return product;
}

bool Tensor::count_is_zero() const {
  const auto end = shape.begin() + ndim;
  return std::find(shape.begin(), end, 0) != end;
}

std::int64_t Tensor::count() const {
  if (count_is_zero()) return 0;  // before a product of the other sizes can overflow
  return std::accumulate(shape.begin(), shape.begin() + ndim, std::int64_t{1}, std::multiplies<>());
}

bool Tensor::contiguous() const {
  if (count() == 0) return true;
  std::int64_t expected = item;
  for (int d = ndim - 1; d >= 0; --d) {
    if (shape[d] != 1 && stride[d] != expected) return false;
    expected *= shape[d];
  }
  return true;
}

std::string Tensor::shape_text() const {
  std::string text = "(";
  for (int d = 0; d < ndim; ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + (ndim == 1 ? ",)" : ")");
}

namespace {

// Checks the sizes, so that no later product of them overflows.
void check_shape(const gpukern_tensor& raw, Tensor& tensor, const std::string& what) {
  std::int64_t total = tensor.item;
  for (int d = 0; d < raw.ndim; ++d) {
    require(raw.shape[d] >= 0, GPUKERN_VALUE_ERROR, what, " must have no negative size, got ",
            raw.shape[d], " in dimension ", d);
    tensor.shape[d] = raw.shape[d];
  }
  if (tensor.count_is_zero()) return;
  for (int d = 0; d < raw.ndim; ++d) total = checked_multiply(total, raw.shape[d], what);
}

void set_strides(const gpukern_tensor& raw, Tensor& tensor, const std::string& what) {
  if (tensor.count_is_zero()) return;  // no element lies anywhere: zeros will do
  std::int64_t contiguous = tensor.item;
  std::int64_t span = 0;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    if (tensor.shape[d] == 1) continue;  // never stepped along
    tensor.stride[d] =
        raw.strides != nullptr ? checked_multiply(raw.strides[d], tensor.item, what) : contiguous;
    contiguous *= tensor.shape[d];
    // The reach of the strides, in total, so that no address overflows either.
    const auto reach = checked_multiply(tensor.stride[d], tensor.shape[d] - 1, what);
    require(!__builtin_add_overflow(span, reach < 0 ? -(reach + 1) : reach, &span),
            GPUKERN_VALUE_ERROR, what, " has strides that reach beyond 2**63 bytes");
  }
}

}  // namespace

Tensor checked_tensor(const gpukern_tensor* raw, const std::string& what) {
  require(raw != nullptr, GPUKERN_VALUE_ERROR, what, " must not be NULL");
  require(raw->ndim >= 0 && raw->ndim <= GPUKERN_MAX_NDIM, GPUKERN_VALUE_ERROR, what,
          " must have 0 to ", GPUKERN_MAX_NDIM, " dimensions, got ", raw->ndim);
  require(raw->ndim == 0 || raw->shape != nullptr, GPUKERN_VALUE_ERROR, what,
          " must have a shape, got NULL");
  const int bits = raw->dtype.bits * raw->dtype.lanes;
  require(bits > 0 && bits % 8 == 0, GPUKERN_TYPE_ERROR, what,
          " must have elements of whole bytes, got ", dtype_name(raw->dtype));

  Tensor tensor;
  tensor.device = checked_device(raw->device, what);
  tensor.dtype = raw->dtype;
  tensor.item = bits / 8;
  tensor.ndim = raw->ndim;
  check_shape(*raw, tensor, what);
  set_strides(*raw, tensor, what);
  require(raw->data != nullptr || tensor.count() == 0, GPUKERN_VALUE_ERROR, what,
          " must have data, got NULL for shape ", tensor.shape_text());
  if (raw->data != nullptr) tensor.data = static_cast<std::byte*>(raw->data) + raw->byte_offset;
  return tensor;
}

Tensor contiguous_at(void* data, Device device, const Tensor& like) {
  Tensor tensor = like;
  tensor.data = static_cast<std::byte*>(data);
  tensor.device = device;
  if (like.count_is_zero()) return tensor;
  std::int64_t stride = like.item;
  for (int d = like.ndim - 1; d >= 0; --d) {
    tensor.stride[d] = stride;
    stride *= like.shape[d];
  }
  return tensor;
}

void require_writable(const Tensor& tensor, const std::string& what) {
  if (tensor.count() == 0) return;
  for (int d = 0; d < tensor.ndim; ++d)
    require(tensor.shape[d] <= 1 || tensor.stride[d] != 0, GPUKERN_VALUE_ERROR, what,
            " must have an own place for each element, got stride 0 in dimension ", d);
}

namespace {

struct Extent {
  const std::byte* begin;
  const std::byte* end;
};

Extent extent_of(const Tensor& tensor) {
  Extent extent{tensor.data, tensor.data + tensor.item};
  for (int d = 0; d < tensor.ndim; ++d) {
    const std::int64_t reach = (tensor.shape[d] - 1) * tensor.stride[d];
    (reach < 0 ? extent.begin : extent.end) += reach;
  }
  return extent;
}

}  // namespace

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.device != b.device || a.count() == 0 || b.count() == 0) return false;
  const Extent first = extent_of(a);
  const Extent second = extent_of(b);
  return first.begin < second.end && second.begin < first.end;
}

bool same_shape(const Tensor& a, const Tensor& b) {
  return std::equal(a.shape.begin(), a.shape.begin() + a.ndim, b.shape.begin(),
                    b.shape.begin() + b.ndim);
}

bool same_layout(const Tensor& a, const Tensor& b) {
  if (a.data != b.data || a.item != b.item || a.ndim != b.ndim || a.device != b.device)
    return false;
  for (int d = 0; d < a.ndim; ++d) {
    if (a.shape[d] != b.shape[d]) return false;
    if (a.shape[d] > 1 && a.stride[d] != b.stride[d]) return false;
  }
  return true;
}

}  // namespace gpukern
