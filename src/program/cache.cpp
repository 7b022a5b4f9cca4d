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

constexpr std::size_t kKeptInMemory = 1024;

struct Counters {
  std::atomic<std::uint64_t> memory_hits{0};
  std::atomic<std::uint64_t> disk_hits{0};
  std::atomic<std::uint64_t> misses{0};
  std::atomic<std::uint64_t> rejected{0};
};
Counters counters;

/// Where a program is, or will be: whoever holds the mutex makes it, the others wait.
struct Place {
  std::mutex mutex;
  std::shared_ptr<Program> program;
};

/// The places of the programs used last.
class MemoryCache {
 public:
  /// The process's. CUDA, which unloads modules, may be gone before static objects are; and the
  /// thread that is to compile a program is not in the child of a fork().
  static MemoryCache& get() { return PerProcess<MemoryCache>::get(); }

  std::shared_ptr<Place> place(const std::string& key) {
    std::shared_ptr<Place> dropped;  // after the lock: modules may be unloaded
    const std::scoped_lock lock(mutex_);
    if (const auto found = index_.find(key); found != index_.end()) {
      places_.splice(places_.begin(), places_, found->second);
      return found->second->second;
    }
    places_.emplace_front(key, std::make_shared<Place>());
    index_.emplace(places_.front().first, places_.begin());
    if (places_.size() > kKeptInMemory) {
      dropped = std::move(places_.back().second);
      index_.erase(places_.back().first);
      places_.pop_back();
    }
    return places_.front().second;
  }

  void clear() {
    Places dropped;
    const std::scoped_lock lock(mutex_);
    index_.clear();
    dropped.swap(places_);
  }

 private:
  using Places = std::list<std::pair<std::string, std::shared_ptr<Place>>>;
  std::mutex mutex_;
  Places places_;  ///< the last used first
  std::unordered_map<std::string_view, Places::iterator> index_;
};

std::shared_ptr<Program> compile(const ProgramRequest& request) {
  ++counters.misses;
  Compiled compiled = program_backend().compile(request);
  compiled.note = request.note;
  return std::make_shared<Program>(std::move(compiled));
}

/// nullptr if it is not on disk and there is no source to compile.
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
  require(info->struct_size >= kFirstCacheInfo, GPUKERN_VALUE_ERROR,
          "cache_query: info must have struct_size = ", kFirstCacheInfo, " or more, got ",
          info->struct_size);
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
  const std::shared_ptr<Place> place = MemoryCache::get().place(key);
  const std::scoped_lock lock(place->mutex);
  if (place->program != nullptr) {
    ++counters.memory_hits;
    return place->program;
  }
  // It is not looked for in vain: nothing volatile is ever kept.
  if (request.source != nullptr && is_volatile(request)) return compile(request);
  place->program = from_disk_or_compiler(request, key);
  return place->program;
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
