// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <bit>
#include <cstring>

#include "src/ops/index_checks.hpp"
#include "src/ops/selection.hpp"

namespace gpukern {
namespace {

constexpr gpukern_dtype kPosition{GPUKERN_INT, 64, 1};

/// The part of the mask that selects; of a mask of one dimension, what is not beyond the axis.
Tensor selecting_part(const Argument& mask, const Tensor& x, const Axis& axis, bool flattened) {
  Tensor part = mask.tensor;
  if (part.ndim == 1) {
    part.shape[0] = part.total = std::min(part.shape[0], axis.n);
    return part;
  }
  require(flattened, GPUKERN_VALUE_ERROR, mask.name,
          " must have one dimension if an axis is given, got shape ", part.shape_text());
  require(same_shape(part, x), GPUKERN_VALUE_ERROR, mask.name,
          " must have one dimension, or without an axis the shape of x, ", x.shape_text(), ", got ",
          part.shape_text());
  return part;
}

/// Whether items can be moved without their positions.
bool moves_directly(const SelectOperands& operands) {
  const auto& [mask, x, out, axis, first, stream, fill] = operands;
  const auto item = static_cast<std::uint64_t>(x->item);
  if (axis.first != 0 || axis.last != x->ndim || item > 16 || !std::has_single_bit(item))
    return false;
  const auto is_aligned = [item](const Tensor& tensor) {
    auto addresses = reinterpret_cast<std::uintptr_t>(tensor.data);
    for (int d = 0; d < tensor.ndim; ++d)
      if (tensor.shape[d] > 1) addresses |= static_cast<std::uintptr_t>(tensor.stride[d]);
    return addresses % item == 0;
  };
  return is_aligned(*x) && is_aligned(out);
}

class Compression {
 public:
  explicit Compression(const Call& call) : call_(call) {}

  void enqueue(Device& device, const SelectOperands& operands) const {
    if (moves_directly(operands))
      move_items(device, operands);
    else
      gather_items(device, operands);
  }

 private:
  void move_items(Device& device, const SelectOperands& operands) const {
    const auto& [mask, x, out, axis, first, stream, fill] = operands;
    SelectArgs args = mask_args(mask);
    args.source = axis.n > 0 ? x->data : out.data;  // of an empty x, nothing is read
    for (int d = 0; d < x->ndim; ++d) args.items.push(x->shape[d], {x->stride[d]});
    args.items.coalesce();
    args.out = out.data;
    args.width = x->item;
    args.step = out.stride[0];
    args.size = out.shape[0];
    if (fill != nullptr && call_.explanation == nullptr)
      std::memcpy(args.fill, fill->data, static_cast<std::size_t>(x->item));
    device.run(args, stream);
  }

  /// By the positions of the items; a position out of bounds gives the fill value.
  void gather_items(Device& device, const SelectOperands& operands) const {
    const auto& [mask, x, out, axis, first, stream, fill] = operands;
    Tensor positions;
    positions.ndim = 1;
    positions.shape[0] = positions.total = out.shape[static_cast<std::size_t>(axis.first)];
    positions.dtype = kPosition;
    positions.item = sizeof(std::int64_t);
    const Buffer memory(device, positions.bytes(), stream);
    positions = contiguous_at(memory.data(), out.device, positions);

    SelectArgs args = mask_args(mask);
    args.coordinates.push(mask.count(), {0});
    args.out = positions.data;
    args.step = positions.item;
    args.size = positions.total;
    std::memcpy(args.fill, &kNoPosition, sizeof kNoPosition);
    device.run(args, stream);

    // Of an empty axis nothing is read; any memory serves as the source.
    const Tensor value = fill != nullptr ? *fill : Tensor();
    const Axis all{axis.first, axis.first, axis.first + 1, positions.total};
    GatherArgs items =
        axis.n > 0
            ? gather_args({*x, positions, out, value}, axis, GPUKERN_INDEX_FILL, gather_loop)
            : gather_args({out, positions, out, value}, all, GPUKERN_INDEX_FILL, gather_loop);
    items.path = GPUKERN_GATHER_DIRECT;
    join_items(items);
    device.run(items, stream);
  }

  const Call& call_;
};

void compress(const gpukern_tensor* raw_mask, const gpukern_tensor* raw_x, std::int32_t number,
              const gpukern_tensor* raw_out, const gpukern_select_options* options,
              const gpukern_exec* exec) {
  const Argument mask("compress", "mask", raw_mask);
  const Argument x("compress", "x", raw_x);
  const Argument out("compress", "out", raw_out);
  const gpukern_tensor* const raw_fill = checked_fill("compress", options);
  require_mask_dtype(mask);
  const Axis axis = checked_axis(x.tensor, number);
  const Tensor part = selecting_part(mask, x.tensor, axis, number == GPUKERN_AXIS_NONE);
  Tensor selected;
  selected.ndim = 1;
  selected.shape[0] = out.tensor.ndim > axis.first ? out.tensor.shape[axis.first] : 0;
  require_indexed_out(out, "x", x.tensor, indexed_shape("compress", x.tensor, selected, axis));
  const Tensor fill = raw_fill != nullptr
                          ? checked_fill_value("compress", raw_fill, x.tensor, axis, "x")
                          : Tensor();
  const Call call("compress", {&x, &mask, &out}, exec);
  if (out.tensor.count() == 0) return;
  const Compression compression(call);
  run_selection(
      call, "compress",
      {part, &x.tensor, out.tensor, axis, 0, call.stream, raw_fill != nullptr ? &fill : nullptr},
      exec, [&](Device& device, const SelectOperands& operands) {
        compression.enqueue(device, operands);
      });
}

}  // namespace
}  // namespace gpukern

extern "C" gpukern_status gpukern_compress(const gpukern_tensor* mask, const gpukern_tensor* x,
                                           int32_t axis, const gpukern_tensor* out,
                                           const gpukern_select_options* options,
                                           const gpukern_exec* exec) {
  return gpukern::guard([&] { gpukern::compress(mask, x, axis, out, options, exec); });
}
