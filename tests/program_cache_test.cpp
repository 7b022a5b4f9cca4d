// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The cache of compiled programs: hits, misses, and resistance to damage.

#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <set>
#include <thread>

#include "program_cache_support.hpp"

namespace gpukern_test {
namespace {

TEST_F(ProgramCacheTest, FindsInMemoryThenOnDisk) {
  const std::string cold = ptx_of(kProgram);
  EXPECT_EQ(counts(), (Counts{.misses = 1}));
  EXPECT_EQ(ptx_of(kProgram), cold);
  EXPECT_EQ(counts(), (Counts{.memory_hits = 1, .misses = 1}));
  forget_memory();
  EXPECT_EQ(ptx_of(kProgram), cold);
  EXPECT_EQ(counts(), (Counts{.disk_hits = 1}));
}

TEST_F(ProgramCacheTest, StoresAllParts) {
  const Description description{
      .source = "template <class T> __global__ void f(T* x) { int unused; *x += 1; }\n",
      .names = {"f<float>"},
      .note = "stored unchanged"};
  const gpukern_program_part parts[] = {GPUKERN_PROGRAM_PTX, GPUKERN_PROGRAM_CUBIN,
                                        GPUKERN_PROGRAM_LOG, GPUKERN_PROGRAM_ARCHITECTURE,
                                        GPUKERN_PROGRAM_NOTE};
  std::vector<std::string> cold;
  {
    const Compiled program(description);
    for (const auto part : parts) cold.push_back(program.part(part));
  }
  forget_memory();
  const Compiled program(description);
  for (std::size_t i = 0; i < std::size(parts); ++i) EXPECT_EQ(program.part(parts[i]), cold[i]);
  EXPECT_EQ(counts(), (Counts{.disk_hits = 1}));
}

TEST_F(ProgramCacheTest, EveryPartOfADescriptionCounts) {
  const Description different[] = {
      kProgram,
      {.source = std::string(kAdd) + " "},
      {.source = kAdd, .options = {"-DA"}},
      {.source = kAdd, .options = {"-DA", "-DB"}},
      {.source = kAdd, .options = {"-DB", "-DA"}},
      {.source = kAdd, .options = {"-DAB"}},
      {.source = kAdd, .architecture = "sm_80"},
      {.source = kAdd, .architecture = "compute_90"},
      {.source = kAdd, .headers = {{"a", "b"}}},
      {.source = kAdd, .headers = {{"ab", " "}}},
      {.source = kAdd, .headers = {{"b", "a"}}},
      {.source = kAdd, .names = {"add"}},
      {.source = kAdd, .name = "other.cu"},
  };
  for (const Description& description : different) ptx_of(description);
  EXPECT_EQ(counts(), (Counts{.misses = std::size(different)}));
  EXPECT_EQ(entries().size(), std::size(different));
  for (const Description& description : different) ptx_of(description);
  EXPECT_EQ(counts(),
            (Counts{.memory_hits = std::size(different), .misses = std::size(different)}));
}

TEST_F(ProgramCacheTest, FailuresAreNotCached) {
  for (int round = 0; round < 2; ++round)
    EXPECT_EQ(Compiled({.source = "nonsense"}).status(), GPUKERN_COMPILE_ERROR);
  EXPECT_EQ(counts(), (Counts{.misses = 2}));
  EXPECT_TRUE(entries().empty());
}

TEST_F(ProgramCacheTest, ProgramsThatDependOnFilesOrTimeAreNotCached) {
  fs::create_directories(directory());
  const std::string folder = "-I" + directory().string();
  const std::string body = "extern \"C\" __global__ void f(int* x) { *x = kValue; }\n";
  const std::string path = (directory() / "mine.cuh").string();
  const std::string macro = "-DFILE=\"" + path + "\"";
  const std::string header = "#include \"" + path + "\"\n";
  const Description descriptions[] = {
      {.source = "#include \"mine.cuh\"\n" + body, .options = {folder.c_str()}},
      {.source = header + body},
      {.source = "# include <" + path + ">\n" + body},
      {.source = "#include FILE\n" + body, .options = {macro.c_str()}},
      {.source = "#include <inner.h>\n" + body, .headers = {{"inner.h", header.c_str()}}},
  };
  for (const Description& description : descriptions)
    for (const std::string value : {"1234", "5678"}) {
      write_file(path, "constexpr int kValue = " + value + ";\n");
      EXPECT_NE(ptx_of(description).find(value), std::string::npos) << description.source;
    }
  ptx_of({.source = "extern \"C\" __global__ void f(const char** x) { *x = __TIME__; }\n"});
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(counts().memory_hits + counts().disk_hits, 0U);
}

TEST_F(ProgramCacheTest, DirectoryAndFilesAreThisUsersOnly) {
  ptx_of(kProgram);
  EXPECT_EQ(cache_info().directory, directory().string());
  EXPECT_EQ(fs::status(directory()).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(entries().at(0)).permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(ProgramCacheTest, NoDirectoryThatOthersMayWriteTo) {
  fs::create_directories(directory());
  fs::permissions(directory(), fs::perms::all);
  EXPECT_STREQ(cache_info().directory, "");
  ptx_of(kProgram);
  EXPECT_TRUE(entries().empty());
}

TEST_F(ProgramCacheTest, DirectoryComesFromTheEnvironment) {
  const std::string base = directory().string();
  for (const char* off : {"", "off"}) {
    const EnvironmentVariable variable("GPUKERN_CACHE_DIR", off);
    EXPECT_STREQ(cache_info().directory, "");
    ptx_of(kProgram);
    EXPECT_EQ(cache_info().entries, 0U);
  }
  const EnvironmentVariable user("HOME", base);
  const EnvironmentVariable unset("GPUKERN_CACHE_DIR", std::nullopt);
  {
    const EnvironmentVariable xdg("XDG_CACHE_HOME", base + "/xdg");
    EXPECT_EQ(cache_info().directory, base + "/xdg/gpukern");
  }
  const EnvironmentVariable none("XDG_CACHE_HOME", "");
  EXPECT_EQ(cache_info().directory, base + "/.cache/gpukern");
}

TEST_F(ProgramCacheTest, DamagedEntriesAreCompiledAgain) {
  const std::string cold = ptx_of(kProgram);
  const fs::path path = entry();
  const std::string whole = read_file(path);
  Random random(std::random_device{}());
  std::vector<std::string> damaged{"", "gpukern", whole.substr(0, whole.size() - 1), whole + "x",
                                   std::string(whole.size(), '\0')};
  for (int i = 0; i < 20; ++i) {
    damaged.push_back(whole);
    char& byte = damaged.back()[random() % whole.size()];
    byte = static_cast<char>(byte ^ (1U << random() % 8));
  }
  for (const std::string& bytes : damaged) {
    write_file(path, bytes);
    EXPECT_EQ(gpukern_cache_query(nullptr), GPUKERN_VALUE_ERROR);
    forget_memory();
    EXPECT_EQ(ptx_of(kProgram), cold);
    EXPECT_EQ(counts(), (Counts{.misses = 1, .rejected = 1}));
    EXPECT_EQ(read_file(path), whole);
  }
}

TEST_F(ProgramCacheTest, ForeignEntriesAreCompiledAgain) {
  const fs::path path = entry();
  const Description other{.source = std::string(kAdd) + "\n"};
  const std::string cold = ptx_of(other);
  for (const auto& found : entries())
    if (found != path) fs::copy_file(path, found, fs::copy_options::overwrite_existing);
  forget_memory();
  EXPECT_EQ(ptx_of(other), cold);
  EXPECT_EQ(counts(), (Counts{.misses = 1, .rejected = 1}));
  // A link is not a file of the cache, regardless of its target.
  const fs::path elsewhere = directory() / "elsewhere";
  fs::rename(path, elsewhere);
  fs::create_symlink(elsewhere, path);
  forget_memory();
  ptx_of(kProgram);
  EXPECT_EQ(counts(), (Counts{.misses = 1, .rejected = 1}));
  EXPECT_FALSE(fs::is_symlink(path));
}

TEST_F(ProgramCacheTest, LeastRecentlyUsedEntriesAreRemovedFirst) {
  const auto numbered = [](int i) {
    return Description{.source = std::string(kAdd) + "// " + std::to_string(i)};
  };
  ptx_of(numbered(0));
  const auto bytes = cache_info().bytes;
  const EnvironmentVariable limit("GPUKERN_CACHE_LIMIT", std::to_string(3 * bytes + bytes / 2));
  EXPECT_EQ(cache_info().limit_bytes, 3 * bytes + bytes / 2);
  const auto wait = [this] {  // simulates the passing of hours
    for (const fs::path& path : entries())
      fs::last_write_time(path, fs::last_write_time(path) - std::chrono::hours(1));
  };
  for (int i = 1; i < 3; ++i) {
    wait();
    ptx_of(numbered(i));
  }
  forget_memory();
  wait();
  ptx_of(numbered(0));  // used again
  EXPECT_EQ(counts(), (Counts{.disk_hits = 1}));
  wait();
  ptx_of(numbered(3));
  EXPECT_EQ(cache_info().entries, 3U);
  EXPECT_LE(cache_info().bytes, cache_info().limit_bytes);
  forget_memory();
  for (const int kept : {0, 2, 3}) ptx_of(numbered(kept));
  EXPECT_EQ(counts(), (Counts{.disk_hits = 3}));
  ptx_of(numbered(1));
  EXPECT_EQ(counts(), (Counts{.disk_hits = 3, .misses = 1}));
}

TEST_F(ProgramCacheTest, LimitsAreChecked) {
  ptx_of(kProgram);
  forget_memory();
  const EnvironmentVariable limit("GPUKERN_CACHE_LIMIT", "1 GB");
  expect_error(Compiled(kProgram).status(), GPUKERN_VALUE_ERROR,
               "GPUKERN_CACHE_LIMIT must be a number of bytes, got 1 GB");
}

TEST_F(ProgramCacheTest, NothingIsWrittenBeyondTheLimit) {
  const EnvironmentVariable limit("GPUKERN_CACHE_LIMIT", "10");
  ptx_of(kProgram);
  EXPECT_EQ(cache_info().entries, 0U);
  EXPECT_FALSE(fs::exists(directory()));
}

TEST_F(ProgramCacheTest, UnwritableDirectoriesAreIgnored) {
  write_file(directory(), "a file where the directory should be");
  EXPECT_STREQ(cache_info().directory, "");
  ptx_of(kProgram);
  for (const char* path : {"/proc/gpukern", "/dev/null/gpukern", "/dev/full"}) {
    const EnvironmentVariable variable("GPUKERN_CACHE_DIR", path);
    forget_memory();
    ptx_of(kProgram);
    EXPECT_EQ(counts(), (Counts{.misses = 1}));
  }
}

TEST_F(ProgramCacheTest, ClearLeavesForeignFiles) {
  ptx_of(kProgram);
  write_file(directory() / "notes.txt", "mine");
  EXPECT_EQ(gpukern_cache_clear(), GPUKERN_SUCCESS);
  EXPECT_TRUE(entries().empty());
  EXPECT_TRUE(fs::exists(directory() / "notes.txt"));
  EXPECT_EQ(counts(), Counts{});
}

TEST_F(ProgramCacheTest, ThreadsCompileAProgramOnce) {
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (int i = 0; i < 8; ++i) threads.emplace_back([] { ptx_of(kProgram); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counts(), (Counts{.memory_hits = 7, .misses = 1}));
}

// One of many processes that start with an empty cache; the test below starts them.
TEST(ProgramCacheProcess, DISABLED_Compiles) {
  const char* file = std::getenv("GPUKERN_TEST_RESULT");
  ASSERT_NE(file, nullptr);
  if (const char* toolkit = std::getenv("GPUKERN_TEST_TOOLKIT")) gpukern_nvrtc_search(toolkit);
  write_file(file + std::to_string(getpid()), ptx_of(kProgram));
}

TEST_F(ProgramCacheTest, ManyProcessesStartCold) {
  constexpr int kProcesses = 64;
  const EnvironmentVariable result("GPUKERN_TEST_RESULT",
                                   (directory().parent_path() / "ptx").string());
  std::vector<pid_t> processes;
  for (int i = 0; i < kProcesses; ++i) {
    processes.push_back(fork());
    if (processes.back() != 0) continue;
    execl("/proc/self/exe", "gpukern_tests", "--gtest_filter=ProgramCacheProcess.*",
          "--gtest_also_run_disabled_tests", "--gtest_brief=1", static_cast<char*>(nullptr));
    _exit(1);
  }
  for (const pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::set<std::string> results;
  int count = 0;
  for (const auto& file : fs::directory_iterator(directory().parent_path())) {
    if (!file.is_regular_file()) continue;
    results.insert(read_file(file.path()));
    ++count;
  }
  EXPECT_EQ(count, kProcesses);
  EXPECT_EQ(results.size(), 1U);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()), 1);
  EXPECT_EQ(*results.begin(), ptx_of(kProgram));
  EXPECT_EQ(counts(), (Counts{.disk_hits = 1}));
}

}  // namespace
}  // namespace gpukern_test
