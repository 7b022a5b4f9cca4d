// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Decodes any bytes as an entry of the disk cache of programs, as they are and behind a valid head.
// What is accepted encodes to the same bytes. A directory of any files loses no foreign one.
#include <filesystem>
#include <fstream>

#include "src/core/environment.hpp"
#include "src/program/cache_entry.hpp"
#include "src/program/disk_cache.hpp"
#include "tests/fuzz/input.hpp"

namespace gpukern_fuzz {
namespace {

namespace fs = std::filesystem;

/// $GPUKERN_CACHE_DIR, which is removed at the end of the process.
struct CacheFolder {
  CacheFolder() {
    std::string name = (fs::temp_directory_path() / "gpukern-fuzz-").string() + std::string(6, 'X');
    expect(mkdtemp(name.data()) != nullptr, "no temporary directory");
    path = name;
    setenv("GPUKERN_CACHE_DIR", name.c_str(), 1);
    gpukern::reload_environment();
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;
  ~CacheFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

void decode(const gpukern::Digest& key, const std::string& entry) {
  const auto program = gpukern::program_of(key, entry);
  expect(!program || gpukern::entry_of(key, *program) == entry, "an entry has two encodings");
}

/// An entry with this body, whose key and checksum are right.
std::string entry_with(const gpukern::Digest& key, const std::string& body) {
  std::string entry = gpukern::entry_of(key, {});
  const std::string summed(reinterpret_cast<const char*>(key.data()), key.size());
  const gpukern::Digest sum = gpukern::sha256(summed + body);
  constexpr std::size_t kDigest = std::tuple_size_v<gpukern::Digest>;
  entry.resize(entry.find('\n') + 1 + kDigest);
  entry.append(reinterpret_cast<const char*>(sum.data()), sum.size());
  return entry + body;
}

/// Finds an entry in a directory with a file whose name and bytes the input gives.
void find_on_disk(const fs::path& folder, const gpukern::Digest& key, const std::string& name,
                  const std::string& bytes) {
  const std::string own = gpukern::hex(key) + ".gpukern";
  const bool valid = !name.empty() &&
                     name.find_first_of(std::string("/\0", 2)) == std::string::npos &&
                     name != "." && name != "..";
  const fs::path file = folder / (valid ? name : own);
  std::ofstream(file, std::ios::binary) << bytes;
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  const gpukern::DiskCache cache;
  const bool found = cache.find(key).program.has_value();
  expect(found == (file.filename() == own && gpukern::program_of(key, bytes)),
         "the directory has another entry than its file");
  const bool is_entry = cache.usage().entries > 0;
  const bool is_foreign = !is_entry && valid && name != own && !name.ends_with(".unfinished");
  cache.clear();
  expect(!is_entry || !fs::exists(file), "an entry was not removed");
  expect(!is_foreign || fs::exists(file), "a foreign file was removed");
  fs::remove(file);
}

}  // namespace
}  // namespace gpukern_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpukern_fuzz;
  static const CacheFolder folder;
  static const gpukern::Digest key = gpukern::sha256("a key");
  Input input(data, size);
  const unsigned kind = input.byte() % 4;
  const std::string name = kind == 3 ? input.text(200) : "";
  const std::string bytes(reinterpret_cast<const char*>(input.rest().data()), input.rest().size());
  const std::string entry = kind == 0 ? bytes : entry_with(key, bytes);
  decode(key, entry);
  if (kind >= 2) find_on_disk(folder.path, key, name, entry);
  return 0;
}
