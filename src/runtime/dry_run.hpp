// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Calls that tell what they would do instead of doing it: gpukern_exec::explanation. They take the
// same way through the fronts as others, with a backend that only notes what is asked of it.
#pragma once

#include "src/runtime/backend.hpp"

namespace gpukern {

/// The plan that a call is to fill instead of running; nullptr for one that runs.
gpukern_explanation* checked_plan(const gpukern_exec* exec);

/// Notes a transfer, see call.hpp.
void plan_transfer(gpukern_explanation& plan, const Tensor& source, const Tensor& destination);

/// Stands in for the backend that would work: the one that is asked to compute is the plan's.
class PlanningBackend final : public Backend {
 public:
  PlanningBackend(Device device, gpukern_explanation& plan)
      : device_(device), real_(backend_for(device)), plan_(plan) {}

  void gather(const GatherArgs& args, Stream stream) override;
  /// Finds no bad index, and reads none.
  bool gather_checked(const GatherArgs& args, Stream stream) override;
  void saxpy(const SaxpyArgs& args, Stream stream) override;
  void copy(const CopyArgs& args, Stream stream) override;
  /// Likewise.
  std::optional<BadIndex> first_bad_index(const IndexArgs& args, Stream stream) override;

  /// An address that is aligned like memory of the real backend, and that nobody may touch.
  void* allocate(std::size_t bytes, Stream stream) override;
  void release(void* data, Stream stream) override;
  void upload(void* to, const void* from_host, std::size_t bytes, Stream stream) override;
  void download(void* to_host, const void* from, std::size_t bytes, Stream stream) override;
  void synchronize(Stream stream) override;
  std::byte* pinned_view(const std::byte* begin, const std::byte* end) override {
    return real_.pinned_view(begin, end);
  }
  std::uint64_t capture_of(Stream stream) override { return real_.capture_of(stream); }

  void plan(const GatherArgs& args, gpukern_explanation& plan) override { real_.plan(args, plan); }
  void plan(const SaxpyArgs& args, gpukern_explanation& plan) override { real_.plan(args, plan); }

 private:
  void computes();

  Device device_;
  Backend& real_;
  gpukern_explanation& plan_;
};

/// Those of a call: of the device that computes, and of the memory where the arguments lie.
struct Planners {
  Planners(Device computing, Device holding, gpukern_explanation& plan)
      : device(computing, plan), home(holding, plan) {}
  PlanningBackend device;
  PlanningBackend home;
};

}  // namespace gpukern
