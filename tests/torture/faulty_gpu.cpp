// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The fake GPU, and a compiler of programs, whose calls may fail. It stands in for the CUDA
// backend.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>

#include "backend.hpp"
#include "cuda/program/program.hpp"
#include "cuda/runtime/backend.hpp"
#include "faults.hpp"
#include "tests/fake_gpu/fake_gpu.hpp"
#include "tests/fake_gpu/fake_virtual_memory.hpp"

namespace gpukern_torture {
namespace {

using gpukern::Event;
using gpukern::Stream;
using gpukern_test::fake_gpu;

[[noreturn]] void fail_call(const Site& site) {
  const Outside outside;
  gpukern::fail(site.kind == Kind::Memory ? GPUKERN_MEMORY_ERROR : GPUKERN_CUDA_ERROR, site.name,
                " failed");
}

void may_fail(const Site& site) {
  if (fails(site)) fail_call(site);
}

template <class Call>
auto outside(const Call& call) {
  const Outside scope;
  return call();
}

/// A call that may fail before it has done anything.
template <class Call>
auto attempt(const Site& site, const Call& call) {
  may_fail(site);
  return outside(call);
}

/// A call that releases a resource, or waits: no work runs any more when it reports a failure.
template <class Call>
void act_then_fail(const Site& site, const Call& call) {
  outside(call);
  may_fail(site);
}

#define GPUKERN_TORTURE_SITE(name, kind) \
  static constexpr gpukern_torture::Site kSite { "gpu." name, gpukern_torture::Kind::kind }

/// A host function of the library, whose calls count although the fake GPU runs it.
struct HostCall {
  gpukern::HostFunction function;
  void* context;
  static void run(void* data) {
    const std::unique_ptr<HostCall> call(static_cast<HostCall*>(data));
    const Inside inside;
    call->function(call->context);
  }
};

class FaultyGpu final : public gpukern::Device {
 public:
  void run(const gpukern::Operation& operation, Stream stream) override {
    GPUKERN_TORTURE_SITE("run", Gpu);
    attempt(kSite, [&] { fake_gpu().run(operation, stream); });
  }
  gpukern::Strategy strategy(const gpukern::Operation& operation) override {
    return outside([&] { return fake_gpu().strategy(operation); });
  }
  void check_indices(std::span<const gpukern::IndexArgs> args,
                     std::span<gpukern::IndexCheck> checks, Stream stream) override {
    GPUKERN_TORTURE_SITE("check_indices", Gpu);
    attempt(kSite, [&] { fake_gpu().check_indices(args, checks, stream); });
  }
  std::int64_t count_nonzero(const gpukern::SelectArgs& args, Stream stream) override {
    GPUKERN_TORTURE_SITE("count_nonzero", Gpu);
    return attempt(kSite, [&] { return fake_gpu().count_nonzero(args, stream); });
  }
  void* allocate(std::size_t bytes, Stream stream) override {
    GPUKERN_TORTURE_SITE("allocate", Memory);
    void* const data = attempt(kSite, [&] { return fake_gpu().allocate(bytes, stream); });
    hold(Resource::GpuMemory, 1);
    return data;
  }
  void release(void* data, Stream stream) override {
    GPUKERN_TORTURE_SITE("release", Release);
    hold(Resource::GpuMemory, -1);
    act_then_fail(kSite, [&] { fake_gpu().release(data, stream); });
  }
  void upload(void* to, const void* from, std::size_t bytes, Stream stream) override {
    GPUKERN_TORTURE_SITE("upload", Gpu);
    attempt(kSite, [&] { fake_gpu().upload(to, from, bytes, stream); });
  }
  void download(void* to, const void* from, std::size_t bytes, Stream stream) override {
    GPUKERN_TORTURE_SITE("download", Gpu);
    attempt(kSite, [&] { fake_gpu().download(to, from, bytes, stream); });
  }
  void set(void* to, const void* element, std::size_t bytes, Stream stream) override {
    GPUKERN_TORTURE_SITE("set", Gpu);
    attempt(kSite, [&] { fake_gpu().set(to, element, bytes, stream); });
  }
  void synchronize(Stream stream) override {
    GPUKERN_TORTURE_SITE("synchronize", Wait);
    act_then_fail(kSite, [&] { fake_gpu().synchronize(stream); });
  }
  Stream make_stream() override {
    GPUKERN_TORTURE_SITE("make_stream", Gpu);
    const Stream stream = attempt(kSite, [&] { return fake_gpu().make_stream(); });
    hold(Resource::Stream, 1);
    return stream;
  }
  void release_stream(Stream stream) override {
    GPUKERN_TORTURE_SITE("release_stream", Release);
    hold(Resource::Stream, -1);
    act_then_fail(kSite, [&] { fake_gpu().release_stream(stream); });
  }
  void* allocate_pinned(std::size_t bytes) override {
    GPUKERN_TORTURE_SITE("allocate_pinned", Memory);
    void* const data = attempt(kSite, [&] { return fake_gpu().allocate_pinned(bytes); });
    hold(Resource::GpuMemory, 1);
    return data;
  }
  void release_pinned(void* data) override {
    GPUKERN_TORTURE_SITE("release_pinned", Release);
    hold(Resource::GpuMemory, -1);
    act_then_fail(kSite, [&] { fake_gpu().release_pinned(data); });
  }
  void pin(void* data, std::size_t bytes) override {
    GPUKERN_TORTURE_SITE("pin", Memory);
    attempt(kSite, [&] { fake_gpu().pin(data, bytes); });
    hold(Resource::GpuMemory, 1);
  }
  static void unpin(void* data) {
    GPUKERN_TORTURE_SITE("unpin", Release);
    hold(Resource::GpuMemory, -1);
    act_then_fail(kSite, [&] { gpukern_test::FakeGpu::unpin(data); });
  }
  void enqueue_upload(void* to, const void* pinned, std::size_t bytes, Stream stream) override {
    GPUKERN_TORTURE_SITE("enqueue_upload", Gpu);
    attempt(kSite, [&] { fake_gpu().enqueue_upload(to, pinned, bytes, stream); });
  }
  void enqueue_download(void* pinned, const void* from, std::size_t bytes, Stream stream) override {
    GPUKERN_TORTURE_SITE("enqueue_download", Gpu);
    attempt(kSite, [&] { fake_gpu().enqueue_download(pinned, from, bytes, stream); });
  }
  void enqueue_host(gpukern::HostFunction function, void* context, Stream stream) override {
    GPUKERN_TORTURE_SITE("enqueue_host", Gpu);
    attempt(kSite, [&] {
      fake_gpu().enqueue_host(HostCall::run, new HostCall{function, context}, stream);
    });
  }
  std::byte* pinned_view(const std::byte* begin, const std::byte* end) override {
    return outside([&] { return fake_gpu().pinned_view(begin, end); });
  }
  void wait(Stream stream, Stream other) override {
    GPUKERN_TORTURE_SITE("wait", Gpu);
    attempt(kSite, [&] { fake_gpu().wait(stream, other); });
  }
  std::uint64_t capture_of(Stream stream) override {
    GPUKERN_TORTURE_SITE("capture_of", Gpu);
    return attempt(kSite, [&] { return fake_gpu().capture_of(stream); });
  }
  Event record(Stream stream, Event event) override {
    GPUKERN_TORTURE_SITE("record", Gpu);
    const Event recorded = attempt(kSite, [&] { return fake_gpu().record(stream, event); });
    hold(Resource::Event, (recorded != nullptr ? 1 : 0) - (event != nullptr ? 1 : 0));
    return recorded;
  }
  void wait_event(Stream stream, Event event) override {
    GPUKERN_TORTURE_SITE("wait_event", Gpu);
    attempt(kSite, [&] { fake_gpu().wait_event(stream, event); });
  }
  bool is_done(Event event) override {
    GPUKERN_TORTURE_SITE("is_done", Gpu);
    return attempt(kSite, [&] { return fake_gpu().is_done(event); });
  }
  void await_event(Event event) override {
    GPUKERN_TORTURE_SITE("await_event", Wait);
    act_then_fail(kSite, [&] { fake_gpu().await_event(event); });
  }
  void release_event(Event event) override {
    GPUKERN_TORTURE_SITE("release_event", Release);
    hold(Resource::Event, -1);
    act_then_fail(kSite, [&] { fake_gpu().release_event(event); });
  }
};

class FaultyVirtualMemory final : public gpukern::VirtualMemory {
 public:
  std::byte* reserve(std::size_t bytes) override {
    GPUKERN_TORTURE_SITE("reserve", Memory);
    std::byte* const range = attempt(kSite, [&] { return real().reserve(bytes); });
    hold(Resource::GpuMemory, 1);
    return range;
  }
  void free(std::byte* range, std::size_t bytes) override {
    GPUKERN_TORTURE_SITE("free", Release);
    hold(Resource::GpuMemory, -1);
    act_then_fail(kSite, [&] { real().free(range, bytes); });
  }
  Allocation allocate(int device, std::size_t bytes, bool exported) override {
    GPUKERN_TORTURE_SITE("allocate_pages", Memory);
    const Allocation made =
        attempt(kSite, [&] { return real().allocate(device, bytes, exported); });
    hold(Resource::GpuMemory, 1);
    return made;
  }
  void release(Allocation allocation) override {
    GPUKERN_TORTURE_SITE("release_pages", Release);
    hold(Resource::GpuMemory, -1);
    act_then_fail(kSite, [&] { real().release(allocation); });
  }
  gpukern_table_handle export_handle(Allocation allocation, gpukern_handle_type type) override {
    GPUKERN_TORTURE_SITE("export_handle", Gpu);
    return attempt(kSite, [&] { return real().export_handle(allocation, type); });
  }
  Allocation import_handle(const gpukern_table_handle& handle) override {
    GPUKERN_TORTURE_SITE("import_handle", Gpu);
    const Allocation made = attempt(kSite, [&] { return real().import_handle(handle); });
    hold(Resource::GpuMemory, 1);
    return made;
  }
  void map(std::byte* at, std::size_t bytes, Allocation allocation) override {
    GPUKERN_TORTURE_SITE("map", Gpu);
    attempt(kSite, [&] { real().map(at, bytes, allocation); });
    hold(Resource::GpuMemory, 1);
  }
  void unmap(std::byte* at, std::size_t bytes) override {
    GPUKERN_TORTURE_SITE("unmap", Release);
    hold(Resource::GpuMemory, -1);
    act_then_fail(kSite, [&] { real().unmap(at, bytes); });
  }
  void allow(std::byte* at, std::size_t bytes, std::span<const int> devices) override {
    GPUKERN_TORTURE_SITE("allow", Gpu);
    attempt(kSite, [&] { real().allow(at, bytes, devices); });
  }

 private:
  static gpukern::VirtualMemory& real() { return gpukern_test::fake_virtual_memory(); }
};

FaultyGpu& faulty_gpu() {
  static auto& gpu = *outside([] { return new FaultyGpu; });
  return gpu;
}

class FakeKernel final : public gpukern::Kernel {
 public:
  FakeKernel() {
    facts_.max_threads_per_block = 1024;
    facts_.compute_capability = 90;
  }
  void launch(const gpukern_launch&, const void* const*, Stream) const override {
    GPUKERN_TORTURE_SITE("launch", Gpu);
    may_fail(kSite);
  }
  [[nodiscard]] gpukern::KernelProperties properties() const override {
    GPUKERN_TORTURE_SITE("properties", Gpu);
    may_fail(kSite);
    return {.registers = 8, .preferred_block = 256};
  }
};

class FakeModule final : public gpukern::Module {
 public:
  std::unique_ptr<gpukern::Kernel> kernel(const std::string& name) override {
    GPUKERN_TORTURE_SITE("kernel", Gpu);
    may_fail(kSite);
    return name == "add" ? std::make_unique<FakeKernel>() : nullptr;
  }
};

class FakePrograms final : public gpukern::ProgramBackend {
 public:
  gpukern::Compiled compile(const gpukern::ProgramRequest& request) override {
    GPUKERN_TORTURE_SITE("compile", Gpu);
    may_fail(kSite);
    if (std::strstr(request.source, "add") == nullptr)
      throw gpukern::CompileError("program_compile: it does not compile", "error: no function");
    return {.architecture = request.architecture,
            .ptx = ".entry add(",
            .cubin = "code",
            .log = "",
            .note = "",
            .names = {}};
  }
  std::string compiler_identity() override {
    GPUKERN_TORTURE_SITE("compiler_identity", Gpu);
    may_fail(kSite);
    return "fake";
  }
  gpukern::CompilerInfo compiler() override { return {.version = 1, .path = "fake", .reason = ""}; }
  void search(const char* /*directory*/) override {}
  int compute_capability(int /*device*/) override { return 90; }
  std::unique_ptr<gpukern::Module> load(const gpukern::Compiled&, int /*device*/) override {
    GPUKERN_TORTURE_SITE("load", Gpu);
    may_fail(kSite);
    return std::make_unique<FakeModule>();
  }
};

}  // namespace

bool is_present() { return true; }

const unsigned kSecondsOfChild = 60;
const int kColdStep = 1;

bool runs_cold(std::string_view /*scenario*/) { return true; }

bool is_known(std::string_view /*scenario*/) { return true; }

std::uintptr_t thread_state() { return 0; }

std::vector<Named> backend_scenarios() { return {}; }

}  // namespace gpukern_torture

// In place of the functions of the fake GPU that cuda/runtime/backend.hpp and
// cuda/program/program.hpp declare. The linker sets the names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
// NOLINTBEGIN(clang-diagnostic-return-type-c-linkage)
extern "C" {

gpukern::Device& __wrap__ZN7gpukern3gpu7backendEi(int /*device_id*/) {
  GPUKERN_TORTURE_SITE("backend", Gpu);
  static std::atomic<bool> opened{false};
  if (!opened.load()) gpukern_torture::may_fail(kSite);  // it is opened once
  opened.store(true);
  return gpukern_torture::faulty_gpu();
}

void __wrap__ZN7gpukern3gpu14release_pinnedEPv(void* data) {
  gpukern_torture::faulty_gpu().release_pinned(data);
}

void __wrap__ZN7gpukern3gpu5unpinEPv(void* data) { gpukern_torture::FaultyGpu::unpin(data); }

gpukern::VirtualMemory& __wrap__ZN7gpukern3gpu14virtual_memoryEv() {
  static auto& memory =
      *gpukern_torture::outside([] { return new gpukern_torture::FaultyVirtualMemory; });
  return memory;
}

void __wrap__ZN7gpukern3gpu11begin_rangeEPKc(const char* name) {
  gpukern_torture::hold(gpukern_torture::Resource::Range, 1);
  gpukern_torture::outside([&] { gpukern_test::fake_gpu().begin_range(name); });
}

void __wrap__ZN7gpukern3gpu9end_rangeEv() {
  gpukern_torture::hold(gpukern_torture::Resource::Range, -1);
  gpukern_torture::outside([] { gpukern_test::fake_gpu().end_range(); });
}

gpukern_device __wrap__ZN7gpukern3gpu14pointer_deviceEPKv(const void* data) {
  return gpukern_torture::outside([&] { return gpukern_test::fake_gpu().device_of(data); });
}

gpukern::ProgramBackend& __wrap__ZN7gpukern3gpu8programsEv() {
  static auto& programs =
      *gpukern_torture::outside([] { return new gpukern_torture::FakePrograms; });
  return programs;
}
}
// NOLINTEND(clang-diagnostic-return-type-c-linkage)
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
