// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/cpu/backend.hpp"

#include <atomic>
#include <cstring>
#include <memory>
#include <new>

#include "src/core/make_once.hpp"
#include "src/cpu/isa.hpp"

namespace gpukern::cpu {
namespace {

// A cache line, and the longest vector.
constexpr std::align_val_t kAlignment{64};

// What one access moves at most.
constexpr std::int64_t kItem = 16;

class CpuBackend final : public Backend {
 public:
  /// Threads that work for a call ask for the instruction set, and must not throw: what is wrong
  /// with the environment is said here.
  CpuBackend() { static_cast<void>(widest_isa()); }
  void gather(const GatherArgs& args, Stream) override { cpu::gather(args); }
  bool gather_checked(const GatherArgs& args, Stream) override {
    return args.out_may_change ? cpu::gather(args) : gather_kept(args);
  }
  void saxpy(const SaxpyArgs& args, Stream) override { cpu::saxpy(args); }
  void copy(const CopyArgs& args, Stream) override { cpu::copy(args); }
  std::optional<BadIndex> first_bad_index(const IndexArgs& args, Stream) override {
    return cpu::first_bad_index(args);
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
  void plan(const GatherArgs& args, gpukern_explanation& plan) override {
    plan.path = args.item <= kItem ? GPUKERN_PATH_ITEMS : GPUKERN_PATH_ROWS;
    plan.threads = gather_threads(args);
  }
  void plan(const SaxpyArgs& args, gpukern_explanation& plan) override {
    plan.path = args.contiguous() ? GPUKERN_PATH_CONTIGUOUS : GPUKERN_PATH_STRIDED;
    plan.threads = saxpy_threads(args);
  }
};

constinit std::atomic<CpuBackend*> instance{nullptr};

}  // namespace

Backend& backend() {
  return make_once(instance, [] { return std::make_unique<CpuBackend>(); });
}

}  // namespace gpukern::cpu
