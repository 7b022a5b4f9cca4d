// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "program_disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "program_entry.hpp"

namespace gpukern {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDefaultLimit = std::uint64_t{256} << 20;
constexpr std::string_view kEntrySuffix = ".gpukern";
constexpr std::string_view kUnfinishedSuffix = ".unfinished";
/// What a writer that died left behind.
constexpr auto kStale = std::chrono::hours(1);

class File {
 public:
  File(const std::string& path, int flags) : handle_(open(path.c_str(), flags | kAlways, 0600)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { close(); }
  [[nodiscard]] explicit operator bool() const { return handle_ >= 0; }
  [[nodiscard]] int handle() const { return handle_; }
  bool close() { return handle_ >= 0 && ::close(std::exchange(handle_, -1)) == 0; }

 private:
  static constexpr int kAlways = O_CLOEXEC | O_NOFOLLOW;
  int handle_;
};

std::string text_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? text : "";
}

std::string wanted_directory() {
  if (const char* text = std::getenv("GPUKERN_CACHE_DIR"))
    return std::string_view(text) == "off" ? "" : text;
  if (const std::string base = text_of("XDG_CACHE_HOME"); base.starts_with('/'))
    return base + "/gpukern";
  const std::string home = text_of("HOME");
  return home.empty() ? "" : home + "/.cache/gpukern";
}

std::uint64_t wanted_limit() {
  const std::string text = text_of("GPUKERN_CACHE_LIMIT");
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

/// Code is run from here: nobody else may have a hand in it.
bool is_ours_or_missing(const std::string& directory) {
  struct stat facts{};
  if (stat(directory.c_str(), &facts) != 0) return errno == ENOENT;
  return S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> read_all(const File& file) {
  struct stat facts{};
  if (fstat(file.handle(), &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_uid != geteuid())
    return {};
  std::string bytes(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file.handle(), bytes.data() + done, bytes.size() - done);
    if (got == 0 || (got < 0 && errno != EINTR)) return {};
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  return bytes;
}

bool write_all(const File& file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(file.handle(), bytes.data(), bytes.size());
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

std::string entry_path(const std::string& directory, const Digest& key) {
  return directory + '/' + hex(key) + std::string(kEntrySuffix);
}

struct Entry {
  fs::path path;
  std::uint64_t bytes = 0;
  fs::file_time_type used;
};

/// The files of ours with a suffix. Others may come and go meanwhile.
std::vector<Entry> entries_of(const std::string& directory, std::string_view suffix) {
  std::vector<Entry> found;
  std::error_code error;
  if (directory.empty()) return found;
  for (fs::directory_iterator file(directory, error), end; !error && file != end;
       file.increment(error)) {
    if (!std::string_view(file->path().native()).ends_with(suffix)) continue;
    std::error_code gone;
    const std::uint64_t bytes = file->file_size(gone);
    const fs::file_time_type used = gone ? fs::file_time_type{} : file->last_write_time(gone);
    if (!gone) found.push_back({file->path(), bytes, used});
  }
  return found;
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

}  // namespace

DiskCache::DiskCache() : directory_(wanted_directory()), limit_(wanted_limit()) {
  if (!directory_.empty() && !is_ours_or_missing(directory_)) directory_.clear();
}

DiskCache::Found DiskCache::find(const Digest& key) const {
  if (directory_.empty()) return {};
  const std::string path = entry_path(directory_, key);
  const File file(path, O_RDONLY);
  if (!file) return {.program = {}, .rejected = errno != ENOENT};
  const std::optional<std::string> bytes = read_all(file);
  Found found{.program = bytes ? program_of(key, *bytes) : std::nullopt};
  found.rejected = !found.program.has_value();
  if (found.rejected)
    remove_quietly(path);
  else
    static_cast<void>(futimens(file.handle(), nullptr));
  return found;
}

void DiskCache::store(const Digest& key, const Compiled& program) const {
  const std::string bytes = entry_of(key, program);
  if (directory_.empty() || bytes.size() > limit_) return;
  if (!make_directories(directory_) || !is_ours_or_missing(directory_)) return;
  static std::atomic<unsigned> counter{0};
  const std::string unfinished = directory_ + '/' + hex(key) + '.' + std::to_string(getpid()) +
                                 '.' + std::to_string(++counter) + std::string(kUnfinishedSuffix);
  File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
  // Not flushed: a file that a crash of the machine cut short fails its checksum.
  if (!file) return;
  const bool written = write_all(file, bytes);
  if (!file.close() || !written ||
      rename(unfinished.c_str(), entry_path(directory_, key).c_str()) != 0) {
    remove_quietly(unfinished);
    return;
  }
  make_room();
}

void DiskCache::make_room() const {
  const auto now = fs::file_time_type::clock::now();
  for (const Entry& entry : entries_of(directory_, kUnfinishedSuffix))
    if (now - entry.used > kStale) remove_quietly(entry.path);
  std::vector<Entry> entries = entries_of(directory_, kEntrySuffix);
  std::uint64_t total = 0;
  for (const Entry& entry : entries) total += entry.bytes;
  if (total <= limit_) return;
  std::ranges::sort(entries, {}, &Entry::used);
  for (const Entry& entry : entries) {
    if (total <= limit_) return;
    remove_quietly(entry.path);
    total -= entry.bytes;
  }
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const Entry& entry : entries_of(directory_, kEntrySuffix)) {
    ++usage.entries;
    usage.bytes += entry.bytes;
  }
  return usage;
}

void DiskCache::clear() const {
  for (const std::string_view suffix : {kEntrySuffix, kUnfinishedSuffix})
    for (const Entry& entry : entries_of(directory_, suffix)) remove_quietly(entry.path);
}

}  // namespace gpukern
