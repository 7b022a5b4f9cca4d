// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/program/disk_cache.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "src/core/environment.hpp"
#include "src/program/cache_entry.hpp"

namespace gpukern {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{256} << 20;
constexpr std::string_view kEntrySuffix = ".gpukern";
constexpr std::string_view kUnfinishedSuffix = ".unfinished";
/// The age at which the file of a writer that did not finish is removed.
constexpr auto kStale = std::chrono::hours(1);
/// The resolution, in seconds, of the time at which an entry was last used.
constexpr time_t kUseResolution = 60;

std::string configured_directory() {
  const Environment& variables = environment();
  std::string user_folder = variables.home_directory;
  if (variables.cache_directory) {
    const std::string& configured = *variables.cache_directory;
    if (configured == "off") return "";
    const bool in_user_folder = configured == "~" || configured.starts_with("~/");
    return in_user_folder && !user_folder.empty() ? user_folder.append(configured.substr(1))
                                                  : configured;
  }
  if (variables.xdg_cache_home.starts_with('/')) return variables.xdg_cache_home + "/gpukern";
  return user_folder.empty() ? "" : user_folder + "/.cache/gpukern";
}

std::uint64_t configured_limit() {
  const std::string& text = environment().cache_limit;
  if (text.empty()) return kDefaultLimit;
  std::uint64_t limit = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
  require(error == std::errc{} && end == text.data() + text.size(), GPUKERN_VALUE_ERROR,
          "GPUKERN_CACHE_LIMIT must be a number of bytes, got ", text);
  return limit;
}

bool make_directories(const fs::path& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  return errno == ENOENT && path.has_relative_path() && path.parent_path() != path &&
         make_directories(path.parent_path()) &&
         (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
}

constexpr int kDirectory = O_PATH | O_DIRECTORY;

/// Code is loaded from here: only the owner may have write access.
bool is_private_to(uid_t owner, const struct stat& facts) {
  return facts.st_uid == owner && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_private_directory(uid_t owner, const File& directory) {
  struct stat facts{};
  return directory && fstat(directory.handle(), &facts) == 0 && is_private_to(owner, facts);
}

/// Reads up to `size` bytes; fewer at the end of the file.
std::string read_all(const File& file, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = read(file.handle(), bytes.data() + done, size - done);
    if (got == 0 || (got < 0 && errno != EINTR)) break;
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

bool write_all(const File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file.handle(), bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string entry_name(const Digest& key) { return hex(key) + std::string(kEntrySuffix); }

std::string unfinished_name(const Digest& key) {
  static std::atomic<unsigned> counter{0};
  return hex(key) + '.' + std::to_string(getpid()) + '.' + std::to_string(++counter) +
         std::string(kUnfinishedSuffix);
}

enum class Kind { Entry, Unfinished, Foreign };

/// Classifies a file by its name: any name that the two functions above do not produce is foreign.
Kind kind_of(std::string_view name) {
  constexpr std::size_t kDigits = 2 * std::tuple_size_v<Digest>;
  if (name.size() < kDigits || name.find_first_not_of("0123456789abcdef") != kDigits)
    return Kind::Foreign;
  name.remove_prefix(kDigits);
  if (name == kEntrySuffix) return Kind::Entry;
  if (!name.ends_with(kUnfinishedSuffix)) return Kind::Foreign;
  name.remove_suffix(kUnfinishedSuffix.size());
  const bool numbers =
      name.starts_with('.') && name.find_first_not_of(".0123456789") == std::string_view::npos;
  return numbers && std::ranges::count(name, '.') == 2 ? Kind::Unfinished : Kind::Foreign;
}

struct CacheFile {
  std::string name;
  Kind kind;
  std::uint64_t bytes;
  std::chrono::nanoseconds used;  ///< since the epoch
};

/// The cache's files in a directory. Other processes may add and remove some in the meantime.
std::vector<CacheFile> files_in(const File& directory) {
  std::vector<CacheFile> found;
  if (!directory) return found;
  File to_read(directory, ".", O_RDONLY | O_DIRECTORY);
  if (!to_read) return found;
  const Listing listing(fdopendir(to_read.handle()));
  if (listing == nullptr) return found;
  static_cast<void>(to_read.release());
  while (const dirent* file = readdir(listing.get())) {
    const Kind kind = kind_of(file->d_name);
    struct stat facts{};
    if (kind == Kind::Foreign ||
        fstatat(directory.handle(), file->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode))
      continue;
    const timespec& used = facts.st_mtim;
    found.push_back({file->d_name, kind, static_cast<std::uint64_t>(facts.st_size),
                     std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec)});
  }
  return found;
}

void remove_quietly(const File& directory, const std::string& name) {
  static_cast<void>(unlinkat(directory.handle(), name.c_str(), 0));
}

/// Removes unfinished files of writers that ended, then the least recently used entries, until the
/// limit is met.
void make_room(const File& directory, std::uint64_t limit) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<CacheFile> entries;
  std::uint64_t total = 0;
  for (CacheFile& file : files_in(directory)) {
    if (file.kind == Kind::Unfinished) {
      if (now - file.used > kStale) remove_quietly(directory, file.name);
      continue;
    }
    total += file.bytes;
    entries.push_back(std::move(file));
  }
  if (total <= limit) return;
  std::ranges::sort(entries, {}, &CacheFile::used);
  for (const CacheFile& entry : entries) {
    if (total <= limit) return;
    remove_quietly(directory, entry.name);
    total -= entry.bytes;
  }
}

bool write_entry(const File& directory, const Digest& key, std::string_view bytes) {
  const std::string unfinished = unfinished_name(key);
  File file(directory, unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL);
  // Not flushed to disk: the checksum detects a file that a system crash truncated.
  if (!file) return false;
  const bool written = write_all(file, bytes);
  if (file.close() && written &&
      renameat(directory.handle(), unfinished.c_str(), directory.handle(),
               entry_name(key).c_str()) == 0)
    return true;
  remove_quietly(directory, unfinished);
  return false;
}

}  // namespace

DiskCache::DiskCache()
    : directory_(configured_directory()),
      limit_(configured_limit()),
      owner_(geteuid()),
      opened_(directory_.c_str(), kDirectory) {
  if (!opened_ && errno == ENOENT) return;
  if (is_private_directory(owner_, opened_)) return;
  directory_.clear();
  opened_.close();
}

DiskCache::Found DiskCache::find(const Digest& key) const {
  if (!opened_) return {};
  const std::string name = entry_name(key);
  const File file(opened_, name.c_str(), O_RDONLY | O_NONBLOCK);  // does not block on a pipe
  if (!file) return {.program = {}, .rejected = errno != ENOENT};
  struct stat facts{};
  Found found;
  if (fstat(file.handle(), &facts) == 0 && S_ISREG(facts.st_mode) && is_private_to(owner_, facts) &&
      static_cast<std::uint64_t>(facts.st_size) <= limit_)
    found.program = program_of(key, read_all(file, static_cast<std::size_t>(facts.st_size)));
  found.rejected = !found.program.has_value();
  if (found.rejected)
    remove_quietly(opened_, name);
  else if (time(nullptr) - facts.st_mtim.tv_sec >= kUseResolution)
    static_cast<void>(futimens(file.handle(), nullptr));
  return found;
}

void DiskCache::store(const Digest& key, const Compiled& program) const {
  const std::string bytes = entry_of(key, program);
  if (directory_.empty() || bytes.size() > limit_ || !make_directories(directory_)) return;
  const File directory(directory_.c_str(), kDirectory);
  if (is_private_directory(owner_, directory) && write_entry(directory, key, bytes))
    make_room(directory, limit_);
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const CacheFile& file : files_in(opened_)) {
    if (file.kind != Kind::Entry) continue;
    ++usage.entries;
    usage.bytes += file.bytes;
  }
  return usage;
}

void DiskCache::clear() const {
  for (const CacheFile& file : files_in(opened_)) remove_quietly(opened_, file.name);
}

}  // namespace gpukern
