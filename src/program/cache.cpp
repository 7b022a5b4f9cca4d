// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "src/core/per_process.hpp"
#include "src/program/disk_cache.hpp"
#include "src/program/program.hpp"
#include "src/program/request.hpp"

namespace gpukern {
namespace {

constexpr std::size_t kMaxSlots = 1024;

struct Counters {
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> rejected{0};
};
Counters counters;

/// A program, or nullptr until it is compiled: the thread that holds the mutex compiles it, others
/// wait.
struct Slot {
  std::mutex mutex;
  std::shared_ptr<Program> program;
};

/// The most recently used programs.
class MemoryCache {
 public:
  /// The instance of this process, never destroyed: CUDA, which unloads the modules, may be gone
  /// before static objects are. The child of a fork() has a new one, since the thread that compiles
  /// a program does not exist there.
  static MemoryCache& get() { return PerProcess<MemoryCache>::get(); }

  std::shared_ptr<Slot> slot(const std::string& key) {
    std::shared_ptr<Slot> dropped;  // released after the lock: may unload modules
    const std::scoped_lock lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      slots_.splice(slots_.begin(), slots_, found->second);
      return found->second->second;
    }
    slots_.emplace_front(key, std::make_shared<Slot>());
    index_.emplace(slots_.front().first, slots_.begin());
    if (slots_.size() > kMaxSlots) {
      dropped = std::move(slots_.back().second);
      index_.erase(slots_.back().first);
      slots_.pop_back();
    }
    return slots_.front().second;
  }

  void clear() {
    Slots dropped;
    const std::scoped_lock lock(mutex_);
    index_.clear();
    dropped.swap(slots_);
  }

 private:
  using Slots = std::list<std::pair<std::string, std::shared_ptr<Slot>>>;
  std::mutex mutex_;
  Slots slots_;  ///< the most recently used first
  std::unordered_map<std::string_view, Slots::iterator> index_;
};

std::shared_ptr<Program> compile(const ProgramRequest& request) {
  ++counters.misses;
  Compiled compiled = program_backend().compile(request);
  compiled.note = request.note;
  return std::make_shared<Program>(std::move(compiled));
}

/// Returns nullptr if the program is not on disk and there is no source to compile.
std::shared_ptr<Program> from_disk_or_compiler(const ProgramRequest& request,
                                               const std::string& key) {
  const DiskCache disk;
  const Digest digest = sha256(program_backend().compiler_identity() + key);
  DiskCache::Found found = disk.find(digest);
  if (found.rejected) ++counters.rejected;
  if (found.program) {
    ++counters.disk_hits;
    return std::make_shared<Program>(std::move(*found.program));
  }
  if (request.source == nullptr) return nullptr;
  auto program = compile(request);
  disk.store(digest, program->compiled());
  return program;
}

constexpr std::size_t kFirstCacheInfo =
    offsetof(gpukern_cache_info, directory) + sizeof(gpukern_cache_info::directory);

void query(gpukern_cache_info* info) {
  require(info != nullptr, GPUKERN_VALUE_ERROR, "cache_query: info must not be NULL");
  require_struct_size("cache_query: info", info->struct_size, kFirstCacheInfo);
  thread_local std::string directory;
  const DiskCache disk;
  const DiskCache::Usage usage = disk.usage();
  directory = disk.directory();
  info->memory_hits = counters.memory_hits;
  info->disk_hits = counters.disk_hits;
  info->misses = counters.misses;
  info->rejected = counters.rejected;
  info->entries = usage.entries;
  info->bytes = usage.bytes;
  info->limit_bytes = disk.limit();
  info->directory = directory.c_str();
}

}  // namespace

std::shared_ptr<Program> find_or_compile(const ProgramRequest& request) {
  if (request.source != nullptr && uses_files(request)) return compile(request);
  const std::string key = key_of(request);
  const std::shared_ptr<Slot> slot = MemoryCache::get().slot(key);
  const std::scoped_lock lock(slot->mutex);
  if (slot->program != nullptr) {
    ++counters.memory_hits;
    return slot->program;
  }
  // After the lookup, which takes less time and finds nothing volatile, as none is stored.
  if (request.source != nullptr && is_volatile(request)) return compile(request);
  slot->program = from_disk_or_compiler(request, key);
  return slot->program;
}

}  // namespace gpukern

extern "C" gpukern_status gpukern_cache_query(gpukern_cache_info* info) {
  return gpukern::guard([&] { gpukern::query(info); });
}

extern "C" gpukern_status gpukern_cache_clear(void) {
  return gpukern::guard([] {
    gpukern::MemoryCache::get().clear();
    gpukern::DiskCache().clear();
    for (auto* counter : {&gpukern::counters.memory_hits, &gpukern::counters.disk_hits,
                          &gpukern::counters.misses, &gpukern::counters.rejected})
      *counter = 0;
  });
}
