// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "fake_gpu.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "cuda/program/program.hpp"
#include "cuda/runtime/backend.hpp"
#include "src/runtime/cpu_device.hpp"

namespace gpukern_test {

using gpukern::Event;
using gpukern::Stream;

namespace {

constexpr int kMostDevices = 8;

int device_count() {
  const char* const given = std::getenv("GPUKERN_FAKE_GPUS");
  return given == nullptr
             ? 1
             : std::clamp(static_cast<int>(std::strtol(given, nullptr, 10)), 0, kMostDevices);
}

}  // namespace

FakeGpu& fake_gpu(int device) {
  static auto& all = *new FakeGpu[kMostDevices];
  return (&all)[device];
}

FakeGpu::Queue& FakeGpu::queue_of(Stream stream) { return queues_[stream]; }

void FakeGpu::enqueue(Stream stream, std::function<void()> run) {
  const std::scoped_lock lock(mutex);
  queue_of(stream).steps.push_back({std::move(run)});
}

void FakeGpu::run_until(Queue& queue, std::uint64_t position) {
  while (queue.done < position) {
    const Step step = std::move(queue.steps.front());
    queue.steps.pop_front();
    ++queue.done;
    if (step.after != nullptr) run_until(*step.after, step.position);
    if (step.run) step.run();
  }
}

FakeGpu::Memory::const_iterator FakeGpu::find(const Memory& memory, const void* data) {
  const auto* at = static_cast<const std::byte*>(data);
  auto found = memory.upper_bound(at);
  if (found == memory.begin()) return memory.end();
  --found;
  return at < found->first + found->second ? found : memory.end();
}

/// In a real context, a kernel that reads pageable memory would cause an error.
void FakeGpu::require_reachable(const void* data) {
  const std::scoped_lock lock(mutex);
  gpukern::require(find(device_memory, data) != device_memory.end() ||
                       find(pinned_memory, data) != pinned_memory.end(),
                   GPUKERN_CUDA_ERROR, "an illegal memory access was encountered");
}

namespace {

std::vector<const std::byte*> addresses(const gpukern::GatherArgs& args) {
  return {args.source, args.index, args.out};
}
std::vector<const std::byte*> addresses(const gpukern::SaxpyArgs& args) {
  return {args.x, args.y, args.out};
}
std::vector<const std::byte*> addresses(const gpukern::SaxpyManyArgs& args) {
  std::vector<const std::byte*> all;
  for (const gpukern::SaxpyEntry& entry : args.entries)
    for (const std::byte* data : {entry.x, entry.y, static_cast<const std::byte*>(entry.out)})
      all.push_back(data);
  return all;
}
std::vector<const std::byte*> addresses(const gpukern::AxpbyArgs& args) {
  std::vector<const std::byte*> all;
  for (const auto& operand : args.operand)
    if (operand.in_memory) all.push_back(operand.data);
  return all;
}
std::vector<const std::byte*> addresses(const gpukern::CopyArgs& args) {
  return {args.source, args.destination};
}
std::vector<const std::byte*> addresses(const gpukern::ScatterArgs& args) {
  return {args.target, args.index, args.values};
}
std::vector<const std::byte*> addresses(const gpukern::RavelArgs& args) {
  std::vector<const std::byte*> all{reinterpret_cast<const std::byte*>(args.positions)};
  for (const gpukern::IndexArgs& index : args.indices) all.push_back(index.index);
  return all;
}
std::vector<const std::byte*> addresses(const gpukern::RecordIndexArgs& args) {
  return {args.index.index, reinterpret_cast<const std::byte*>(args.record)};
}
std::vector<const std::byte*> addresses(const gpukern::GatherReduceArgs& args) {
  std::vector<const std::byte*> all{args.offsets, args.out};
  if (args.count == 0) return all;
  all.push_back(args.source);
  for (const std::byte* data : {args.index, args.weights})
    if (data != nullptr) all.push_back(data);
  return all;
}

std::vector<const std::byte*> addresses(const gpukern::SelectArgs& args) {
  std::vector<const std::byte*> all{args.out};
  if (args.loop.count() == 0) return all;
  all.push_back(args.mask);
  if (args.source != nullptr) all.push_back(args.source);
  return all;
}

/// Runs with its own copy of the elements of a span among the arguments.
template <class Args, class Element>
std::function<void()> with_copy(const Args& given, std::span<const Element> Args::* span) {
  const std::span<const Element> elements = given.*span;
  return [args = given, span, copy = std::vector(elements.begin(), elements.end())]() mutable {
    args.*span = copy;
    gpukern::cpu_device().run(args, nullptr);
  };
}

/// Arguments that outlive the call, like a kernel's parameters: spans and the fill value are
/// copied.
template <class Args>
std::function<void()> later(const Args& given) {
  if constexpr (requires { given.entries; }) {
    return with_copy(given, &Args::entries);
  } else if constexpr (requires { given.indices; }) {
    return with_copy(given, &Args::indices);
  } else if constexpr (requires { given.fill_value; }) {
    auto fill = std::make_shared<std::vector<std::byte>>();
    if (given.fill_value != nullptr)
      fill->assign(given.fill_value, given.fill_value + given.fill_size);
    return [args = Args(given), fill]() mutable {
      if (args.fill_value != nullptr) args.fill_value = fill->data();
      gpukern::cpu_device().run(args, nullptr);
    };
  } else {
    return [args = Args(given)] { gpukern::cpu_device().run(args, nullptr); };
  }
}

}  // namespace

void FakeGpu::run(const gpukern::Operation& operation, Stream stream) {
  operation.visit([&]<class Args>(const Args& args) {
    for (const std::byte* data : addresses(args)) require_reachable(data);
    if (!std::is_same_v<Args, gpukern::CopyArgs>) ++launches_;
    enqueue(stream, later(args));
  });
}

void FakeGpu::check_indices(std::span<const gpukern::IndexArgs> args,
                            std::span<gpukern::IndexCheck> checks, Stream stream) {
  for (const gpukern::IndexArgs& index : args) require_reachable(index.index);
  synchronize(stream);
  gpukern::cpu_device().check_indices(args, checks, nullptr);
}

std::int64_t FakeGpu::count_nonzero(const gpukern::SelectArgs& args, Stream stream) {
  require_reachable(args.mask);
  synchronize(stream);
  return gpukern::cpu_device().count_nonzero(args, nullptr);
}

void* FakeGpu::allocate(std::size_t bytes, Stream /*stream*/) {
  const std::scoped_lock lock(mutex);
  gpukern::require(bytes < std::size_t{1} << 40, GPUKERN_MEMORY_ERROR, "out of memory");
  auto* const data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{256}));
  std::memset(data, 0xcd, bytes);
  device_memory.emplace(data, bytes);
  in_use_ += bytes;
  peak_ = std::max(peak_, in_use_);
  return data;
}

void FakeGpu::release(void* data, Stream stream) {
  const std::scoped_lock lock(mutex);
  // Released for the caller now, and for the GPU in stream order.
  const auto found = device_memory.find(static_cast<std::byte*>(data));
  in_use_ -= found->second;
  auto memory = device_memory.extract(found);
  enqueue(stream, [data] { ::operator delete(data, std::align_val_t{256}); });
}

void FakeGpu::upload(void* to, const void* from, std::size_t bytes, Stream stream) {
  enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  synchronize(stream);
}

void FakeGpu::download(void* to, const void* from, std::size_t bytes, Stream stream) {
  upload(to, from, bytes, stream);
}

void FakeGpu::set(void* to, const void* element, std::size_t bytes, Stream stream) {
  const auto* const from = static_cast<const std::byte*>(element);
  enqueue(stream, [to, copy = std::vector(from, from + bytes)] {
    std::memcpy(to, copy.data(), copy.size());
  });
}

void FakeGpu::synchronize(Stream stream) {
  const std::scoped_lock lock(mutex);
  Queue& queue = queue_of(stream);
  run_until(queue, queue.end());
}

Stream FakeGpu::make_stream() { return new char; }

void FakeGpu::release_stream(Stream stream) {
  const std::scoped_lock lock(mutex);
  synchronize(stream);
}

void* FakeGpu::allocate_pinned(std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  gpukern::require(bytes <= most_pinned_, GPUKERN_MEMORY_ERROR, "out of pinned memory");
  auto* const data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{4096}));
  pinned_memory.emplace(data, bytes);
  return data;
}

void FakeGpu::release_pinned(void* data) {
  const std::scoped_lock lock(mutex);
  auto* const begin = static_cast<std::byte*>(data);
  gpukern::require(!callers_memory.contains(begin) && pinned_memory.erase(begin) == 1,
                   GPUKERN_VALUE_ERROR,
                   "release: data must be page-locked memory of gpukern_allocate()");
  ::operator delete(data, std::align_val_t{4096});
}

void FakeGpu::pin(void* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  callers_memory.emplace(static_cast<std::byte*>(data), bytes);
  pinned_memory.emplace(static_cast<std::byte*>(data), bytes);
}

void FakeGpu::unpin(void* data) {
  const std::scoped_lock lock(mutex);
  gpukern::require(callers_memory.erase(static_cast<std::byte*>(data)) == 1, GPUKERN_VALUE_ERROR,
                   "unpin: data must be memory of gpukern_pin()");
  pinned_memory.erase(static_cast<std::byte*>(data));
}

void FakeGpu::enqueue_upload(void* to, const void* pinned, std::size_t bytes, Stream stream) {
  require_reachable(pinned);
  require_reachable(to);
  const bool fails = copies_left_ == 0;
  if (copies_left_ >= 0) --copies_left_;
  gpukern::require(!fails, GPUKERN_CUDA_ERROR, "the fake GPU fails");
  enqueue(stream, [=] { std::memcpy(to, pinned, bytes); });
}

void FakeGpu::enqueue_download(void* pinned, const void* from, std::size_t bytes, Stream stream) {
  enqueue_upload(pinned, from, bytes, stream);
}

void FakeGpu::enqueue_host(gpukern::HostFunction function, void* context, Stream stream) {
  enqueue(stream, [=] { function(context); });
}

std::byte* FakeGpu::pinned_view(const std::byte* begin, const std::byte* end) {
  const std::scoped_lock lock(mutex);
  const auto found = find(pinned_memory, begin);
  const bool all = found != pinned_memory.end() && end <= found->first + found->second;
  return all ? const_cast<std::byte*>(begin) : nullptr;
}

void FakeGpu::wait(Stream stream, Stream other) {
  const std::scoped_lock lock(mutex);
  Queue& before = queue_of(other);
  if (stream != other) queue_of(stream).steps.push_back({nullptr, &before, before.end()});
}

Event FakeGpu::record(Stream stream, Event event) {
  const std::scoped_lock lock(mutex);
  if (captured_) {
    if (event != nullptr) release_event(event);
    return nullptr;
  }
  auto* const mark = event != nullptr ? static_cast<Mark*>(event) : new Mark;
  Queue& queue = queue_of(stream);
  *mark = {&queue, queue.end()};
  return mark;
}

void FakeGpu::wait_event(Stream stream, Event event) {
  const std::scoped_lock lock(mutex);
  const Mark& mark = *static_cast<Mark*>(event);
  queue_of(stream).steps.push_back({nullptr, mark.queue, mark.position});
}

bool FakeGpu::is_done(Event event) {
  const std::scoped_lock lock(mutex);
  const Mark& mark = *static_cast<Mark*>(event);
  return mark.queue->done >= mark.position;
}

void FakeGpu::await_event(Event event) {
  const std::scoped_lock lock(mutex);
  const Mark& mark = *static_cast<Mark*>(event);
  run_until(*mark.queue, mark.position);
}

void FakeGpu::release_event(Event event) { delete static_cast<Mark*>(event); }

gpukern::Strategy FakeGpu::strategy(const gpukern::Operation& operation) {
  return {.path = gpukern::cpu_device().strategy(operation).path};
}

std::uint64_t FakeGpu::capture_of(Stream /*stream*/) { return captured_ ? 1 : 0; }

gpukern_device FakeGpu::device_of(const void* data) {
  const std::scoped_lock lock(mutex);
  if (find(device_memory, data) != device_memory.end()) return {GPUKERN_CUDA, 0};
  if (find(pinned_memory, data) != pinned_memory.end()) return {GPUKERN_CUDA_HOST, 0};
  return {GPUKERN_CPU, 0};
}

void FakeGpu::add_memory(const std::byte* data, std::size_t bytes) {
  const std::scoped_lock lock(mutex);
  device_memory.emplace(data, bytes);
}

void FakeGpu::remove_memory(const std::byte* data) {
  const std::scoped_lock lock(mutex);
  device_memory.erase(data);
}

std::size_t FakeGpu::take_peak_bytes() {
  const std::scoped_lock lock(mutex);
  return std::exchange(peak_, in_use_);
}

std::size_t FakeGpu::bytes_in_use() {
  const std::scoped_lock lock(mutex);
  return in_use_;
}

void FakeGpu::begin_range(const char* name) {
  const std::scoped_lock lock(mutex);
  ++ranges_[name];
  ++open_ranges_;
}

void FakeGpu::end_range() {
  const std::scoped_lock lock(mutex);
  --open_ranges_;
}

std::map<std::string, int> FakeGpu::take_ranges() {
  const std::scoped_lock lock(mutex);
  return std::exchange(ranges_, {});
}

std::size_t FakeGpu::waiting() {
  const std::scoped_lock lock(mutex);
  std::size_t steps = 0;
  for (const auto& [stream, queue] : queues_) steps += queue.steps.size();
  return steps;
}

}  // namespace gpukern_test

namespace gpukern::gpu {

Device& backend(int device_id) { return gpukern_test::fake_gpu(device_id); }

void begin_range(const char* name) { gpukern_test::fake_gpu().begin_range(name); }
void end_range() { gpukern_test::fake_gpu().end_range(); }

CudaStatus query_status() {
  return {.built = true, .device_count = gpukern_test::device_count(), .reason = ""};
}

void query_device(int /*device_id*/, gpukern_device_info& info) {
  std::memcpy(info.name, "fake GPU", sizeof "fake GPU");
  info.multiprocessor_count = 1;
}

gpukern_device pointer_device(const void* data) { return gpukern_test::fake_gpu().device_of(data); }

int pinning_device(int wanted) { return wanted; }

void release_pinned(void* data) { gpukern_test::fake_gpu().release_pinned(data); }

void unpin(void* data) { gpukern_test::FakeGpu::unpin(data); }

namespace {

constexpr const char* kNoPrograms = "the fake GPU runs no programs";

class NoPrograms final : public ProgramBackend {
 public:
  Compiled compile(const ProgramRequest& /*request*/) override { refuse(); }
  std::string compiler_identity() override { refuse(); }
  CompilerInfo compiler() override { return {0, "", kNoPrograms}; }
  void search(const char* /*directory*/) override {}
  int compute_capability(int /*device*/) override { refuse(); }
  std::unique_ptr<Module> load(const Compiled& /*compiled*/, int /*device*/) override { refuse(); }

 private:
  [[noreturn]] static void refuse() { fail(GPUKERN_DEVICE_ERROR, kNoPrograms); }
};

}  // namespace

ProgramBackend& programs() {
  static auto& none = *new NoPrograms;
  return none;
}

}  // namespace gpukern::gpu
