// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The disk cache without a compiler: the owners of files it reads, and the files it removes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "program_support.hpp"
#include "src/core/environment.hpp"
#include "src/program/disk_cache.hpp"

namespace gpukern_test {
namespace {

namespace fs = std::filesystem;

using gpukern::DiskCache;

/// Sets a variable for the copy of the disk cache in this program and for the one in the library.
struct Variable : EnvironmentVariable {
  Variable(const char* name, const std::string& value) : EnvironmentVariable(name, value) {
    gpukern::reload_environment();
  }
};

class ProgramDiskTest : public testing::Test {
 protected:
  ProgramDiskTest() { DiskCache().store(key_, program()); }

  static gpukern::Compiled program() {
    gpukern::Compiled program;
    program.architecture = "sm_90";
    program.ptx = "ptx";
    program.cubin = "cubin";
    program.names = {{"f<1>", "_Z1f"}};
    return program;
  }

  [[nodiscard]] fs::path directory() const { return folder_.path / "cache"; }
  [[nodiscard]] fs::path entry() const { return directory() / (gpukern::hex(key_) + ".gpukern"); }

  /// A new instance, which reads the environment again.
  [[nodiscard]] DiskCache::Found found() const { return DiskCache().find(key_); }
  [[nodiscard]] bool is_found() const { return found().program.has_value(); }
  [[nodiscard]] bool is_rejected() const {
    const DiskCache::Found result = found();
    return result.rejected && !result.program.has_value();
  }

  /// Creates a file in the directory with a modification time two hours ago.
  [[nodiscard]] fs::path add_old(const std::string& name) const {
    const fs::path path = directory() / name;
    write_file(path, "mine");
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(2));
    return path;
  }

  const gpukern::Digest key_ = gpukern::sha256("a key");
  const gpukern::Digest other_ = gpukern::sha256("another key");
  const TemporaryFolder folder_;
  const Variable cache_{"GPUKERN_CACHE_DIR", directory().string()};
  const std::string digits_ = gpukern::hex(other_);
};

TEST_F(ProgramDiskTest, StoredProgramsAreFound) {
  const DiskCache::Found result = found();
  EXPECT_FALSE(result.rejected);
  ASSERT_TRUE(result.program.has_value());
  const auto stored = result.program.value_or(decltype(program()){});
  EXPECT_EQ(stored.architecture, "sm_90");
  EXPECT_EQ(stored.ptx, "ptx");
  EXPECT_EQ(stored.cubin, "cubin");
  EXPECT_EQ(stored.names, program().names);
  const DiskCache::Found missing = DiskCache().find(other_);
  EXPECT_FALSE(missing.program.has_value());
  EXPECT_FALSE(missing.rejected);
}

TEST_F(ProgramDiskTest, FilesWithForeignNamesRemain) {
  const std::string names[] = {"film.mkv.unfinished",
                               "mine.gpukern",
                               ".gpukern",
                               "notes.txt",
                               digits_,
                               digits_ + ".gpukern.old",
                               digits_ + "0.gpukern",
                               digits_.substr(1) + ".gpukern",
                               "X" + digits_.substr(1) + ".gpukern",
                               digits_ + ".unfinished",
                               digits_ + ".1.unfinished",
                               digits_ + ".1.2.3.unfinished",
                               digits_ + ".1.two.unfinished"};
  std::vector<fs::path> foreign;
  for (const std::string& name : names) foreign.push_back(add_old(name));
  const fs::path folder = directory() / (digits_ + ".gpukern");
  fs::create_directory(folder);
  foreign.push_back(folder);
  EXPECT_EQ(DiskCache().usage().entries, 1U);
  const Variable limit("GPUKERN_CACHE_LIMIT", std::to_string(fs::file_size(entry())));
  DiskCache().store(gpukern::sha256("a third key"), program());  // makes room
  DiskCache().clear();
  for (const fs::path& path : foreign) EXPECT_TRUE(fs::exists(path)) << path;
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()),
            static_cast<std::ptrdiff_t>(foreign.size()));
}

TEST_F(ProgramDiskTest, FilesOfAbortedWritersAreRemovedLater) {
  const fs::path old = add_old(digits_ + ".12.3.unfinished");
  const fs::path fresh = directory() / (digits_ + ".12.4.unfinished");
  write_file(fresh, "on its way");
  DiskCache().store(other_, program());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_EQ(DiskCache().usage().entries, 2U);
  DiskCache().clear();
  EXPECT_TRUE(fs::is_empty(directory()));
}

TEST_F(ProgramDiskTest, TheDirectoryMayBeALink) {
  const fs::path link = folder_.path / "link";
  fs::create_directory_symlink(directory(), link);
  const Variable variable("GPUKERN_CACHE_DIR", link.string());
  EXPECT_EQ(DiskCache().directory(), link.string());
  EXPECT_TRUE(is_found());
  DiskCache().store(other_, program());
  EXPECT_EQ(DiskCache().usage().entries, 2U);
  fs::permissions(directory(), fs::perms::all);
  EXPECT_EQ(DiskCache().directory(), "");
  EXPECT_FALSE(is_found());
}

TEST_F(ProgramDiskTest, TheDirectoryThatWasCheckedIsTheOneThatIsRead) {
  const DiskCache cache;
  fs::rename(directory(), folder_.path / "elsewhere");
  fs::create_directory(directory());
  EXPECT_TRUE(cache.find(key_).program.has_value());
  EXPECT_FALSE(is_found());
}

TEST_F(ProgramDiskTest, AnEntryThatOthersMayWriteToIsIgnored) {
  fs::permissions(entry(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_TRUE(is_rejected());
  EXPECT_FALSE(fs::exists(entry()));
}

TEST_F(ProgramDiskTest, AnEntryBeyondTheLimitIsNotRead) {
  fs::resize_file(entry(), std::uintmax_t{1} << 40);  // a sparse file, which occupies no space
  EXPECT_TRUE(is_rejected());
  EXPECT_FALSE(fs::exists(entry()));
}

int count_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? static_cast<int>(std::strtol(text, nullptr, 10)) : otherwise;
}

/// Flips bits, cuts, extends, and mixes with another entry.
std::string damaged(std::string bytes, const std::string& other, Random& random) {
  const std::size_t at = random() % bytes.size();
  switch (random() % 6) {
    case 0:
      return bytes.substr(0, at);
    case 1:
      return bytes + bytes.substr(at);
    case 2:
      return bytes.substr(0, at) + other.substr(std::min(at, other.size()));
    case 3:
      return bytes.erase(at, 1 + random() % 8);
    case 4:
      for (int word = 0; word < 4; ++word) bytes[random() % bytes.size()] = '\0';
      return bytes;
    default:
      for (std::uint64_t bits = 1 + random() % 3; bits > 0; --bits) {
        char& byte = bytes[random() % bytes.size()];
        byte = static_cast<char>(byte ^ (1U << random() % 8));
      }
      return bytes;
  }
}

TEST_F(ProgramDiskTest, NoDamagedEntryIsUsed) {
  const std::string whole = read_file(entry());
  gpukern::Compiled another = program();
  another.ptx = "other ptx";
  DiskCache().store(other_, another);
  const std::string other = read_file(directory() / (digits_ + ".gpukern"));
  Random random(std::random_device{}());
  const int entries = count_of("GPUKERN_TEST_ENTRIES", rounds(1000));
  for (int i = 0; i < entries; ++i) {
    const std::string bytes = damaged(whole, other, random);
    if (bytes == whole) continue;
    write_file(entry(), bytes);
    fs::permissions(entry(), fs::perms::owner_read | fs::perms::owner_write);
    ASSERT_TRUE(is_rejected()) << testing::PrintToString(bytes);
    ASSERT_FALSE(fs::exists(entry()));
  }
}

/// One of many processes: stores and finds some programs by turns.
int run_process(const std::vector<gpukern::Digest>& keys, int seed) {
  const auto numbered = [](std::size_t k) {
    gpukern::Compiled program;
    program.architecture = "sm_90";
    program.ptx = std::string(std::size_t{1} << (4 + k), static_cast<char>('a' + k));
    return program;
  };
  Random random(static_cast<std::uint64_t>(seed));
  for (int turn = 0; turn < 100; ++turn) {
    const std::size_t k = random() % keys.size();
    const auto found = DiskCache().find(keys[k]);
    if (found.rejected) return 2;
    if (found.program && found.program->ptx != numbered(k).ptx) return 3;
    if (!found.program) DiskCache().store(keys[k], numbered(k));
  }
  return 0;
}

TEST_F(ProgramDiskTest, ProcessesThatStartAtOnceFindWholeEntries) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer does not follow a fork()";
#endif
  DiskCache().clear();
  std::vector<gpukern::Digest> keys;
  keys.reserve(8);
  for (int k = 0; k < 8; ++k) keys.push_back(gpukern::sha256(std::to_string(k)));
  const Variable limit("GPUKERN_CACHE_LIMIT", "4000");  // some are removed again and again
  std::vector<pid_t> processes;
  for (int i = 0; i < count_of("GPUKERN_TEST_PROCESSES", 64); ++i) {
    processes.push_back(fork());
    if (processes.back() == 0) _exit(run_process(keys, i));
  }
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST_F(ProgramDiskTest, APipeDoesNotBlock) {
  fs::remove(entry());
  ASSERT_EQ(mkfifo(entry().c_str(), 0600), 0);
  EXPECT_TRUE(is_rejected());
  EXPECT_FALSE(is_found());
}

}  // namespace
}  // namespace gpukern_test
