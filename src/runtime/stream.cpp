// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "gpukern/stream.h"

#include "src/runtime/device.hpp"

using gpukern::checked_device;
using gpukern::device_for;
using gpukern::guard;
using gpukern::require;

extern "C" gpukern_status gpukern_pointer_device(const void* data, gpukern_device* device) {
  return guard([&] {
    require(device != nullptr, GPUKERN_VALUE_ERROR, "pointer_device: device must not be NULL");
    *device = gpukern::pointer_device(data);
  });
}

extern "C" gpukern_status gpukern_stream_wait(gpukern_device device, void* stream, void* other) {
  return guard(
      [&] { device_for(checked_device(device, {"stream_wait", "device"})).wait(stream, other); });
}

extern "C" gpukern_status gpukern_stream_capture(gpukern_device device, void* stream,
                                                 uint64_t* capture) {
  return guard([&] {
    require(capture != nullptr, GPUKERN_VALUE_ERROR, "stream_capture: capture must not be NULL");
    *capture = device_for(checked_device(device, {"stream_capture", "device"})).capture_of(stream);
  });
}

extern "C" gpukern_status gpukern_event_record(gpukern_device device, void* stream,
                                               gpukern_event** event) {
  return guard([&] {
    require(event != nullptr, GPUKERN_VALUE_ERROR, "event_record: event must not be NULL");
    *event = static_cast<gpukern_event*>(
        device_for(checked_device(device, {"event_record", "device"})).record(stream, *event));
  });
}

extern "C" gpukern_status gpukern_stream_wait_event(gpukern_device device, void* stream,
                                                    const gpukern_event* event) {
  return guard([&] {
    gpukern::Device& on = device_for(checked_device(device, {"stream_wait_event", "device"}));
    if (event != nullptr) on.wait_event(stream, const_cast<gpukern_event*>(event));
  });
}

extern "C" gpukern_status gpukern_event_query(gpukern_device device, const gpukern_event* event,
                                              int32_t* done) {
  return guard([&] {
    require(done != nullptr, GPUKERN_VALUE_ERROR, "event_query: done must not be NULL");
    gpukern::Device& on = device_for(checked_device(device, {"event_query", "device"}));
    *done = event == nullptr || on.is_done(const_cast<gpukern_event*>(event)) ? 1 : 0;
  });
}

extern "C" gpukern_status gpukern_event_release(gpukern_device device, gpukern_event* event) {
  return guard([&] {
    if (event == nullptr) return;
    device_for(checked_device(device, {"event_release", "device"})).release_event(event);
  });
}
