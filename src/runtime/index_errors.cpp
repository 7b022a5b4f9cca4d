// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/index_errors.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

using gpukern::DeviceId;
using gpukern::guard;
using gpukern::IndexRecord;
using gpukern::require;
using gpukern::Stream;

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
  try {
    await(uses_);
  } catch (...) {  // NOLINT(bugprone-empty-catch): CUDA has failed, there is nothing to wait for
  }
  release();
}

void gpukern_index_errors::release() noexcept {
  const auto attempt = [](const auto& step) {
    try {
      step();
    } catch (...) {  // NOLINT(bugprone-empty-catch): CUDA has failed, and its memory with it
    }
  };
  for (const Use& use : uses_) attempt([&] { device_.release_event(use.event); });
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
    device_.release_array(record, stream_);
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
  enqueue(records_[current_]);
  const auto use = std::ranges::find(uses_, number, &Use::stream);
  if (use != uses_.end())
    use->event = device_.record(stream, use->event);
  else
    uses_.push_back({number, device_.record(stream, nullptr)});
}

void gpukern_index_errors::await(std::vector<Use>& uses) {
  while (!uses.empty()) {
    device_.await_event(uses.back().event);
    device_.release_event(uses.back().event);
    uses.pop_back();
  }
}

IndexRecord gpukern_index_errors::empty(IndexRecord* record) {
  IndexRecord found;
  device_.download(&found, record, sizeof found, stream_);
  if (found.found == 0) return found;
  const IndexRecord none;
  device_.upload(record, &none, sizeof none, stream_);
  device_.synchronize(stream_);
  return found;
}

IndexRecord gpukern_index_errors::take() {
  const std::scoped_lock one_check(checks_);
  std::vector<Use> uses;
  std::vector<GraphRecord> graphs;
  IndexRecord* record = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    record = records_[current_];
    current_ = 1 - current_;
    uses.swap(uses_);
    graphs = graphs_;
  }
  try {
    await(uses);
  } catch (...) {
    const std::scoped_lock lock(mutex_);
    uses_.insert(uses_.end(), uses.begin(), uses.end());  // to be released
    throw;
  }
  IndexRecord first = empty(record);
  for (const GraphRecord& graph : graphs) {
    const IndexRecord other = empty(graph.record);
    if (other.found != 0 && first.is_after(other.origin, other.bad.position)) first = other;
  }
  return first;
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
    // The size in ABI 1. Write a later field only if struct_size covers it.
    constexpr std::size_t kFirstSize = offsetof(gpukern_bad_index, size) + sizeof(std::int64_t);
    require(errors != nullptr, GPUKERN_VALUE_ERROR, "index_errors_check: errors must not be NULL");
    require(first == nullptr || first->struct_size >= kFirstSize, GPUKERN_VALUE_ERROR,
            "index_errors_check: first must have struct_size = ", kFirstSize, " or more, got ",
            first == nullptr ? 0 : first->struct_size);
    const IndexRecord record = errors->take();
    if (record.found == 0) return;
    const auto& [function, call, axis, is_signed, n] = record.origin;
    if (first != nullptr)
      *first = {first->struct_size, function, call, record.bad.position, record.bad.value, axis, n};
    gpukern::fail(GPUKERN_INDEX_ERROR, "index ", gpukern::value_text(record.bad, is_signed),
                  " is out of bounds for axis ", axis, " with size ", n, " (call ", call, ", ",
                  function, ", index ", record.bad.position, " in C order)");
  });
}

extern "C" gpukern_status gpukern_index_errors_destroy(gpukern_index_errors* errors) {
  return guard([&] { const std::unique_ptr<gpukern_index_errors> owned(errors); });
}
