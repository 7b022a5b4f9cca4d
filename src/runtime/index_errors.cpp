// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/index_errors.hpp"

#include <algorithm>
#include <memory>
#include <string>

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
    record_ = static_cast<IndexRecord*>(device_.allocate_array(sizeof(IndexRecord), stream_));
    const IndexRecord empty;
    device_.upload(record_, &empty, sizeof empty, stream_);
    device_.synchronize(stream_);
  } catch (...) {
    if (record_ != nullptr) device_.release_array(record_, stream_);
    device_.release_stream(stream_);
    throw;
  }
}

gpukern_index_errors::~gpukern_index_errors() {
  try {
    wait();
    device_.release_array(record_, stream_);
    device_.release_stream(stream_);
  } catch (...) {
    // CUDA has failed, and its memory with it.
  }
}

void gpukern_index_errors::note_use(Stream stream) {
  if (device_.capture_of(stream) != 0) return;  // the work has not run, and may run several times
  const std::uint64_t number = device_.number_of(stream);
  const std::scoped_lock lock(mutex_);
  auto use = std::find_if(uses_.begin(), uses_.end(),
                          [&](const Use& other) { return other.stream == number; });
  if (use == uses_.end()) use = uses_.insert(uses_.end(), {number, nullptr});
  use->event = device_.record(stream, use->event);
}

void gpukern_index_errors::wait() {
  const std::scoped_lock lock(mutex_);
  while (!uses_.empty()) {
    device_.await_event(uses_.back().event);
    device_.release_event(uses_.back().event);
    uses_.pop_back();
  }
}

IndexRecord gpukern_index_errors::take() {
  wait();
  IndexRecord found;
  device_.download(&found, record_, sizeof found, stream_);
  if (found.found == 0) return found;
  const IndexRecord empty;
  device_.upload(record_, &empty, sizeof empty, stream_);
  device_.synchronize(stream_);
  return found;
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
