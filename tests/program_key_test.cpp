// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Programs that are cached under the caller's cache_key.

#include <cstddef>
#include <string>

#include "program_cache_support.hpp"

namespace gpukern_test {
namespace {

class ProgramKeyTest : public ProgramCacheTest {};

/// The PTX that a lookup by the key alone finds; empty if it finds none.
std::string found_by(const char* key, const char* architecture = "sm_90") {
  gpukern_program_desc desc = Description{.source = "", .architecture = architecture}.desc();
  desc.source = nullptr;
  desc.cache_key = key;
  gpukern_program* program = nullptr;
  EXPECT_EQ(gpukern_program_compile(&desc, &program), GPUKERN_SUCCESS) << gpukern_last_error();
  const void* text = "";
  std::size_t size = 0;
  if (program != nullptr) gpukern_program_get(program, GPUKERN_PROGRAM_PTX, &text, &size);
  std::string ptx(static_cast<const char*>(text), size);
  EXPECT_EQ(gpukern_program_release(program), GPUKERN_SUCCESS);
  return ptx;
}

TEST_F(ProgramKeyTest, AKeyAloneFinds) {
  EXPECT_EQ(found_by("a formula"), "");
  EXPECT_EQ(counts(), Counts{});
  const Description keyed{.source = kAdd, .key = "a formula", .note = "float32 4"};
  const std::string cold = ptx_of(keyed);
  EXPECT_EQ(counts(), (Counts{.misses = 1}));
  EXPECT_EQ(found_by("a formula"), cold);
  EXPECT_EQ(counts(), (Counts{.memory_hits = 1, .misses = 1}));
  forget_memory();
  EXPECT_EQ(found_by("a formula"), cold);
  EXPECT_EQ(counts(), (Counts{.disk_hits = 1}));
  EXPECT_EQ(Compiled(keyed).part(GPUKERN_PROGRAM_NOTE), "float32 4");
  EXPECT_EQ(Compiled(kProgram).part(GPUKERN_PROGRAM_NOTE), "");
  EXPECT_EQ(found_by("a formula", "sm_80"), "");
  EXPECT_EQ(found_by("another"), "");
  EXPECT_EQ(counts(), (Counts{.memory_hits = 1, .disk_hits = 1, .misses = 1}));
}

TEST_F(ProgramKeyTest, AKeyIsNoSource) {
  ptx_of(kProgram);
  EXPECT_EQ(found_by(kAdd), "");
  ptx_of({.source = kAdd, .key = kAdd});
  EXPECT_EQ(counts(), (Counts{.misses = 2}));
}

TEST_F(ProgramKeyTest, ADamagedEntryOfAKeyIsNotFound) {
  const Description keyed{.source = kAdd, .key = "a formula", .note = "float32 4"};
  const std::string cold = ptx_of(keyed);
  forget_memory();
  std::string bytes = read_file(entries().at(0));
  bytes[bytes.size() - 20] ^= 1;
  write_file(entries().at(0), bytes);
  EXPECT_EQ(found_by("a formula"), "");
  EXPECT_EQ(counts(), (Counts{.rejected = 1}));
  EXPECT_TRUE(entries().empty());
  EXPECT_EQ(ptx_of(keyed), cold);
  EXPECT_EQ(counts(), (Counts{.misses = 1, .rejected = 1}));
}

TEST_F(ProgramKeyTest, ProgramsThatDependOnFilesAreNotCachedUnderAKey) {
  std::string dated = kAdd;  // not a temporary sum, which GCC 12 warns of
  dated += "// __DATE__\n";
  ptx_of({.source = dated, .key = "volatile"});
  ptx_of({.source = kAdd, .options = {"-I/usr/include"}, .key = "with files"});
  EXPECT_EQ(found_by("volatile"), "");
  EXPECT_EQ(found_by("with files"), "");
}

TEST_F(ProgramKeyTest, AnOlderDescriptionHasNoKey) {
  const Description keyed{.source = kAdd, .key = "a formula"};
  ptx_of(keyed);
  gpukern_program_desc desc = keyed.desc();
  desc.struct_size = offsetof(gpukern_program_desc, cache_key);
  gpukern_program* program = nullptr;
  EXPECT_EQ(gpukern_program_compile(&desc, &program), GPUKERN_SUCCESS) << gpukern_last_error();
  EXPECT_EQ(gpukern_program_release(program), GPUKERN_SUCCESS);
  EXPECT_EQ(counts(), (Counts{.misses = 2}));
}

}  // namespace
}  // namespace gpukern_test
