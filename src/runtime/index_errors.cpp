// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/index_errors.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "src/runtime/attempt.hpp"

using gpukern::attempt;
using gpukern::DeviceId;
using gpukern::Error;
using gpukern::guard;
using gpukern::IndexRecord;
using gpukern::require;
using gpukern::require_struct_size;
using gpukern::Stream;

namespace {

Error error_of(const IndexRecord& record) {
  const auto& [function, call, axis, is_signed, n] = record.origin;
  return {GPUKERN_INDEX_ERROR, "index " + gpukern::value_text(record.bad, is_signed) +
                                   " is out of bounds for axis " + std::to_string(axis) +
                                   " with size " + std::to_string(n) + " (call " +
                                   std::to_string(call) + ", " + function + ", index " +
                                   std::to_string(record.bad.position) + " in C order)"};
}

}  // namespace

gpukern_index_errors::gpukern_index_errors(DeviceId its_device)
    : device_id_(its_device),
      device_(gpukern::device_for(its_device)),
      stream_(device_.make_stream()) {
  try {
    for (IndexRecord*& record : records_) record = new_record(stream_);
  } catch (...) {
    release();
    throw;
  }
}

gpukern_index_errors::~gpukern_index_errors() {
  attempt([&] { await(awaited_); });
  attempt([&] { await(uses_); });
  release();
}

void gpukern_index_errors::release() noexcept {
  for (const std::vector<Use>* uses : {&awaited_, &uses_})
    for (const Use& use : *uses) attempt([&] { device_.release_event(use.event); });
  for (const GraphRecord& graph : graphs_)
    attempt([&] { device_.release_array(graph.record, stream_); });
  for (IndexRecord* const record : records_)
    if (record != nullptr) attempt([&] { device_.release_array(record, stream_); });
  attempt([&] { device_.release_stream(stream_); });
}

IndexRecord* gpukern_index_errors::new_record(Stream stream) {
  auto* const record =
      static_cast<IndexRecord*>(device_.allocate_array(sizeof(IndexRecord), stream));
  try {
    const IndexRecord none;
    device_.upload(record, &none, sizeof none, stream_);
    device_.synchronize(stream_);
  } catch (...) {
    attempt([&] { device_.release_array(record, stream_); });
    throw;
  }
  return record;
}

IndexRecord* gpukern_index_errors::record_of_capture(std::uint64_t capture, Stream stream) {
  const auto found = std::ranges::find(graphs_, capture, &GraphRecord::capture);
  if (found != graphs_.end()) return found->record;
  graphs_.push_back({capture, nullptr});
  try {
    graphs_.back().record = new_record(stream);  // the graph keeps this memory
  } catch (...) {
    graphs_.pop_back();
    throw;
  }
  return graphs_.back().record;
}

std::int64_t gpukern_index_errors::next_call() {
  const std::scoped_lock lock(mutex_);
  return calls_++;
}

void gpukern_index_errors::use(Stream stream, const std::function<void(IndexRecord*)>& enqueue) {
  const std::uint64_t capture = device_.capture_of(stream);
  const std::scoped_lock lock(mutex_);
  if (capture != 0) return enqueue(record_of_capture(capture, stream));
  const std::uint64_t number = device_.number_of(stream);
  auto use = std::ranges::find(uses_, number, &Use::stream);
  if (use == uses_.end()) use = uses_.insert(use, {number, nullptr});
  try {
    enqueue(records_[current_]);
    use->event = device_.record(stream, use->event);
  } catch (...) {
    attempt([&] { device_.synchronize(stream); });  // enqueued work must not outlive the record
    if (use->event == nullptr) uses_.erase(use);
    throw;
  }
}

void gpukern_index_errors::await(std::vector<Use>& uses) {
  while (!uses.empty()) {
    device_.await_event(uses.back().event);
    attempt([&] { device_.release_event(uses.back().event); });
    uses.pop_back();
  }
}

void gpukern_index_errors::empty(IndexRecord* record) {
  IndexRecord found;
  device_.download(&found, record, sizeof found, stream_);
  if (found.found == 0) return;
  if (first_.is_after(found.origin, found.bad.position)) first_ = found;
  const IndexRecord none;
  device_.upload(record, &none, sizeof none, stream_);
  device_.synchronize(stream_);
}

void gpukern_index_errors::collect() {
  await(awaited_);
  std::vector<GraphRecord> graphs;
  {
    const std::scoped_lock lock(mutex_);
    graphs = graphs_;
    if (!unread_) current_ = 1 - current_;
    unread_ = true;
    awaited_.swap(uses_);
  }
  await(awaited_);
  empty(records_[1 - current_]);
  for (const GraphRecord& graph : graphs) empty(graph.record);
  unread_ = false;
}

std::optional<Error> gpukern_index_errors::take(IndexRecord& first) {
  const std::scoped_lock one_check(checks_);
  if (unread_) collect();
  collect();
  if (first_.found == 0) return std::nullopt;
  Error error = error_of(first_);  // without memory for it, the next check reports
  first = std::exchange(first_, IndexRecord{});
  return error;
}

extern "C" gpukern_status gpukern_index_errors_create(gpukern_device device,
                                                      gpukern_index_errors** errors) {
  return guard([&] {
    require(errors != nullptr, GPUKERN_VALUE_ERROR, "index_errors_create: errors must not be NULL");
    *errors = nullptr;
    const DeviceId id = gpukern::checked_device(device, {"index_errors_create", "device"});
    require(id.cuda, GPUKERN_VALUE_ERROR, "index_errors_create: device must be a CUDA device, got ",
            gpukern::device_name(id));
    *errors = std::make_unique<gpukern_index_errors>(id).release();
  });
}

extern "C" gpukern_status gpukern_index_errors_check(gpukern_index_errors* errors,
                                                     gpukern_bad_index* first) {
  return guard([&] {
    constexpr std::size_t kFirstSize = offsetof(gpukern_bad_index, size) + sizeof(std::int64_t);
    require(errors != nullptr, GPUKERN_VALUE_ERROR, "index_errors_check: errors must not be NULL");
    if (first != nullptr)
      require_struct_size("index_errors_check: first", first->struct_size, kFirstSize);
    IndexRecord record;
    const std::optional<Error> error = errors->take(record);
    if (!error) return;
    const auto& [function, call, axis, is_signed, n] = record.origin;
    if (first != nullptr)
      *first = {first->struct_size, function, call, record.bad.position, record.bad.value, axis, n};
    throw *error;
  });
}

extern "C" gpukern_status gpukern_index_errors_destroy(gpukern_index_errors* errors) {
  return guard([&] { const std::unique_ptr<gpukern_index_errors> owned(errors); });
}
