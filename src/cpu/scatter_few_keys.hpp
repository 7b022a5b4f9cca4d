// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// scatter of many items to few elements by several threads, where the order of the values matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/cache.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/scatter_reductions.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

/// The parts into which to divide the updates of a call for FewKeysReduction, 0 if it does not pay.
inline std::int64_t parts_of_few_keys(const ScatterArgs& args, int threads) {
  // Each part leaves up to a block of values of each key to a second pass.
  constexpr std::int64_t kUpdatesPerKey = 4 * kBlockValues;
  constexpr std::int64_t kStateBytes = 32;  // of a key, which stay in a core's cache
  if (args.columns.ndim > 0 || args.updates.count() < std::int64_t{1} << 17 ||
      args.keys.count() > core_cache_bytes() / 2 / kStateBytes)
    return 0;
  const std::int64_t parts =
      std::min<std::int64_t>(threads, args.updates.count() / kUpdatesPerKey / args.keys.count());
  return parts > 1 ? parts : 0;
}

/// Reduces parts of the updates at once. A first pass counts the values of each key in each part.
/// So each part knows its place in the sequences, and combines the blocks that begin in it. Values
/// of a block that an earlier part began are kept, and combined in a second pass. The target is
/// written to at the end.
template <class T, gpukern_reduce reduce>
class FewKeysReduction {
  using A = Accumulator<T>;
  static constexpr gpukern_reduce kStep = step_of(reduce);

 public:
  FewKeysReduction(const ScatterArgs& args, std::int64_t parts)
      : args_(args),
        keys_(args.keys.count()),
        parts_(static_cast<std::size_t>(parts)),
        first_block_(static_cast<std::size_t>(keys_ + 1)),
        values_(static_cast<std::size_t>(keys_)) {
    for (Part& part : parts_) {
      // The last line of one part is not the first one of another.
      part.counts.reserve(static_cast<std::size_t>(keys_) + 2 * kCacheLine);
      part.states.reserve(static_cast<std::size_t>(keys_) + 2 * kCacheLine);
      part.counts.resize(static_cast<std::size_t>(keys_));
      part.states.resize(static_cast<std::size_t>(keys_));
    }
  }

  void run() {
    const DefaultFloatingPoint environment;
    for_each_part([this](std::int64_t part) { count(part); });
    divide();
    for_each_part([this](std::int64_t part) { combine_part(part); });
    for_each_part([this](std::int64_t part) {
      const auto parts = static_cast<std::int64_t>(parts_.size());
      finish(begin_of_part(keys_, parts, part), begin_of_part(keys_, parts, part + 1));
    });
  }

 private:
  /// Of a key in a part. Positions count the values of all keys' blocks, one after the other.
  struct KeyState {
    std::int64_t next;     ///< position of the next value
    std::int64_t carried;  ///< the next values that belong to a block of an earlier part
    A sum;                 ///< of the current block
    bool open;             ///< whether there is a current block
  };
  /// A value of a block that an earlier part began.
  struct Carried {
    std::int64_t block;
    std::int64_t value;
  };
  struct Part {
    std::vector<std::int64_t> counts;  ///< of the values of each key
    std::vector<KeyState> states;
    std::vector<Carried> carried;
  };

  template <class Body>
  void for_each_part(const Body& body) {
    parallel_pieces(static_cast<std::int64_t>(parts_.size()), [&](std::int64_t part) {
      const DefaultFloatingPoint environment;
      body(part);
    });
  }
  [[nodiscard]] std::byte* target(std::int64_t key) const {
    return args_.target + offset_of(args_.keys, key);
  }
  template <class Visit>
  void for_each_block_of(std::int64_t part, const Visit& visit) const {
    const std::int64_t count = args_.updates.count();
    const auto parts = static_cast<std::int64_t>(parts_.size());
    for_each_block(args_, begin_of_part(count, parts, part), begin_of_part(count, parts, part + 1),
                   visit);
  }

  void count(std::int64_t part) {
    std::int64_t* const counts = parts_[static_cast<std::size_t>(part)].counts.data();
    for_each_block_of(part, [counts](const Updates& updates) {
      visit_updates(updates, [&](const auto key, const auto /*value*/) {
        for (std::int64_t u = 0; u < updates.count; ++u) ++counts[key(u)];
      });
    });
  }

  /// Gives each part its place in the sequences.
  void divide() {
    std::vector<std::int64_t> carried(parts_.size());
    std::int64_t block = 0;
    for (std::size_t key = 0; key < values_.size(); ++key) {
      std::int64_t values = 1;  // the element itself is the first one
      for (std::size_t part = 0; part < parts_.size(); ++part) {
        const std::int64_t own = parts_[part].counts[key];
        const std::int64_t rest = (kBlockValues - values % kBlockValues) % kBlockValues;
        KeyState& state = parts_[part].states[key];
        state = {block * kBlockValues + values, part > 0 ? std::min(rest, own) : 0, A{}, false};
        carried[part] += state.carried;
        values += own;
      }
      KeyState& first = parts_.front().states[key];
      first.sum = widened(load_as<T>(target(static_cast<std::int64_t>(key))));
      first.open = true;
      values_[key] = values;
      first_block_[key] = block;
      block += (values - 1) / kBlockValues + 1;
    }
    first_block_.back() = block;
    blocks_.resize(static_cast<std::size_t>(block));
    for (std::size_t part = 0; part < parts_.size(); ++part)
      parts_[part].carried.reserve(static_cast<std::size_t>(carried[part]));
  }

  void combine_part(std::int64_t number) {
    Part& part = parts_[static_cast<std::size_t>(number)];
    for_each_block_of(number, [&](const Updates& updates) {
      visit_updates(updates, [&](const auto key, const auto value) {
        combine_all(part, part.states.data(), args_.values, updates.count, key, value);
      });
    });
    for (KeyState& state : part.states) close(state);
  }

  /// The parameters are passed by value, as in apply_updates().
  template <class Key, class Value>
  void combine_all(Part& part, KeyState* states, const std::byte* values, std::int64_t count,
                   Key key, Value value) {
    for (std::int64_t u = 0; u < count; ++u) {
      KeyState& state = states[key(u)];
      if (state.carried > 0 || state.next % kBlockValues == 0) {
        begin_block(part, key(u), value(u));
        continue;
      }
      ++state.next;
      state.sum = combine_one<kStep>(state.sum, widened(load_as<T>(values + value(u))));
    }
  }

  /// Keeps a value of an earlier part's block, or begins a block with it. Does neither if there are
  /// more values than were counted, since another thread changes the indices.
  [[gnu::noinline]] void begin_block(Part& part, std::int64_t key, std::int64_t value) {
    KeyState& state = part.states[static_cast<std::size_t>(key)];
    const std::int64_t block = state.next / kBlockValues;
    if (state.carried > 0) {
      if (part.carried.size() < part.carried.capacity()) part.carried.push_back({block, value});
      --state.carried;
      ++state.next;
      return;
    }
    close(state);
    if (block >= first_block_[static_cast<std::size_t>(key + 1)]) return;
    state.open = true;
    state.sum = widened(load_as<T>(args_.values + value));
    ++state.next;
  }

  /// Stores the sum of the current block, which ends before the next value.
  void close(KeyState& state) {
    if (!state.open) return;
    blocks_[static_cast<std::size_t>((state.next - 1) / kBlockValues)] = state.sum;
    state.open = false;
  }

  /// Combines what was carried to the blocks of keys [begin, end), and writes their results.
  void finish(std::int64_t begin, std::int64_t end) {
    const std::int64_t first = first_block_[static_cast<std::size_t>(begin)];
    const std::int64_t last = first_block_[static_cast<std::size_t>(end)];
    for (const Part& part : parts_) {
      if (is_stopped()) return;
      for (const auto& [block, value] : part.carried) {
        if (block < first || block >= last) continue;
        A& sum = blocks_[static_cast<std::size_t>(block)];
        sum = combine_one<kStep>(sum, widened(load_as<T>(args_.values + value)));
      }
    }
    for (std::int64_t key = begin; key < end; ++key) join_blocks(key);
  }

  /// Joins the blocks of a key by the tree of src/core/reduce.hpp.
  void join_blocks(std::int64_t key) {
    const auto at = static_cast<std::size_t>(key);
    if (values_[at] == 1) return;
    A* const level = blocks_.data() + first_block_[at];
    for (std::int64_t n = first_block_[at + 1] - first_block_[at]; n > 1; n = (n + 1) / 2) {
      for (std::int64_t k = 0; k < n / 2; ++k)
        level[k] = combine_one<kStep>(level[2 * k], level[2 * k + 1]);
      if (n % 2 == 1) level[n / 2] = level[n - 1];
    }
    store_as<T>(target(key), finished<T>(reduce, *level, values_[at]));
  }

  const ScatterArgs& args_;
  std::int64_t keys_;
  std::vector<Part> parts_;
  std::vector<std::int64_t> first_block_;
  std::vector<std::int64_t> values_;  ///< of each key, with its own
  std::vector<A> blocks_;
};

}  // namespace gpukern::cpu
