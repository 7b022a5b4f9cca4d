// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// SHA-256 against NIST's test vectors. Compiled from the library's source, which does not export
// it.

#include "src/program/sha256.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace {

using gpukern::hex;
using gpukern::sha256;

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

// The padding ends in the last block or adds another. The expected value is that of coreutils'
// sha256sum for the list of digests.
TEST(Sha256Test, PadsEveryLength) {
  std::string all;
  for (std::size_t length = 0; length <= 130; ++length)
    all += hex(sha256(std::string(length, 'x'))) + "\n";
  EXPECT_EQ(hex(sha256(all)), "7880f77b654302a7082dd571fd4d0f44d583e661fa622b42404576e380865e8e");
}

}  // namespace
