// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Dry runs: calls that explain what they would do, see gpukern_exec::explanation. They follow the
// same path as other calls, with devices that only record the requested work.
#pragma once

#include "src/runtime/device.hpp"

namespace gpukern {

/// The explanation that a call fills in; nullptr to run the call.
gpukern_explanation* checked_explanation(const gpukern_exec* exec);

/// Records a transfer, see call.hpp.
void record_transfer(gpukern_explanation& explanation, const Tensor& source,
                     const Tensor& destination);

/// Replaces a device. The explanation names the device that would compute.
class DryRunDevice final : public Device {
 public:
  DryRunDevice(DeviceId id, gpukern_explanation& explanation)
      : id_(id), real_(device_for(id)), explanation_(explanation) {}

  void run(const Operation& operation, Stream stream) override;
  /// Reports success, and reads no index.
  bool gather_checked(const GatherArgs& args, Stream stream) override;
  bool takes_tuple(const IndexTuple& tuple, std::int64_t count, std::int64_t item_bytes,
                   gpukern_gather_path path) override {
    return real_.takes_tuple(tuple, count, item_bytes, path);
  }
  Strategy strategy(const Operation& operation) override { return real_.strategy(operation); }
  /// Reports no bad index, and reads none.
  void check_indices(std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                     Stream stream) override;
  /// Reports that all elements are nonzero, and reads none.
  std::int64_t count_nonzero(const SelectArgs& args, Stream stream) override;

  /// Returns an address with the alignment of the device's memory, which must not be accessed.
  void* allocate(std::size_t bytes, Stream stream) override;
  void release(void* data, Stream stream) override;
  void upload(void* to, const void* from_host, std::size_t bytes, Stream stream) override;
  void download(void* to_host, const void* from, std::size_t bytes, Stream stream) override;
  void synchronize(Stream stream) override;
  std::byte* pinned_view(const std::byte* begin, const std::byte* end) override {
    return real_.pinned_view(begin, end);
  }
  std::uint64_t capture_of(Stream stream) override { return real_.capture_of(stream); }

 private:
  DeviceId id_;
  Device& real_;
  gpukern_explanation& explanation_;
};

/// The devices of a dry run: the one that computes, and the one of the arguments' memory.
struct DryRun {
  DryRun(DeviceId computing, DeviceId holding, gpukern_explanation& explanation)
      : device(computing, explanation), data_device(holding, explanation) {}
  DryRunDevice device;
  DryRunDevice data_device;
};

}  // namespace gpukern
