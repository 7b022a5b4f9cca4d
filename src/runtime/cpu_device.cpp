// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/cpu_device.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "src/core/make_once.hpp"
#include "src/cpu/isa.hpp"
#include "src/cpu/kernels.hpp"
#include "src/threading/stop.hpp"

namespace gpukern {
namespace {

// Bytes of a cache line and of the largest vector.
constexpr std::align_val_t kAlignment{64};

class CpuDevice final : public Device {
 public:
  /// Worker threads query the instruction set and must not throw: an invalid environment variable
  /// is reported here.
  CpuDevice() { static_cast<void>(cpu::widest_isa()); }
  void run(const Operation& operation, Stream) override {
    operation.visit(Overloaded{[](const GatherArgs& args) { cpu::gather(args); },
                               [](const SaxpyArgs& args) { cpu::saxpy(args); },
                               [](const SaxpyManyArgs& args) { cpu::saxpy_many(args); },
                               [](const AxpbyArgs& args) { cpu::axpby(args); },
                               [](const CopyArgs& args) { cpu::copy(args); },
                               [](const ScatterArgs& args) { cpu::scatter(args); },
                               [](const GatherReduceArgs& args) { cpu::gather_reduce(args); },
                               [](const RavelArgs& args) { cpu::ravel_index(args); },
                               [](const RecordIndexArgs& args) { cpu::record_bad_index(args); },
                               [](const SelectArgs& args) { cpu::select(args); }});
    cpu::throw_if_stopped();
  }
  bool gather_checked(const GatherArgs& args, Stream) override {
    return args.out_may_change ? cpu::gather(args) : cpu::gather_preserving_out(args);
  }
  bool takes_tuple(const IndexTuple& /*tuple*/, std::int64_t /*count*/, std::int64_t /*item_bytes*/,
                   gpukern_gather_path /*path*/) override {
    return true;
  }
  Strategy strategy(const Operation& operation) override {
    return operation.visit(
        Overloaded{[](const GatherArgs& args) { return cpu::gather_strategy(args); },
                   [](const SaxpyArgs& args) { return cpu::saxpy_strategy(args); },
                   [](const SaxpyManyArgs& args) { return cpu::saxpy_many_strategy(args); },
                   [](const AxpbyArgs& args) { return cpu::axpby_strategy(args); },
                   [](const CopyArgs&) { return Strategy{}; },
                   [](const ScatterArgs& args) { return cpu::scatter_strategy(args); },
                   [](const GatherReduceArgs& args) { return cpu::gather_reduce_strategy(args); },
                   [](const RavelArgs&) { return Strategy{}; },
                   [](const RecordIndexArgs&) { return Strategy{}; },
                   [](const SelectArgs& args) { return cpu::select_strategy(args); }});
  }
  void check_indices(std::span<const IndexArgs> args, std::span<IndexCheck> checks,
                     Stream) override {
    for (std::size_t k = 0; k < args.size(); ++k)
      checks[k] = {.bad = cpu::first_bad_index(args[k])};
  }
  std::int64_t count_nonzero(const SelectArgs& args, Stream) override {
    const std::int64_t count = cpu::count_nonzero(args);
    cpu::throw_if_stopped();
    return count;
  }
  SlicedUpdates slice_updates(const ScatterArgs& args, int shift) override {
    return cpu::slice_updates(args, shift);
  }
  void* allocate(std::size_t bytes, Stream) override { return ::operator new(bytes, kAlignment); }
  void release(void* data, Stream) override { ::operator delete(data, kAlignment); }
  void upload(void* to, const void* from, std::size_t bytes, Stream) override {
    std::memcpy(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes, Stream) override {
    std::memcpy(to, from, bytes);
  }
  void synchronize(Stream) override {}
};

// Never destroyed: threads may still compute while the process ends.
constinit std::atomic<CpuDevice*> instance{nullptr};

}  // namespace

Device& cpu_device() {
  return make_once(instance, [] { return std::make_unique<CpuDevice>(); });
}

}  // namespace gpukern
