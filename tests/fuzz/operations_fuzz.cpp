// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Calls an operation on the CPU with arguments that the input describes: valid ones, nearly valid
// ones and any others. No call accesses memory that its tensors do not describe, writes to anything
// but its result, or leaves a changed result after an error. Simple gathers are compared with a
// loop.
#include <vector>

#include "gpukern/saxpy_list.h"
#include "gpukern/stream.h"
#include "tests/fuzz/session.hpp"

namespace gpukern_fuzz {
namespace {

/// Compares a gather of one index with a loop.
void check_gather(const gpukern_tensor& source, const gpukern_tensor& index, std::int32_t axis,
                  const gpukern_tensor& out, std::int32_t mode) {
  const Range range(shape_of(source), axis);
  const auto before = static_cast<std::size_t>(range.first);
  const auto inner = static_cast<std::size_t>(index.ndim);
  const Shape sizes = shape_of(out);
  Shape position(sizes.size());
  std::int64_t k = 0;
  for_each_element(out, [&](std::uintptr_t address) {
    std::int64_t rest = k++;
    for (std::size_t d = sizes.size(); d-- > 0; rest /= sizes[d]) position[d] = rest % sizes[d];
    const auto middle = position.begin() + static_cast<std::ptrdiff_t>(before);
    const auto last = middle + static_cast<std::ptrdiff_t>(inner);
    const std::byte* at = Tensors::before(address_of(index, Shape(middle, last)));
    Wide value = 0;
    const std::size_t bits = index.dtype.bits;
    std::memcpy(&value, at, bits / 8);
    if (index.dtype.code == GPUKERN_INT && (value >> (bits - 1)) != 0) value -= Wide{1} << bits;
    const std::int64_t n = range.length;
    if (mode == GPUKERN_INDEX_WRAP) value = (value % n + n) % n;
    if (mode == GPUKERN_INDEX_CLIP) value = value < 0 ? 0 : value >= n ? n - 1 : value;
    if (mode == GPUKERN_INDEX_RAISE && value < 0) value += n;
    expect(value >= 0 && value < n, "gather accepted an index out of bounds");
    Shape from(position.begin(), middle);
    from.push_back(static_cast<std::int64_t>(value));
    from.insert(from.end(), last, position.end());
    const std::byte* item = Tensors::before(address_of(source, from));
    expect(
        std::memcmp(memory_at(address), item, static_cast<std::size_t>(bytes_of(out.dtype))) == 0,
        "gather differs from a loop");
  });
}

gpukern_status indexed_read(Session& call, bool along_axis) {
  const gpukern_tensor& source = call.tensors.add({});
  const std::int32_t axis = call.axis_of(source);
  const Shape from = shape_of(source);
  const Range range(from, axis);
  const Shape shape = axis == GPUKERN_AXIS_NONE ? Shape{4} : from;
  const gpukern_tensor& index = call.tensors.add(
      {.contents = Contents::kIndex, .shape = along_axis ? &shape : nullptr, .axis = range.length});
  const Shape at = shape_of(index);
  const Further further(call, from, axis, at);
  const Shape result = !along_axis                 ? replaced(from, further.axes(range, from), at)
                       : axis == GPUKERN_AXIS_NONE ? at
                                                   : along(from, at, range);
  const gpukern_tensor& out = call.tensors.add({.shape = &result, .like = &source});
  gpukern_gather_options fields = GPUKERN_GATHER_OPTIONS_INIT;
  fields.mode = call.input.number(4);
  fields.path = call.input.number(3);
  fields.out_may_change = call.input.byte() % 2;
  fields.fill_value = fill_value(call, source);
  fields.further_index_count = further.count;
  fields.further_indices = further.list();
  const SizedStruct<gpukern_gather_options> options(call.input, fields);
  call.out = &out;
  call.out_may_change = fields.out_may_change != 0;
  call.tensors.ready();
  const auto function = along_axis ? gpukern_take_along_axis : gpukern_gather;
  const gpukern_status status = function(call.given(source), call.given(index), axis,
                                         call.given(out), options.get(), call.exec.get());
  const std::int32_t mode = options.get() != nullptr ? fields.mode : GPUKERN_INDEX_RAISE;
  const bool one = options.get() == nullptr || further.count == 0;
  if (status == GPUKERN_SUCCESS && !along_axis && one && !call.explains &&
      axis != GPUKERN_AXIS_NONE && source.ndim > 0 && out.strides == nullptr &&
      mode != GPUKERN_INDEX_FILL && described(out).kind == Described::kMemory)
    check_gather(source, index, axis, out, mode);
  return status;
}

gpukern_status gather(Session& call) { return indexed_read(call, false); }
gpukern_status take_along_axis(Session& call) { return indexed_read(call, true); }

gpukern_status indexed_write(Session& call, bool along_axis) {
  const gpukern_tensor& target = call.tensors.add({});
  const std::int32_t axis = call.axis_of(target);
  const Shape to = shape_of(target);
  const Range range(to, axis);
  const Shape shape = axis == GPUKERN_AXIS_NONE ? Shape{4} : to;
  const gpukern_tensor& index = call.tensors.add(
      {.contents = Contents::kIndex, .shape = along_axis ? &shape : nullptr, .axis = range.length});
  const Shape at = shape_of(index);
  const Further further(call, to, axis, at);
  const Shape written = !along_axis                 ? replaced(to, further.axes(range, to), at)
                        : axis == GPUKERN_AXIS_NONE ? at
                                                    : along(to, at, range);
  const gpukern_tensor& values = call.tensors.add({.shape = &written, .like = &target});
  call.out =
      call.input.byte() % 2 == 0 ? nullptr : &call.tensors.add({.shape = &to, .like = &target});
  gpukern_scatter_options fields = GPUKERN_SCATTER_OPTIONS_INIT;
  fields.mode = call.input.number(4);
  fields.reduce = call.input.number(6);
  fields.order = call.input.number(2);
  fields.unique = call.input.byte() % 2;
  fields.further_index_count = further.count;
  fields.further_indices = further.list();
  const SizedStruct<gpukern_scatter_options> options(call.input, fields);
  call.tensors.ready();
  const gpukern_tensor* const out = call.out;
  if (out == nullptr) call.out = &target;
  const auto function = along_axis ? gpukern_put_along_axis : gpukern_scatter;
  return function(call.given(target), call.given(index), call.given(values), axis, out,
                  options.get(), call.exec.get());
}

gpukern_status scatter(Session& call) { return indexed_write(call, false); }
gpukern_status put_along_axis(Session& call) { return indexed_write(call, true); }

gpukern_status reduction(Session& call, bool indexed) {
  const gpukern_tensor& source = call.tensors.add({});
  const std::int32_t axis = call.axis_of(source);
  const Shape from = shape_of(source);
  const Range range(from, axis);
  const Shape length{1 + call.input.byte() % 64};
  const gpukern_tensor* index = nullptr;
  if (indexed)
    index =
        &call.tensors.add({.contents = Contents::kIndex, .shape = &length, .axis = range.length});
  const Shape bags{1 + call.input.byte() % 16};
  const gpukern_tensor& offsets = call.tensors.add(
      {.contents = Contents::kOffsets, .shape = &bags, .axis = indexed ? length[0] : range.length});
  const gpukern_tensor* weights = nullptr;
  if (indexed && call.input.byte() % 2 == 1)
    weights = &call.tensors.add({.shape = &length, .like = &source});
  const Shape result = replaced(from, range, {bags[0] - 1});
  call.out = &call.tensors.add({.shape = &result, .like = &source});
  gpukern_gather_reduce_options fields = GPUKERN_GATHER_REDUCE_OPTIONS_INIT;
  constexpr std::int32_t kReduce[] = {GPUKERN_REDUCE_ADD,      GPUKERN_REDUCE_MIN,
                                      GPUKERN_REDUCE_MAX,      GPUKERN_REDUCE_MEAN,
                                      GPUKERN_REDUCE_MULTIPLY, -1};
  fields.mode = call.input.number(4);
  fields.reduce = call.input.pick(kReduce);
  const SizedStruct<gpukern_gather_reduce_options> options(call.input, fields);
  call.tensors.ready();
  if (indexed)
    return gpukern_gather_reduce(call.given(source), call.given(*index), call.given(offsets),
                                 weights, axis, call.given(*call.out), options.get(),
                                 call.exec.get());
  return gpukern_segment_reduce(call.given(source), call.given(offsets), axis,
                                call.given(*call.out), options.get(), call.exec.get());
}

gpukern_status gather_reduce(Session& call) { return reduction(call, true); }
gpukern_status segment_reduce(Session& call) { return reduction(call, false); }

gpukern_status compress(Session& call) {
  const gpukern_tensor& x = call.tensors.add({});
  const std::int32_t axis = call.axis_of(x);
  const Shape from = shape_of(x);
  const Range range(from, axis);
  const Shape length{range.length};
  const gpukern_tensor& mask = call.tensors.add({.shape = &length});
  const Shape result = replaced(from, range, {call.input.byte() % 16});
  call.out = &call.tensors.add({.shape = &result, .like = &x});
  gpukern_select_options fields = GPUKERN_SELECT_OPTIONS_INIT;
  fields.fill_value = fill_value(call, x);
  const SizedStruct<gpukern_select_options> options(call.input, fields);
  call.tensors.ready();
  return gpukern_compress(call.given(mask), call.given(x), axis, call.given(*call.out),
                          options.get(), call.exec.get());
}

gpukern_status nonzero(Session& call) {
  const gpukern_tensor& mask = call.tensors.add({});
  gpukern_tensor position{};
  position.dtype = {GPUKERN_INT, 64, 1};
  const Shape result{std::clamp(mask.ndim, 0, GPUKERN_MAX_NDIM), call.input.byte() % 16};
  call.out = &call.tensors.add({.shape = &result, .like = &position});
  gpukern_select_options fields = GPUKERN_SELECT_OPTIONS_INIT;
  fields.fill_value = fill_value(call, *call.out);
  const SizedStruct<gpukern_select_options> options(call.input, fields);
  call.tensors.ready();
  return gpukern_nonzero(call.given(mask), call.given(*call.out), options.get(), call.exec.get());
}

gpukern_status count_nonzero(Session& call) {
  const gpukern_tensor& mask = call.tensors.add({});
  std::int64_t count = -1;
  std::int64_t* const result = call.input.byte() == 255 ? nullptr : &count;
  call.tensors.ready();
  const gpukern_status status = gpukern_count_nonzero(call.given(mask), result, call.exec.get());
  expect(status != GPUKERN_SUCCESS || count >= 0, "count_nonzero has no count");
  return status;
}

gpukern_status saxpy(Session& call) {
  const gpukern_tensor& x = call.tensors.add({});
  const Shape shape = shape_of(x);
  const gpukern_tensor& y = call.tensors.add({.shape = &shape, .like = &x});
  call.out = &call.tensors.add({.shape = &shape, .like = &x});
  const auto size = static_cast<std::size_t>(std::clamp<std::int64_t>(bytes_of(x.dtype), 1, 64));
  const auto a = std::make_unique<std::byte[]>(size);
  for (std::size_t k = 0; k < size; ++k) a[k] = std::byte{call.input.byte()};
  const void* const factor = call.input.byte() == 255 ? nullptr : a.get();
  call.tensors.ready();
  return gpukern_saxpy(factor, call.given(x), call.given(y), call.given(*call.out),
                       call.exec.get());
}

gpukern_status axpby(Session& call) {
  const gpukern_tensor* input[4];
  const gpukern_tensor& x = call.tensors.add({});
  const Shape shape = shape_of(x);
  const Shape one;
  input[0] = &x;
  for (int k = 1; k < 4; ++k) {
    const unsigned flags = call.input.byte();
    input[k] = &call.tensors.add(
        {.shape = flags % 4 == 3 ? &one : &shape, .like = flags % 8 < 4 ? &x : nullptr});
  }
  call.out = &call.tensors.add({.shape = &shape, .like = &x});
  gpukern_axpby_options fields = GPUKERN_AXPBY_OPTIONS_INIT;
  const unsigned flags = call.input.byte();
  fields.rounding = call.input.number(2);
  fields.seed = flags;
  const SizedStruct<gpukern_axpby_options> options(call.input, fields);
  call.tensors.ready();
  if (flags % 2 == 0)
    return gpukern_fma(call.given(*input[0]), call.given(*input[1]), call.given(*input[2]),
                       call.given(*call.out), options.get(), call.exec.get());
  return gpukern_axpby(call.given(*input[0]), call.given(*input[1]), call.given(*input[2]),
                       call.given(*input[3]), call.given(*call.out), options.get(),
                       call.exec.get());
}

/// Lists that write to one tensor.
gpukern_status saxpy_many(Session& call) {
  const gpukern_tensor& first = call.tensors.add({});
  const Shape shape = shape_of(first);
  call.out = &call.tensors.add({.shape = &shape, .like = &first});
  const std::size_t count = call.input.byte() % 4;
  std::vector<const gpukern_tensor*> added{&first};
  while (added.size() < 2 * count)
    added.push_back(&call.tensors.add({.shape = &shape, .like = &first}));
  const std::byte a[16]{std::byte{call.input.byte()}};
  const bool prepares = call.input.byte() % 2 == 0;
  call.tensors.ready();
  std::vector<const gpukern_tensor*> lists[3];
  for (std::size_t k = 0; k < count; ++k) {
    lists[0].push_back(call.given(*added[2 * k]));
    lists[1].push_back(call.given(*added[2 * k + 1]));
    lists[2].push_back(call.given(*call.out));
  }
  const auto x = lists[0].data();
  const auto y = lists[1].data();
  const auto out = lists[2].data();
  if (!prepares) return gpukern_saxpy_many(a, x, y, out, count, call.exec.get());
  gpukern_saxpy_list* list = nullptr;
  gpukern_status status = gpukern_saxpy_list_create(x, y, out, count, &list);
  if (status == GPUKERN_SUCCESS) status = gpukern_saxpy_list_run(list, a, call.exec.get());
  gpukern_saxpy_list_destroy(list);
  return status;
}

gpukern_status copy(Session& call) {
  const gpukern_tensor& source = call.tensors.add({});
  const Shape shape = shape_of(source);
  call.out = &call.tensors.add({.shape = &shape, .like = &source});
  const auto function = call.input.byte() % 2 == 0 ? gpukern_copy : gpukern_copy_async;
  call.tensors.ready();
  return function(call.given(source), call.given(*call.out), call.exec.get());
}

using Operation = gpukern_status(Session&);
// New ones come last: the first byte of an input of the corpus is the number of its operation.
constexpr Operation* kOperations[] = {
    gather,  take_along_axis, scatter, put_along_axis, gather_reduce, segment_reduce, compress,
    nonzero, count_nonzero,   saxpy,   copy,           axpby,         saxpy_many};

}  // namespace
}  // namespace gpukern_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gpukern_fuzz::expect;
  gpukern_fuzz::Input input(data, size);
  gpukern_fuzz::Operation* const operation = input.pick(gpukern_fuzz::kOperations);
  gpukern_fuzz::Session call(input);
  const gpukern_status status = operation(call);
  expect(status != GPUKERN_INTERNAL_ERROR && status != GPUKERN_CUDA_ERROR, gpukern_last_error());
  const bool writes = !call.explains && (status == GPUKERN_SUCCESS || status == GPUKERN_CANCELLED ||
                                         call.out_may_change);
  call.tensors.finish(writes ? call.out : nullptr);
  return 0;
}
