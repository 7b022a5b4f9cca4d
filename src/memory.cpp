// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "backend.hpp"
#include "call.hpp"

namespace gpukern {
namespace {

void copy(const gpukern_tensor* raw_source, const gpukern_tensor* raw_destination,
          const gpukern_exec* exec) {
  const Argument source("copy", "source", raw_source);
  const Argument destination("copy", "destination", raw_destination);
  const Tensor& from = source.tensor;
  const Tensor& to = destination.tensor;
  require(to.item == from.item, GPUKERN_TYPE_ERROR, destination.name, " must have elements of ",
          from.item, " bytes like source, got ", to.item);
  require(same_shape(to, from), GPUKERN_VALUE_ERROR, destination.name, " must have shape ",
          from.shape_text(), ", got ", to.shape_text());
  require_writable(to, destination.name);
  require(!(from.device.cuda && to.device.cuda) || from.device == to.device, GPUKERN_VALUE_ERROR,
          destination.name, " must lie on the host or on ", device_name(from.device), ", got ",
          device_name(to.device));
  const Stream stream = checked_stream(exec);
  backend_for(from.device);
  backend_for(to.device);
  if (gpukern_plan* plan = checked_plan(exec))
    plan_transfer(*plan, from, to);
  else
    transfer(from, to, stream);
}

/// Whether a device of the ABI means pinned memory, which only a process with a GPU has.
bool is_pinned(gpukern_device device) {
  return device.device_type == GPUKERN_CUDA_HOST && cuda_status().device_count > 0;
}

/// The backend that pins, and that lets go what any of them has pinned.
Backend& pinning_backend() { return backend_for({true, 0}); }

void* allocate(gpukern_device device, std::size_t bytes, Stream stream) {
  if (is_pinned(device)) return pinning_backend().allocate_pinned(bytes);
  return backend_for(checked_device(device, {"allocate", "device"})).allocate_array(bytes, stream);
}

void release(gpukern_device device, void* data, Stream stream) {
  if (data == nullptr) return;
  if (is_pinned(device)) return pinning_backend().release_pinned(data);
  backend_for(checked_device(device, {"release", "device"})).release_array(data, stream);
}

}  // namespace
}  // namespace gpukern

using gpukern::checked_device;
using gpukern::checked_stream;
using gpukern::guard;

extern "C" gpukern_status gpukern_allocate(gpukern_device device, size_t bytes,
                                           const gpukern_exec* exec, void** data) {
  return guard([&] {
    gpukern::require(data != nullptr, GPUKERN_VALUE_ERROR, "allocate: data must not be NULL");
    *data = nullptr;
    backend_for(checked_device(device, {"allocate", "device"}));
    gpukern::require(bytes <= PTRDIFF_MAX, GPUKERN_MEMORY_ERROR, "allocate: bytes must be at most ",
                     PTRDIFF_MAX, ", got ", bytes);
    if (bytes > 0) *data = gpukern::allocate(device, bytes, checked_stream(exec));
  });
}

extern "C" gpukern_status gpukern_release(gpukern_device device, void* data,
                                          const gpukern_exec* exec) {
  return guard([&] { gpukern::release(device, data, checked_stream(exec)); });
}

extern "C" gpukern_status gpukern_copy(const gpukern_tensor* source,
                                       const gpukern_tensor* destination,
                                       const gpukern_exec* exec) {
  return guard([&] { gpukern::copy(source, destination, exec); });
}

extern "C" gpukern_status gpukern_synchronize(gpukern_device device, const gpukern_exec* exec) {
  return guard([&] {
    backend_for(checked_device(device, {"synchronize", "device"}))
        .synchronize(checked_stream(exec));
  });
}
