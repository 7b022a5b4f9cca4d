// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The arguments of saxpy_many, checked once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "gpukern/saxpy_list.h"
#include "src/runtime/call.hpp"
#include "src/runtime/progress.hpp"

/// The arrays of a list, which are computed as by one saxpy after another.
struct gpukern_saxpy_list {
 public:
  using Tensors = const gpukern_tensor* const*;
  gpukern_saxpy_list(const char* function, Tensors x, Tensors y, Tensors out, std::size_t count);

  /// May be called by several threads.
  void run(const void* a, const gpukern_exec* exec) const;

 private:
  struct Item {
    gpukern::Tensor x;
    gpukern::Tensor y;
    gpukern::Tensor out;
  };

  void add(const gpukern::Argument& x, const gpukern::Argument& y, const gpukern::Argument& out);
  void require_like_first(const gpukern::Argument& argument) const;
  [[nodiscard]] gpukern::Tensor flat(const std::byte* data, std::int64_t count) const;
  void run_entries(const gpukern::Call& call, const void* a, std::size_t begin, std::size_t end,
                   std::int64_t count) const;
  /// One array after another, or several small ones at a time between which progress is reported.
  void run_in_groups(const gpukern::Call& call, const void* a, const gpukern_exec* exec,
                     gpukern::Progress& progress) const;

  const char* function_;
  std::unique_ptr<const gpukern::Argument> first_;  ///< x of the first item; null without items
  std::int64_t bytes_ = 0;                          ///< of all outputs
  std::int64_t count_ = 0;                          ///< of elements, in all entries
  std::vector<gpukern::SaxpyEntry> entries_;
  std::vector<Item> others_;  ///< in other layouts; all items if some depend on others
};
