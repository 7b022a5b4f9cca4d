// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A device: it runs operations, and has memory, streams and events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "src/core/operation.hpp"
#include "src/core/tensor.hpp"
#include "src/core/updates.hpp"

namespace gpukern {

/// A stream of a device. The CPU has none: it ignores the argument, and its work is complete on
/// return.
using Stream = void*;

/// A point in a stream's work; nullptr for none.
using Event = void*;

/// A host function that a stream calls.
using HostFunction = void (*)(void* context);

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// Enqueues an operation.
  virtual void run(const Operation& operation, Stream stream) = 0;
  /// Runs a gather in mode "raise" whose indices have not been checked, and waits for the stream.
  /// Returns false if an index is out of bounds, or if the device does not check indices in this
  /// call and has done nothing. `out` is then unspecified, or unchanged if out_may_change is false;
  /// on a GPU, out_may_change must be true.
  virtual bool gather_checked(const GatherArgs& /*args*/, Stream /*stream*/) { return false; }
  /// Whether a gather of this many items may have the tuple in place of its index.
  virtual bool takes_tuple(const IndexTuple& /*tuple*/, std::int64_t /*count*/,
                           std::int64_t /*item_bytes*/, gpukern_gather_path /*path*/) {
    return false;
  }
  /// What run() would do.
  virtual Strategy strategy(const Operation& operation) = 0;

  /// Checks several arrays of indices and waits for the stream; `checks` has an element for each.
  virtual void check_indices(std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                             Stream stream) = 0;
  /// The number of nonzero elements of a mask. Waits for the stream.
  virtual std::int64_t count_nonzero(const SelectArgs& args, Stream stream) = 0;

  /// Sorts the updates of a scatter by slices of the target; of the CPU only. `shift` leaves at
  /// most SlicedUpdates::kMaxSlices slices.
  virtual SlicedUpdates slice_updates(const ScatterArgs& /*args*/, int /*shift*/) { return {}; }

  /// Allocates the scratch memory of one call; if the stream is captured, it is part of the graph.
  virtual void* allocate(std::size_t bytes, Stream stream) = 0;
  virtual void release(void* data, Stream stream) = 0;
  /// Allocates memory for the user, at a fixed address for as long as the user or a graph needs it.
  virtual void* allocate_array(std::size_t bytes, Stream stream) { return allocate(bytes, stream); }
  virtual void release_array(void* data, Stream stream) { release(data, stream); }
  /// Copies bytes between contiguous host memory and the device's memory. On return the host memory
  /// can be reused and, after download(), holds the bytes.
  virtual void upload(void* to, const void* from_host, std::size_t bytes, Stream stream) = 0;
  virtual void download(void* to_host, const void* from, std::size_t bytes, Stream stream) = 0;
  /// Writes one element of up to kMostSetBytes, which is read before the call returns. Does not
  /// wait.
  virtual void set(void* to, const void* element, std::size_t bytes, Stream stream) {
    upload(to, element, bytes, stream);
  }
  static constexpr std::size_t kMostSetBytes = 16;
  virtual void synchronize(Stream stream) = 0;

  // For pipelines between host and device memory. Only pinned (page-locked) host memory is copied
  // asynchronously.
  virtual Stream make_stream() { return nullptr; }
  virtual void release_stream(Stream /*stream*/) {}
  virtual void* allocate_pinned(std::size_t bytes) { return allocate(bytes, nullptr); }
  virtual void release_pinned(void* data) { release(data, nullptr); }
  /// Page-locks host memory of the caller.
  virtual void pin(void* /*data*/, std::size_t /*bytes*/) {}
  virtual void enqueue_upload(void* to, const void* pinned, std::size_t bytes, Stream stream) {
    upload(to, pinned, bytes, stream);
  }
  virtual void enqueue_download(void* pinned, const void* from, std::size_t bytes, Stream stream) {
    download(pinned, from, bytes, stream);
  }
  /// Enqueues a host function, which runs on a thread of the driver. It must not throw or call a
  /// device. It is not called if the device fails first.
  virtual void enqueue_host(HostFunction function, void* context, Stream /*stream*/) {
    function(context);
  }
  /// The address at which the device accesses the host memory [begin, end); nullptr unless all of
  /// it is pinned and belongs to one allocation.
  virtual std::byte* pinned_view(const std::byte* /*begin*/, const std::byte* /*end*/) {
    return nullptr;
  }

  // The order between streams. A device whose work is complete when a call returns needs none.
  virtual void wait(Stream /*stream*/, Stream /*other*/) {}
  /// An identifier that no other stream of this device has or had, regardless of its handle;
  /// unspecified while the stream is captured.
  virtual std::uint64_t number_of(Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream);
  }
  /// An identifier of the stream's capture into a graph, 0 if there is none.
  virtual std::uint64_t capture_of(Stream /*stream*/) { return 0; }
  /// Records the event in the stream; creates an event for nullptr. If the stream is captured,
  /// releases the event and returns nullptr.
  virtual Event record(Stream /*stream*/, Event event) { return event; }
  virtual void wait_event(Stream /*stream*/, Event /*event*/) {}
  virtual bool is_done(Event /*event*/) { return true; }
  /// Waits on the host.
  virtual void await_event(Event /*event*/) {}
  virtual void release_event(Event /*event*/) {}
};

/// Throws GPUKERN_DEVICE_ERROR if there is no such CUDA device.
void require_cuda_device(int device_id);

/// Throws GPUKERN_DEVICE_ERROR if there is no such device.
Device& device_for(DeviceId device);

/// The contents of gpukern_cuda_info and gpukern_device_info, also without a CUDA build.
struct CudaStatus {
  bool built = false;
  int runtime_version = 0;
  int driver_version = 0;
  int device_count = 0;
  std::string reason;  ///< why device_count is 0
};
const CudaStatus& cuda_status();
void query_device(int device_id, gpukern_device_info& info);

/// The device of the memory; the CPU for memory that CUDA does not know.
gpukern_device pointer_device(const void* data);

/// The device for Device::allocate_pinned(), whose memory all devices can use: the device of the
/// calling thread's context, or one that the process uses, so that no other context is created;
/// else `wanted`. There must be a device.
int pinning_device(int wanted);

/// Releases the memory that allocate_pinned() of any device returned.
void release_pinned(void* data);

/// Undoes Device::pin() of any device.
void unpin(void* data);

}  // namespace gpukern
