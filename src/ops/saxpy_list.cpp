// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/saxpy_list.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "src/ops/saxpy.hpp"
#include "src/runtime/pipeline_tuning.hpp"

namespace gpukern {
namespace {

/// The memory of an array of an item of a list.
struct ItemExtent {
  const std::byte* begin;
  const std::byte* end;
  std::size_t item;
};

ItemExtent extent_in(const Tensor& tensor, std::size_t item) {
  const Extent extent = extent_of(tensor);
  return {extent.begin, extent.end, item};
}

void sort_extents(std::vector<ItemExtent>& extents) {
  // Lists are often in the order of their allocation.
  if (!std::ranges::is_sorted(extents, {}, &ItemExtent::begin))
    std::ranges::sort(extents, {}, &ItemExtent::begin);
}

/// Whether no item writes what another one reads or writes. An input that is the output of its item
/// may be left out.
bool are_independent(std::vector<ItemExtent>& outputs, std::vector<ItemExtent>& inputs) {
  sort_extents(outputs);
  for (std::size_t k = 1; k < outputs.size(); ++k)
    if (outputs[k].begin < outputs[k - 1].end) return false;
  sort_extents(inputs);
  auto first = outputs.begin();
  for (const ItemExtent& input : inputs) {
    while (first != outputs.end() && first->end <= input.begin) ++first;
    for (auto out = first; out != outputs.end() && out->begin < input.end; ++out)
      if (out->item != input.item) return false;
  }
  return true;
}

/// The arguments of one item, checked.
struct CheckedItem {
  CheckedItem(const char* function, const gpukern_tensor* raw_x, const gpukern_tensor* raw_y,
              const gpukern_tensor* raw_out, std::size_t item)
      : x({function, "x", static_cast<std::int64_t>(item)}, raw_x),
        y({function, "y", static_cast<std::int64_t>(item)}, raw_y),
        out({function, "out", static_cast<std::int64_t>(item)}, raw_out) {
    check_saxpy(x, y, out);
  }
  Argument x;
  Argument y;
  Argument out;
};

}  // namespace
}  // namespace gpukern

using gpukern::Argument;
using gpukern::Call;
using gpukern::CheckedItem;
using gpukern::dtype_name;
using gpukern::guard;
using gpukern::ItemExtent;
using gpukern::Progress;
using gpukern::require;
using gpukern::same_dtype;
using gpukern::SaxpyEntry;
using gpukern::Tensor;

gpukern_saxpy_list::gpukern_saxpy_list(const char* function, Tensors x, Tensors y, Tensors out,
                                       std::size_t count)
    : function_(function) {
  for (const auto& [name, tensors] : {std::pair{"x", x}, std::pair{"y", y}, std::pair{"out", out}})
    require(tensors != nullptr || count == 0, GPUKERN_VALUE_ERROR, function, ": ", name,
            " must not be NULL");
  entries_.reserve(count);
  std::vector<ItemExtent> outputs;
  std::vector<ItemExtent> inputs;
  outputs.reserve(count);
  inputs.reserve(2 * count);
  for (std::size_t k = 0; k < count; ++k) {
    const CheckedItem item(function, x[k], y[k], out[k], k);
    if (first_ == nullptr) first_ = std::make_unique<const Argument>(item.x);
    for (const Argument* argument : {&item.x, &item.y, &item.out}) require_like_first(*argument);
    if (item.out.tensor.count() == 0) continue;
    add(item.x, item.y, item.out);
    outputs.push_back(gpukern::extent_in(item.out.tensor, k));
    for (const Tensor* input : {&item.x.tensor, &item.y.tensor})
      if (!same_layout(*input, item.out.tensor)) inputs.push_back(gpukern::extent_in(*input, k));
  }
  if (gpukern::are_independent(outputs, inputs)) return;
  entries_.clear();
  others_.clear();
  for (std::size_t k = 0; k < count; ++k) {
    const CheckedItem item(function, x[k], y[k], out[k], k);
    if (item.out.tensor.count() > 0)
      others_.push_back({item.x.tensor, item.y.tensor, item.out.tensor});
  }
}

void gpukern_saxpy_list::require_like_first(const Argument& argument) const {
  const Tensor& first = first_->tensor;
  require(same_dtype(argument.tensor.dtype, first.dtype), GPUKERN_TYPE_ERROR, argument.name,
          " must have the dtype of x[0], ", dtype_name(first.dtype), ", got ",
          dtype_name(argument.tensor.dtype));
  require(argument.tensor.device == first.device, GPUKERN_VALUE_ERROR, argument.name,
          " must be on ", device_name(first.device), " like x[0], got ",
          device_name(argument.tensor.device));
}

void gpukern_saxpy_list::add(const Argument& x, const Argument& y, const Argument& out) {
  gpukern::add_reported(bytes_, out.tensor.bytes());
  bool contiguous = true;
  for (const Argument* argument : {&x, &y, &out})
    contiguous = contiguous && argument->tensor.contiguous();
  if (contiguous && !clashes(out.tensor, x.tensor) && !clashes(out.tensor, y.tensor)) {
    entries_.push_back({x.tensor.data, y.tensor.data, out.tensor.data, out.tensor.count()});
    gpukern::add_reported(count_, out.tensor.count());
  } else {
    others_.push_back({x.tensor, y.tensor, out.tensor});
  }
}

Tensor gpukern_saxpy_list::flat(const std::byte* data, std::int64_t count) const {
  Tensor tensor;
  tensor.data = const_cast<std::byte*>(data);  // NOLINT(*-const-cast): as that of an input
  tensor.device = first_->tensor.device;
  tensor.dtype = first_->tensor.dtype;
  tensor.item = tensor.stride[0] = first_->tensor.item;
  tensor.total = tensor.shape[0] = count;
  tensor.ndim = 1;
  return tensor;
}

void gpukern_saxpy_list::run_entries(const Call& call, const void* a, std::size_t begin,
                                     std::size_t end, std::int64_t count) const {
  gpukern::SaxpyManyArgs args;
  args.dtype = first_->tensor.dtype;
  args.item = first_->tensor.item;
  std::memcpy(args.a, a, static_cast<std::size_t>(args.item));
  args.entries = std::span(entries_).subspan(begin, end - begin);
  args.count = count;
  call.device.run(args, call.stream);
}

void gpukern_saxpy_list::run_in_groups(const Call& call, const void* a, const gpukern_exec* exec,
                                       Progress& progress) const {
  const std::int64_t item = first_->tensor.item;
  const std::int64_t most = call.is_offloaded() ? 0 : gpukern::kReportBytes / item;
  for (std::size_t begin = 0; begin < entries_.size();) {
    const SaxpyEntry& entry = entries_[begin];
    std::int64_t count = entry.count;
    std::size_t end = begin + 1;
    while (end < entries_.size() && count <= most - entries_[end].count)
      count += entries_[end++].count;
    if (end == begin + 1) {
      run_saxpy(call, a, flat(entry.x, count), flat(entry.y, count), flat(entry.out, count), exec,
                progress);
    } else {
      const gpukern::cpu::StopScope stop(progress.stop_source(call.device_id));
      run_entries(call, a, begin, end, count);
      progress.add(count * item);
    }
    begin = end;
  }
}

void gpukern_saxpy_list::run(const void* a, const gpukern_exec* exec) const {
  require(a != nullptr, GPUKERN_VALUE_ERROR, function_, ": a must not be NULL");
  const Call call = first_ != nullptr
                        ? Call(function_, {first_.get()}, exec)
                        : Call(gpukern::DeviceChoice{{}, GPUKERN_RULE_HOST}, {}, exec);
  Progress progress(function_, exec);
  progress.expect(bytes_);
  const bool reports = progress.wanted() && !call.device_id.cuda;
  if (call.is_offloaded() || reports || entries_.size() == 1)
    run_in_groups(call, a, exec, progress);
  else if (!entries_.empty())
    run_entries(call, a, 0, entries_.size(), count_);
  for (const Item& item : others_) run_saxpy(call, a, item.x, item.y, item.out, exec, progress);
}

extern "C" gpukern_status gpukern_saxpy_list_create(const gpukern_tensor* const* x,
                                                    const gpukern_tensor* const* y,
                                                    const gpukern_tensor* const* out, size_t count,
                                                    gpukern_saxpy_list** list) {
  return guard([&] {
    require(list != nullptr, GPUKERN_VALUE_ERROR, "saxpy_list: list must not be NULL");
    *list = nullptr;
    *list = std::make_unique<gpukern_saxpy_list>("saxpy_list", x, y, out, count).release();
  });
}

extern "C" gpukern_status gpukern_saxpy_list_run(const gpukern_saxpy_list* list, const void* a,
                                                 const gpukern_exec* exec) {
  return guard([&] {
    require(list != nullptr, GPUKERN_VALUE_ERROR, "saxpy_list: list must not be NULL");
    list->run(a, exec);
  });
}

extern "C" gpukern_status gpukern_saxpy_list_destroy(gpukern_saxpy_list* list) {
  return guard([&] { delete list; });
}
