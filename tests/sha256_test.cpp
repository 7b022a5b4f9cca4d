// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The checksum of the disk cache against NIST's vectors. Built from the library's source: its
// internals are not exported.

#include "src/program/sha256.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace {

using gpukern::hex;
using gpukern::sha256;
using gpukern::sha256_portably;

TEST(Sha256Test, MatchesTheStandardsExamples) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                       "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(hex(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// The padding goes into the last block or one more: every length around two blocks differs, and
// the digest of all their digests is the one that coreutils' sha256sum gives.
TEST(Sha256Test, PadsEveryLength) {
  std::string all;
  for (std::size_t length = 0; length <= 130; ++length)
    all += hex(sha256(std::string(length, 'x'))) + "\n";
  EXPECT_EQ(hex(sha256(all)), "7880f77b654302a7082dd571fd4d0f44d583e661fa622b42404576e380865e8e");
}

TEST(Sha256Test, IsTheSameOnEveryProcessor) {
  std::string text;
  std::uint32_t random = 1;
  for (std::size_t length = 0; length <= 1000; ++length) {
    ASSERT_EQ(hex(sha256(text)), hex(sha256_portably(text))) << length;
    random = random * 1664525 + 1013904223;
    text += static_cast<char>(random >> 24U);
  }
}

}  // namespace
