// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/program/program.hpp"

#include <array>
#include <atomic>
#include <memory>

#include "cuda/program/driver.hpp"
#include "cuda/program/nvrtc.hpp"
#include "cuda/program/nvrtc_library.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/driver.hpp"
#include "cuda/runtime/stream_device.hpp"
#include "src/core/make_once.hpp"
#include "src/runtime/profiler_range.hpp"

namespace gpukern::gpu {
namespace {

/// A module in the primary context of a device.
class CudaModule final : public Module {
 public:
  CudaModule(const Compiled& compiled, int device)
      : device_(device), context_(primary_context(device)) {
    const ContextGuard guard(context_);
    const RelaxedCapture relaxed;
    module_ = load_module(compiled, device);
  }
  CudaModule(const CudaModule&) = delete;
  CudaModule& operator=(const CudaModule&) = delete;
  ~CudaModule() override {
    // A graph launches its kernels until it is destroyed, which is not observable here.
    if (captured_.load(std::memory_order_relaxed)) return;
    try {
      require_no_fork();
      const ContextGuard guard(context_);
      const RelaxedCapture relaxed;
      static_cast<void>(program_driver().unload(module_));
    } catch (...) {  // NOLINT(bugprone-empty-catch): a lost context holds no modules
    }
  }

  std::unique_ptr<Kernel> kernel(const std::string& name) override;

  [[nodiscard]] int device() const { return device_; }
  [[nodiscard]] CUcontext context() const { return context_; }
  void set_captured() const { captured_.store(true, std::memory_order_relaxed); }

 private:
  int device_;
  CUcontext context_;
  CUmodule module_ = nullptr;
  mutable std::atomic<bool> captured_{false};
};

class CudaKernel final : public Kernel {
 public:
  /// Requires the module's context to be current.
  CudaKernel(const CudaModule& module, CUfunction function, const char* name)
      : module_(module), function_(function), name_(name) {
    facts_ = facts_of(function, module.device());
  }

  [[nodiscard]] KernelProperties properties() const override {
    require_no_fork();
    const ContextGuard guard(module_.context());
    const RelaxedCapture relaxed;
    return properties_of(function_);
  }

  void launch(const gpukern_launch& launch, const void* const* arguments,
              Stream stream) const override {
    require_no_fork();
    const Range range(name_.c_str());
    const ContextGuard guard(module_.context());
    auto* const on = static_cast<CUstream>(stream);
    require_stream_of(module_.device(), on);
    if (is_captured(on)) module_.set_captured();
    if (launch.shared_bytes + facts_.static_shared_bytes > kSharedByDefault) allow_shared();
    launch_kernel(function_, facts_, launch, arguments, on);
  }

 private:
  /// The shared memory that a block may use without setting an attribute.
  static constexpr std::uint64_t kSharedByDefault = std::uint64_t{48} << 10;

  /// Raises the limit of the kernel to its maximum. A limit per launch could change between another
  /// thread's call and its launch.
  void allow_shared() const {
    if (shared_allowed_.load(std::memory_order_acquire)) return;
    check(program_driver().set_attribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                         static_cast<int>(facts_.max_dynamic_shared_bytes)),
          "cuFuncSetAttribute");
    shared_allowed_.store(true, std::memory_order_release);
  }

  const CudaModule& module_;
  CUfunction function_;
  std::string name_;
  mutable std::atomic<bool> shared_allowed_{false};
};

std::unique_ptr<Kernel> CudaModule::kernel(const std::string& name) {
  require_no_fork();
  const ContextGuard guard(context_);
  const RelaxedCapture relaxed;
  CUfunction function = nullptr;
  const CUresult found = program_driver().function(&function, module_, name.c_str());
  if (found == CUDA_ERROR_NOT_FOUND) return nullptr;
  check(found, "cuModuleGetFunction");
  return std::make_unique<CudaKernel>(*this, function, name.c_str());
}

class CudaPrograms final : public ProgramBackend {
 public:
  Compiled compile(const ProgramRequest& request) override {
    const Range range("compile");
    return compile_with_nvrtc(request);
  }

  std::string compiler_identity() override {
    return nvrtc_installation().identity + '\n' + std::to_string(gpukern_version()) + '\n';
  }

  CompilerInfo compiler() override {
    CompilerInfo info;
    try {
      const Nvrtc& opened = nvrtc();
      info.version = opened.major * 1000 + opened.minor * 10;
      info.path = nvrtc_installation().library;
    } catch (const Error& error) {
      info.reason = error.what();
    }
    return info;
  }

  void search(const char* directory) override { search_for_nvrtc(directory); }

  int compute_capability(int device) override {
    require_no_fork();
    // Constant for a device, so that concurrent queries give the same value.
    static std::array<std::atomic<int>, 64> known{};
    const auto slot = static_cast<std::size_t>(device);
    const int before = slot < known.size() ? known[slot].load(std::memory_order_relaxed) : 0;
    if (before != 0) return before;
    int major = 0;
    int minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device),
          "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device),
          "cudaDeviceGetAttribute");
    const int capability = 10 * major + minor;
    if (slot < known.size()) known[slot].store(capability, std::memory_order_relaxed);
    return capability;
  }

  std::unique_ptr<Module> load(const Compiled& compiled, int device) override {
    require_no_fork();
    const Range range("load");
    return std::make_unique<CudaModule>(compiled, device);
  }
};

constinit std::atomic<CudaPrograms*> instance{nullptr};

}  // namespace

ProgramBackend& programs() {
  return make_once(instance, [] { return std::make_unique<CudaPrograms>(); });
}

}  // namespace gpukern::gpu
