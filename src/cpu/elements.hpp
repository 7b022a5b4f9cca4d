// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Elements at addresses that need not be aligned.
#pragma once

#include <cstddef>
#include <cstring>

namespace gpukern::cpu {
namespace {  // files are compiled for different instruction sets

template <class T>
T load_as(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void store_as(std::byte* to, const T& value) {
  std::memcpy(to, &value, sizeof(T));
}

}  // namespace
}  // namespace gpukern::cpu
