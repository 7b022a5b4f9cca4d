// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/core/tensor.hpp"

namespace gpukern {

std::ostream& operator<<(std::ostream& text, const DeviceName& name) {
  if (!name.device.cuda) return text << "cpu";
  return text << "cuda:" << name.device.id;
}

DeviceId checked_device(gpukern_device device, const ArgumentName& name) {
  switch (device.device_type) {
    case GPUKERN_CPU:
    case GPUKERN_CUDA_HOST:
      return {};
    case GPUKERN_CUDA:
    case GPUKERN_CUDA_MANAGED:
      require(device.device_id >= 0, GPUKERN_DEVICE_ERROR, name,
              " must name a CUDA device from 0 on, got ", device.device_id);
      return {true, device.device_id};
    default:
      fail(GPUKERN_VALUE_ERROR, name,
           " must name the CPU (1) or a CUDA device (2), got device type ", device.device_type);
  }
}

Tensor& Tensor::operator=(const Tensor& other) {
  if (this == &other) return *this;
  data = other.data;
  device = other.device;
  dtype = other.dtype;
  item = other.item;
  total = other.total;
  ndim = other.ndim;
  for (int d = 0; d < ndim; ++d) {
    shape[d] = other.shape[d];
    stride[d] = other.stride[d];
  }
  return *this;
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

std::ostream& operator<<(std::ostream& text, const ShapeText& shape) {
  const Tensor& tensor = shape.tensor;
  text << "(";
  for (int d = 0; d < tensor.ndim; ++d) text << (d > 0 ? ", " : "") << tensor.shape[d];
  return text << (tensor.ndim == 1 ? ",)" : ")");
}

namespace {

/// Copies the sizes and counts the elements, so that no later product of sizes overflows.
void set_shape(const gpukern_tensor& raw, Tensor& tensor, const ArgumentName& name) {
  std::int64_t bytes = tensor.item;
  std::uint64_t total = 1;
  bool empty = false;
  bool fits = true;
  for (int d = 0; d < raw.ndim; ++d) {
    const std::int64_t size = raw.shape[d];
    require(size >= 0, GPUKERN_VALUE_ERROR, name, " must have no negative size, got ", size,
            " in dimension ", d);
    tensor.shape[d] = size;
    empty = empty || size == 0;
    total *= static_cast<std::uint64_t>(size);
    fits = !__builtin_mul_overflow(bytes, size, &bytes) && fits;
  }
  // With a size of 0, an overflow of the others is harmless.
  require(fits || empty, GPUKERN_VALUE_ERROR, name, " must have fewer than 2**63 bytes");
  tensor.total = static_cast<std::int64_t>(total);
}

void set_strides(const gpukern_tensor& raw, Tensor& tensor, const ArgumentName& name) {
  std::int64_t contiguous = tensor.item;
  std::int64_t span = tensor.item;
  bool fits = true;
  for (int d = tensor.ndim - 1; d >= 0; --d) {
    tensor.stride[d] = 0;
    // These strides are never used.
    if (tensor.shape[d] == 1 || tensor.total == 0) continue;
    std::int64_t stride = contiguous;
    if (raw.strides != nullptr)
      fits = !__builtin_mul_overflow(raw.strides[d], tensor.item, &stride) && fits;
    tensor.stride[d] = stride;
    contiguous *= tensor.shape[d];
    // The bytes that the strides span must not overflow, nor may any address.
    std::int64_t reach = 0;
    fits = !__builtin_mul_overflow(stride, tensor.shape[d] - 1, &reach) && fits;
    fits = !(reach < 0 ? __builtin_sub_overflow(span, reach, &span)
                       : __builtin_add_overflow(span, reach, &span)) &&
           fits;
  }
  require(fits, GPUKERN_VALUE_ERROR, name, " has strides that span 2**63 bytes or more");
}

}  // namespace

Tensor checked_tensor(const gpukern_tensor* raw, const ArgumentName& name) {
  require(raw != nullptr, GPUKERN_VALUE_ERROR, name, " must not be NULL");
  require(raw->ndim >= 0 && raw->ndim <= GPUKERN_MAX_NDIM, GPUKERN_VALUE_ERROR, name,
          " must have 0 to ", GPUKERN_MAX_NDIM, " dimensions, got ", raw->ndim);
  require(raw->ndim == 0 || raw->shape != nullptr, GPUKERN_VALUE_ERROR, name,
          " must have a shape, got NULL");
  const int bits = raw->dtype.bits * raw->dtype.lanes;
  require(bits > 0 && bits % 8 == 0, GPUKERN_TYPE_ERROR, name,
          " must have elements of whole bytes, got ", dtype_name(raw->dtype));

  Tensor tensor;
  tensor.device = checked_device(raw->device, name);
  tensor.dtype = raw->dtype;
  tensor.item = bits / 8;
  tensor.ndim = raw->ndim;
  set_shape(*raw, tensor, name);
  set_strides(*raw, tensor, name);
  require(raw->data != nullptr || tensor.total == 0, GPUKERN_VALUE_ERROR, name,
          " must have data, got NULL for shape ", tensor.shape_text());
  if (raw->data != nullptr)
    tensor.data =
        offset_by(static_cast<std::byte*>(raw->data), static_cast<std::int64_t>(raw->byte_offset));
  return tensor;
}

Tensor contiguous_at(void* data, DeviceId device, const Tensor& like) {
  Tensor tensor = like;
  tensor.data = static_cast<std::byte*>(data);
  tensor.device = device;
  if (like.total == 0) return tensor;
  std::int64_t stride = like.item;
  for (int d = like.ndim - 1; d >= 0; --d) {
    tensor.stride[d] = stride;
    stride *= like.shape[d];
  }
  return tensor;
}

void require_writable(const Tensor& tensor, const ArgumentName& name) {
  if (tensor.count() == 0) return;
  for (int d = 0; d < tensor.ndim; ++d)
    require(tensor.shape[d] <= 1 || tensor.stride[d] != 0, GPUKERN_VALUE_ERROR, name,
            " must not have overlapping elements, got stride 0 in dimension ", d);
}

Extent extent_of(const Tensor& tensor) {
  std::int64_t below = 0;
  std::int64_t above = tensor.item;
  for (int d = 0; d < tensor.ndim; ++d) {
    const std::int64_t reach = (tensor.shape[d] - 1) * tensor.stride[d];
    below += std::min<std::int64_t>(reach, 0);
    above += std::max<std::int64_t>(reach, 0);
  }
  return {offset_by(tensor.data, below), offset_by(tensor.data, above)};
}

bool may_overlap(const Tensor& a, const Tensor& b) {
  if (a.device != b.device || a.count() == 0 || b.count() == 0) return false;
  const Extent first = extent_of(a);
  const Extent second = extent_of(b);
  return first.begin < second.end && second.begin < first.end;
}

bool same_shape(const Tensor& a, const Tensor& b) {
  if (a.ndim != b.ndim) return false;
  for (int d = 0; d < a.ndim; ++d)
    if (a.shape[d] != b.shape[d]) return false;
  return true;
}

Tensor broadcast_to(const Tensor& values, const Tensor& shape, const ArgumentName& name) {
  Tensor view = shape;
  view.data = values.data;
  view.device = values.device;
  view.dtype = values.dtype;
  view.item = values.item;
  view.total = 1;
  const int missing = shape.ndim - values.ndim;
  bool fits = missing >= 0;
  bool empty = false;
  bool counts = true;
  std::int64_t bytes = values.item;
  for (int d = 0; d < shape.ndim; ++d) {
    counts = !__builtin_mul_overflow(bytes, shape.shape[d], &bytes) && counts;
    empty = empty || shape.shape[d] == 0;
    const int v = d - missing;
    const bool repeats = v < 0 || values.shape[v] == 1;
    view.stride[d] = repeats ? 0 : values.stride[v];
    fits = fits && (repeats || values.shape[v] == shape.shape[d]);
  }
  require(counts || empty, GPUKERN_VALUE_ERROR, name,
          " must broadcast to fewer than 2**63 bytes, got shape ", shape.shape_text());
  view.total = empty ? 0 : bytes / values.item;
  require(fits, GPUKERN_VALUE_ERROR, name, " must broadcast to shape ", shape.shape_text(),
          ", got ", values.shape_text());
  return view;
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

bool clashes(const Tensor& out, const Tensor& input) {
  return may_overlap(out, input) && !same_layout(out, input);
}

}  // namespace gpukern
