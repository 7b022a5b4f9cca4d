// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>

#include "gpukern/stream.h"
#include "src/runtime/call.hpp"
#include "src/runtime/device.hpp"
#include "src/runtime/progress.hpp"

namespace gpukern {
namespace {

/// The operands of a copy, whose shapes and element sizes are equal.
struct Copy {
  Copy(const char* function, const gpukern_tensor* raw_source,
       const gpukern_tensor* raw_destination)
      : source(function, "source", raw_source),
        destination(function, "destination", raw_destination) {
    const Tensor& from = source.tensor;
    const Tensor& to = destination.tensor;
    require(to.item == from.item, GPUKERN_TYPE_ERROR, destination.name, " must have elements of ",
            from.item, " bytes like source, got ", to.item);
    require(same_shape(to, from), GPUKERN_VALUE_ERROR, destination.name, " must have shape ",
            from.shape_text(), ", got ", to.shape_text());
    require_writable(to, destination.name);
    require(!(from.device.cuda && to.device.cuda) || from.device == to.device, GPUKERN_VALUE_ERROR,
            destination.name, " must be in host memory or on ", device_name(from.device), ", got ",
            device_name(to.device));
    device_for(from.device);
    device_for(to.device);
  }

  /// Copies the elements, or explains the copy.
  void run(const char* function, const gpukern_exec* exec, decltype(transfer)& move) const {
    const Stream stream = checked_stream(exec);
    Progress progress(function, exec);
    progress.expect(destination.tensor.bytes());
    const bool on_gpu = source.tensor.device.cuda || destination.tensor.device.cuda;
    const cpu::StopScope stop(progress.stop_source({.cuda = on_gpu}));
    if (gpukern_explanation* explanation = checked_explanation(exec))
      record_transfer(*explanation, source.tensor, destination.tensor);
    else
      move(source.tensor, destination.tensor, stream);
  }

  Argument source;
  Argument destination;
};

/// Requires host memory that a GPU can copy after the call has returned.
void require_copied_later(const Argument& host, Device& gpu, Stream stream) {
  const Tensor& tensor = host.tensor;
  require(tensor.contiguous(), GPUKERN_VALUE_ERROR, host.name,
          " must be C-contiguous in host memory: it cannot be packed once the call has "
          "returned");
  if (tensor.count() == 0 || gpu.capture_of(stream) == 0) return;
  const Extent extent = extent_of(tensor);
  require(gpu.pinned_view(extent.begin, extent.end) != nullptr, GPUKERN_VALUE_ERROR, host.name,
          " must be page-locked while a CUDA graph is captured");
}

void copy_async(const gpukern_tensor* raw_source, const gpukern_tensor* raw_destination,
                const gpukern_exec* exec) {
  const Copy copy("copy_async", raw_source, raw_destination);
  const DeviceId from = copy.source.tensor.device;
  const DeviceId to = copy.destination.tensor.device;
  if (from != to)
    require_copied_later(from.cuda ? copy.destination : copy.source,
                         device_for(from.cuda ? from : to), checked_stream(exec));
  copy.run("copy_async", exec, enqueue_transfer);
}

/// Whether a device of the ABI means pinned memory, which exists only in a process with a GPU.
bool is_pinned(gpukern_device device) {
  return device.device_type == GPUKERN_CUDA_HOST && cuda_status().device_count > 0;
}

void* allocate(gpukern_device device, std::size_t bytes, Stream stream) {
  if (is_pinned(device))
    return device_for({true, pinning_device(device.device_id)}).allocate_pinned(bytes);
  return device_for(checked_device(device, {"allocate", "device"})).allocate_array(bytes, stream);
}

void release(gpukern_device device, void* data, Stream stream) {
  if (data == nullptr) return;
  if (is_pinned(device)) return release_pinned(data);
  device_for(checked_device(device, {"release", "device"})).release_array(data, stream);
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
    device_for(checked_device(device, {"allocate", "device"}));
    gpukern::require(bytes <= PTRDIFF_MAX, GPUKERN_MEMORY_ERROR, "allocate: bytes must be at most ",
                     PTRDIFF_MAX, ", got ", bytes);
    if (bytes > 0) *data = gpukern::allocate(device, bytes, checked_stream(exec));
  });
}

extern "C" gpukern_status gpukern_release(gpukern_device device, void* data,
                                          const gpukern_exec* exec) {
  return guard([&] { gpukern::release(device, data, checked_stream(exec)); });
}

extern "C" gpukern_status gpukern_pin(gpukern_device device, void* data, size_t bytes) {
  return guard([&] {
    gpukern::require(device.device_type == GPUKERN_CUDA_HOST, GPUKERN_VALUE_ERROR,
                     "pin: device must be GPUKERN_CUDA_HOST, got ", device.device_type);
    gpukern::require(data != nullptr && bytes > 0, GPUKERN_VALUE_ERROR,
                     "pin: data must not be NULL, nor bytes 0");
    if (!gpukern::is_pinned(device)) return;
    gpukern::device_for({true, gpukern::pinning_device(device.device_id)}).pin(data, bytes);
  });
}

extern "C" gpukern_status gpukern_unpin(void* data) {
  return guard([&] {
    if (gpukern::cuda_status().device_count > 0) gpukern::unpin(data);
  });
}

extern "C" gpukern_status gpukern_copy(const gpukern_tensor* source,
                                       const gpukern_tensor* destination,
                                       const gpukern_exec* exec) {
  return guard(
      [&] { gpukern::Copy("copy", source, destination).run("copy", exec, gpukern::transfer); });
}

extern "C" gpukern_status gpukern_copy_async(const gpukern_tensor* source,
                                             const gpukern_tensor* destination,
                                             const gpukern_exec* exec) {
  return guard([&] { gpukern::copy_async(source, destination, exec); });
}

extern "C" gpukern_status gpukern_synchronize(gpukern_device device, const gpukern_exec* exec) {
  return guard([&] {
    device_for(checked_device(device, {"synchronize", "device"})).synchronize(checked_stream(exec));
  });
}
