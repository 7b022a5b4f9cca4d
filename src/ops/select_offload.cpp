// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/select_offload.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "src/ops/packed_parts.hpp"
#include "src/ops/selection.hpp"
#include "src/runtime/profiler_range.hpp"

namespace gpukern {
namespace {

/// The operands of the loop over x, or over the mask without x. kPosition counts positions of the
/// mask.
enum ChunkedOperand { kMask, kX, kOut, kPosition };

/// What a chunk has in device memory.
enum Memory { kMaskMemory, kOutMemory, kXMemory };

constexpr std::int64_t kCoordinateBytes = sizeof(std::int64_t);

/// Along the axis, and in the dimensions before and after it.
struct Box {
  std::int64_t outer = 1;
  std::int64_t length = 1;
  std::int64_t inner = 1;
};

/// A vector of `count` elements in device memory.
Tensor vector(const Tensor& like, DeviceId device, std::byte* data, std::int64_t count) {
  Tensor tensor;
  tensor.ndim = 1;
  tensor.shape[0] = tensor.total = count;
  tensor.dtype = like.dtype;
  tensor.item = like.item;
  return contiguous_at(data, device, tensor);
}

class SelectInChunks {
 public:
  SelectInChunks(const Call& call, const SelectOperands& all, std::int64_t limit,
                 const EnqueueSelection& enqueue)
      : call_(call),
        all_(all),
        enqueue_(enqueue),
        columns_(all.x == nullptr ? all.mask.ndim : 1),
        flat_(all.x == nullptr || all.axis.last - all.axis.first == all.x->ndim),
        size_(all.out.shape[static_cast<std::size_t>(size_dimension())]),
        loop_(make_loop()),
        slices_(loop_, std::max<std::int64_t>(1, chunk(limit) / bytes_per_position())) {}

  void run(Progress& progress) {
    if (call_.explanation != nullptr) return explain(*call_.explanation);
    Pipeline pipeline(call_.device, call_.stream, progress, memory(), slices_.count());
    for (std::int64_t k = 0; k < slices_.count(); ++k)
      if (!pass(&pipeline, slices_[k])) progress.add(0);  // it may stop the call
    pipeline.finish();
    pad(progress);
  }

 private:
  /// The dimension of out along which there are selected items.
  [[nodiscard]] int size_dimension() const { return all_.x == nullptr ? 1 : all_.axis.first; }
  [[nodiscard]] std::int64_t item() const {
    return all_.x == nullptr ? kCoordinateBytes : all_.x->item;
  }

  [[nodiscard]] Loop<4> make_loop() const {
    const Tensor& over = all_.x == nullptr ? all_.mask : *all_.x;
    const bool same_shape = flat_ && all_.mask.ndim == over.ndim;
    std::array<std::array<std::int64_t, 4>, GPUKERN_MAX_NDIM> strides;
    std::int64_t position = 1;
    for (int d = over.ndim - 1; d >= 0; --d) {
      const std::int64_t step = flat_ ? position : d == all_.axis.number ? 1 : 0;
      const std::int64_t out = flat_ || step == 1 ? 0 : all_.out.stride[d];
      strides[static_cast<std::size_t>(d)] = {
          same_shape ? all_.mask.stride[d] : step * all_.mask.stride[0],
          all_.x != nullptr ? all_.x->stride[d] : 0, out, step};
      position *= over.shape[d];
    }
    Loop<4> loop;
    for (int d = 0; d < over.ndim; ++d) {
      const bool is_axis = !flat_ && d == all_.axis.number;
      loop.push(is_axis ? all_.mask.shape[0] : over.shape[d], strides[static_cast<std::size_t>(d)]);
    }
    return loop;
  }

  /// For the operand that needs the most; compress may need the positions of the items as well.
  [[nodiscard]] std::int64_t bytes_per_position() const {
    return std::max({all_.mask.item, item() * columns_, kCoordinateBytes + 1});
  }
  [[nodiscard]] std::int64_t chunk(std::int64_t limit) const {
    constexpr int kMemories = 4;  // with the scratch memory
    const auto bytes = static_cast<long double>(loop_.count()) * bytes_per_position();
    return chunk_bytes(limit, kMemories, reported(bytes), true);
  }
  [[nodiscard]] Pipeline::Operands memory() const {
    const Slice<4> largest = slices_[0];
    const Box box = box_of(largest.loop);
    const auto operand = [&](const Tensor& tensor, const Layout& whole, std::int64_t bytes) {
      return Pipeline::Operand{bytes, needs_staging(call_.device, tensor, whole) ? bytes : 0};
    };
    Pipeline::Operands operands{
        operand(all_.mask, layout_of(all_.mask), box.length * all_.mask.item),
        operand(all_.out, layout_of(all_.out), out_layout(largest.loop, box.length).bytes())};
    if (columns_ > 1 || !flat_) operands.back().staging_bytes = operands.back().device_bytes;
    if (all_.x != nullptr)
      operands.push_back(
          operand(*all_.x, layout_of(loop_, kX, item()), largest.loop.count() * item()));
    return operands;
  }

  [[nodiscard]] int axis_of(const Loop<4>& part) const {
    return all_.axis.number - (loop_.ndim - part.ndim);
  }
  [[nodiscard]] Box box_of(const Loop<4>& part) const {
    if (flat_) return {1, part.count(), 1};
    const int axis = axis_of(part);
    Box box;
    for (int d = 0; d < part.ndim; ++d)
      (d < axis ? box.outer : d == axis ? box.length : box.inner) *= part.extent[d];
    return box;
  }

  [[nodiscard]] Layout mask_layout(const Slice<4>& slice, std::int64_t length) const {
    if (all_.mask.ndim == 1) return {all_.mask.item, positions_of(length, all_.mask.stride[0])};
    return layout_of(slice.loop, kMask, all_.mask.item);
  }
  [[nodiscard]] Layout out_layout(const Loop<4>& part, std::int64_t selected) const {
    Layout layout{item(), {}};
    if (all_.x == nullptr) layout.loop.push(columns_, {all_.out.stride[0]});
    if (flat_) {
      layout.loop.push(selected, {all_.out.stride[size_dimension()]});
    } else {
      const int axis = axis_of(part);
      for (int d = 0; d < part.ndim; ++d)
        if (d == axis)
          layout.loop.push(selected, {all_.out.stride[size_dimension()]});
        else
          layout.loop.push(part.extent[d], {part.stride[kOut][d]});
    }
    layout.loop.coalesce();
    return layout;
  }

  /// The number of nonzero elements of a part of the mask in host memory.
  [[nodiscard]] std::int64_t count(const std::byte* mask, const Layout& layout) const {
    SelectArgs args = mask_args(all_.mask);
    args.mask = mask;
    args.loop = layout.loop;
    return call_.data_device.count_nonzero(args, nullptr);
  }

  /// Where the items of the mask from `first` on belong along the axis of out. The slices come in C
  /// order: along the axis, or again at one of its positions, or from its beginning.
  std::int64_t begin_at(std::int64_t first) {
    if (first == 0) {
      begin_ = end_ = 0;
    } else if (first != first_) {
      begin_ = end_;
    }
    first_ = first;
    return begin_;
  }

  /// Returns false if there is nothing to select.
  bool pass(Pipeline* pipeline, const Slice<4>& slice) {
    const Range range("select: chunk");
    const std::int64_t first = slice.offset[kPosition];
    const Box box = box_of(slice.loop);
    const std::int64_t length =
        flat_ ? std::min(box.length, all_.mask.count() - first) : box.length;
    if (length <= 0) return false;
    const Layout layout = mask_layout(slice, length);
    const std::byte* const mask = all_.mask.data + slice.offset[kMask];
    const std::int64_t begin = begin_at(first);
    if (begin == size_) return false;
    const bool dry = pipeline == nullptr;
    const std::int64_t selected = std::min(dry ? length : count(mask, layout), size_ - begin);
    end_ = begin + selected;
    if (selected == 0) return false;

    const Layout out = out_layout(slice.loop, selected);
    if (dry) {
      gpukern_explanation& explanation = *call_.explanation;
      add_reported(explanation.bytes_to_device, layout.bytes());
      if (all_.x != nullptr) add_reported(explanation.bytes_to_device, item() * slice.loop.count());
      add_reported(explanation.bytes_from_device, out.bytes());
      compute(slice, {nullptr, nullptr, nullptr}, length, selected, nullptr);
      return true;
    }
    Pipeline::Chunk& chunk = pipeline->next();
    chunk.send(kMaskMemory, mask, layout, chunk.memory(kMaskMemory));
    if (all_.x != nullptr)
      chunk.send(kXMemory, all_.x->data + slice.offset[kX], layout_of(slice.loop, kX, all_.x->item),
                 chunk.memory(kXMemory));
    compute(slice,
            {chunk.memory(kMaskMemory), chunk.memory(kOutMemory),
             all_.x != nullptr ? chunk.memory(kXMemory) : nullptr},
            length, selected, chunk.work());
    chunk.fetch(kOutMemory, chunk.memory(kOutMemory),
                all_.out.data + slice.offset[kOut] + begin * all_.out.stride[size_dimension()],
                out);
    return true;
  }

  void compute(const Slice<4>& slice, const std::array<std::byte*, 3>& data, std::int64_t length,
               std::int64_t selected, Stream stream) const {
    const DeviceId device = call_.device_id;
    const Box box = box_of(slice.loop);
    const Tensor mask = vector(all_.mask, device, data[kMaskMemory], length);
    Tensor out = vector(all_.out, device, data[kOutMemory], selected);
    if (all_.x == nullptr) {
      reshape(out, {columns_, selected});
      return enqueue_(call_.device, {mask, nullptr, out, {}, slice.offset[kPosition], stream});
    }
    Tensor x = vector(*all_.x, device, data[kXMemory], box.length);
    if (flat_) return enqueue_(call_.device, {mask, &x, out, {0, 0, 1, box.length}, 0, stream});
    reshape(x, {box.outer, box.length, box.inner});
    reshape(out, {box.outer, selected, box.inner});
    enqueue_(call_.device, {mask, &x, out, {1, 1, 2, box.length}, 0, stream});
  }

  static void reshape(Tensor& tensor, std::initializer_list<std::int64_t> shape) {
    tensor.ndim = 0;
    tensor.total = 1;
    for (const std::int64_t extent : shape) {
      tensor.shape[static_cast<std::size_t>(tensor.ndim++)] = extent;
      tensor.total *= extent;
    }
    tensor = contiguous_at(tensor.data, tensor.device, tensor);
  }

  /// Gives the rest of out the fill value.
  void pad(Progress& progress) const {
    if (end_ >= size_) return;
    const auto d = static_cast<std::size_t>(size_dimension());
    Tensor none = all_.mask;
    none.ndim = 1;
    none.shape[0] = none.total = 0;
    Tensor rest = all_.out;
    rest.data += end_ * rest.stride[d];
    rest.total = rest.total / size_ * (size_ - end_);
    rest.shape[d] = size_ - end_;
    enqueue_(call_.data_device, {none, all_.x, rest, all_.axis, 0, nullptr, all_.fill});
    progress.add(rest.bytes());
  }

  void explain(gpukern_explanation& explanation) {
    Pipeline::explain(explanation, memory(), slices_.count());
    std::int64_t scratch = 0;  // of the largest chunk
    const std::int64_t allocated = explanation.bytes_allocated;
    for (std::int64_t k = 0; k < slices_.count(); ++k) {
      explanation.bytes_allocated = allocated;
      pass(nullptr, slices_[k]);
      scratch = std::max(scratch, explanation.bytes_allocated - allocated);
    }
    explanation.bytes_allocated = allocated + scratch;
  }

  const Call& call_;
  const SelectOperands& all_;
  const EnqueueSelection& enqueue_;
  std::int64_t columns_;  ///< of out: coordinates
  bool flat_;             ///< whether the mask selects elements, and not rows along an axis
  std::int64_t size_;
  Loop<4> loop_;
  Slices<4> slices_;
  std::int64_t first_ = 0;  ///< of the last slice
  std::int64_t begin_ = 0;  ///< where its items are in out
  std::int64_t end_ = 0;
};

}  // namespace

void select_in_chunks(const Call& call, const SelectOperands& operands, std::int64_t limit,
                      Progress& progress, const EnqueueSelection& enqueue) {
  SelectInChunks(call, operands, limit, enqueue).run(progress);
}

}  // namespace gpukern
