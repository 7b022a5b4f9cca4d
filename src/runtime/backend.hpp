// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What a backend does: the validated operations, on memory that it can reach.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "gpukern/explain.h"
#include "src/core/index.hpp"
#include "src/core/loop.hpp"
#include "src/core/tensor.hpp"

namespace gpukern {

/// The operands of GatherArgs::loop.
enum GatherOperand { kSource, kIndex, kOut, kFillValue };

/// out[p] = source[axis offset of index[p]] for every position p of the loop.
struct GatherArgs {
  const std::byte* source = nullptr;
  const std::byte* index = nullptr;
  std::byte* out = nullptr;
  std::int64_t item = 0;  ///< bytes that each position moves: an element or a contiguous row
  Loop<4> loop;           ///< coalesced; see GatherOperand
  Loop<1> axis;           ///< unravels a position on the axis into an offset of the source
  std::int64_t n = 0;     ///< length of the axis, positive
  IndexType index_type;
  gpukern_index_mode mode = GPUKERN_INDEX_RAISE;
  gpukern_gather_path path = GPUKERN_GATHER_AUTO;
  bool out_may_change = true;             ///< if an index is bad, see gather_checked()
  bool in_place = false;                  ///< a GPU reads a source in host memory
  std::uint64_t* bad = nullptr;           ///< of the backend's own use, see gather_checked()
  const std::byte* fill_value = nullptr;  ///< host memory, read before the call returns
  std::int64_t fill_size = 0;             ///< bytes of it; position p uses the period below at
  std::int64_t fill_period = 0;           ///< its offset, repeated to fill the item
};

struct IndexArgs {
  const std::byte* index = nullptr;
  Loop<1> loop;  ///< coalesced, C order
  std::int64_t n = 0;
  IndexType index_type;
};

/// The first index that mode "raise" refuses.
struct BadIndex {
  std::int64_t value;  ///< to be read as unsigned if the index type is
};

/// out[p] = a * x[p] + y[p]; the operands of loop are x, y, out.
struct SaxpyArgs {
  gpukern_dtype dtype{};
  alignas(16) std::byte a[16]{};
  const std::byte* x = nullptr;
  const std::byte* y = nullptr;
  std::byte* out = nullptr;  ///< is x or y, or overlaps neither
  std::int64_t item = 0;
  Loop<3> loop;

  [[nodiscard]] bool contiguous() const {
    return loop.contiguous(0, item) && loop.contiguous(1, item) && loop.contiguous(2, item);
  }
};

/// The operands of loop are source, destination; they do not overlap.
struct CopyArgs {
  const std::byte* source = nullptr;
  std::byte* destination = nullptr;
  std::int64_t item = 0;
  Loop<2> loop;
};

/// A stream of the backend's device; the CPU backend ignores it and returns when it is done.
using Stream = void*;

/// A point in a stream's work; nullptr for none.
using Event = void*;

/// Work of the host's in a stream.
using HostFunction = void (*)(void* context);

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;

  virtual void gather(const GatherArgs& args, Stream stream) = 0;
  /// Gathers by indices that nobody has checked, in mode "raise", and waits for the stream. False
  /// if one was bad, and out may hold anything, or what it held if it is not to change; or where
  /// this is no gain, and nothing was done. Off the host it is only called if out may change.
  virtual bool gather_checked(const GatherArgs& /*args*/, Stream /*stream*/) { return false; }
  virtual void saxpy(const SaxpyArgs& args, Stream stream) = 0;
  virtual void copy(const CopyArgs& args, Stream stream) = 0;

  /// Waits for the stream, since its caller has to know.
  virtual std::optional<BadIndex> first_bad_index(const IndexArgs& args, Stream stream) = 0;

  /// Scratch memory of one call: while the stream is captured, a part of the graph.
  virtual void* allocate(std::size_t bytes, Stream stream) = 0;
  virtual void release(void* data, Stream stream) = 0;
  /// Memory of the caller's: at one place for as long as he or a graph has use for it.
  virtual void* allocate_array(std::size_t bytes, Stream stream) { return allocate(bytes, stream); }
  virtual void release_array(void* data, Stream stream) { release(data, stream); }
  /// Moves bytes between contiguous host memory and the backend's; the host side is free to reuse
  /// on return, and after download() it holds the bytes.
  virtual void upload(void* to, const void* from_host, std::size_t bytes, Stream stream) = 0;
  virtual void download(void* to_host, const void* from, std::size_t bytes, Stream stream) = 0;
  virtual void synchronize(Stream stream) = 0;

  /// Fills in the path and the threads that a call with these arguments would take; see
  /// dry_run.hpp.
  virtual void plan(const GatherArgs& args, gpukern_explanation& plan) = 0;
  virtual void plan(const SaxpyArgs& args, gpukern_explanation& plan) = 0;

  // What pipelines between host and device memory are made of. Only pinned (page-locked) host
  // memory is copied without a wait.
  virtual Stream make_stream() { return nullptr; }
  virtual void release_stream(Stream /*stream*/) {}
  virtual void* allocate_pinned(std::size_t bytes) { return allocate(bytes, nullptr); }
  virtual void release_pinned(void* data) { release(data, nullptr); }
  virtual void enqueue_upload(void* to, const void* pinned, std::size_t bytes, Stream stream) {
    upload(to, pinned, bytes, stream);
  }
  virtual void enqueue_download(void* pinned, const void* from, std::size_t bytes, Stream stream) {
    download(pinned, from, bytes, stream);
  }
  /// Lets the host call a function in the stream's order, on a thread of the backend's. It must not
  /// throw nor ask anything of a backend's device. Not called at all if the device fails before.
  virtual void enqueue_host(HostFunction function, void* context, Stream /*stream*/) {
    function(context);
  }
  /// Where the device sees host memory from byte `begin` to before `end`; nullptr if that is not
  /// all pinned, in one piece.
  virtual std::byte* pinned_view(const std::byte* /*begin*/, const std::byte* /*end*/) {
    return nullptr;
  }

  // The order between streams. A backend that has done its work when a call returns needs none.
  virtual void wait(Stream /*stream*/, Stream /*other*/) {}
  /// A number that no other stream of this device has or had, whatever its handle; any while it is
  /// captured.
  virtual std::uint64_t number_of(Stream stream) {
    return reinterpret_cast<std::uintptr_t>(stream);
  }
  /// A number of the stream's capture into a graph, 0 if there is none.
  virtual std::uint64_t capture_of(Stream /*stream*/) { return 0; }
  /// Moves the event to the end of the stream's work; makes one for nullptr. Gives back nullptr,
  /// and the event to the backend, if what is enqueued does not run by itself.
  virtual Event record(Stream /*stream*/, Event event) { return event; }
  virtual void wait_event(Stream /*stream*/, Event /*event*/) {}
  virtual bool is_done(Event /*event*/) { return true; }
  /// Lets the host wait.
  virtual void await_event(Event /*event*/) {}
  virtual void release_event(Event /*event*/) {}
};

/// Throws GPUKERN_DEVICE_ERROR if there is no such CUDA device.
void require_cuda_device(int device_id);

/// Throws GPUKERN_DEVICE_ERROR if there is no such device.
Backend& backend_for(Device device);

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

/// Where memory lies; the CPU for what CUDA does not know.
gpukern_device pointer_device(const void* data);

/// A device for Backend::allocate_pinned(), whose memory is good for all: the one of the calling
/// thread's context, or one that the process uses, so that it needs no further context; else
/// `wanted`. There is a device.
int pinning_device(int wanted);

/// Lets go what any backend's allocate_pinned() gave.
void release_pinned(void* data);

}  // namespace gpukern
