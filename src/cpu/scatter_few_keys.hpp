// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// scatter of many items to few elements by several threads, where the order of the values matters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "src/core/reduce.hpp"
#include "src/cpu/rounding.hpp"
#include "src/cpu/scatter_reductions.hpp"
#include "src/cpu/scatter_updates.hpp"
#include "src/threading/thread_pool.hpp"

namespace gpukern::cpu {

/// The parts into which to divide the updates of a call for FewKeysReduction, 0 if it does not pay.
inline std::int64_t parts_of_few_keys(const ScatterArgs& args, int threads) {
  // Each part leaves up to a block of values of each key to a second pass.
  constexpr std::int64_t kUpdatesPerKey = 4 * kBlockValues;
  if (args.columns.ndim > 0 || args.updates.count() < std::int64_t{1} << 17) return 0;
  const std::int64_t parts =
      std::min<std::int64_t>(threads, args.updates.count() / kUpdatesPerKey / args.keys.count());
  return parts > 1 ? parts : 0;
}

/// Reduces parts of the updates at once. A first pass counts the values of each key in each part.
/// So each part knows its place in the sequences, and combines the blocks that begin in it. The
/// values that belong to a block of an earlier part are kept, and combined in a second pass. The
/// target is written to at the end.
template <class T, gpukern_reduce reduce>
class FewKeysReduction {
  using A = Accumulator<T>;
  static constexpr gpukern_reduce kStep =
      reduce == GPUKERN_REDUCE_MEAN ? GPUKERN_REDUCE_ADD : reduce;

 public:
  FewKeysReduction(const ScatterArgs& args, std::int64_t parts)
      : args_(args),
        parts_(parts),
        keys_(args.keys.count()),
        states_(static_cast<std::size_t>(parts * keys_)),
        first_block_(static_cast<std::size_t>(keys_ + 1)),
        values_(static_cast<std::size_t>(keys_)),
        late_(static_cast<std::size_t>(parts)) {}

  void run() {
    for_each_part([this](std::int64_t part) { count(part); });
    divide();
    for_each_part([this](std::int64_t part) { combine_part(part); });
    for (const std::vector<Late>& values : late_)
      for (const Late& late : values) {
        A& sum = blocks_[static_cast<std::size_t>(late.block)];
        sum = combine_one<kStep>(sum, widened(load_as<T>(args_.values + late.value)));
      }
    parallel_for(keys_, 1024, [this](std::int64_t begin, std::int64_t end) {
      const DefaultFloatingPoint environment;
      for (std::int64_t key = begin; key < end; ++key) finish(key);
    });
  }

 private:
  /// Of a key in a part. Positions count the values of all keys' blocks, one after the other.
  struct State {
    std::int64_t next = 0;  ///< position of the next value, less kLate in a block of another part;
                            ///< first the number of values
    A sum{};                ///< of the present block
    bool open = false;      ///< whether this part has begun a block
  };
  /// A value of a block that began in another part.
  struct Late {
    std::int64_t block;
    std::int64_t value;
  };
  static constexpr std::int64_t kLate = std::int64_t{1} << 62;

  template <class Body>
  void for_each_part(const Body& body) {
    parallel_pieces(parts_, [&](std::int64_t part) {
      const DefaultFloatingPoint environment;
      body(part);
    });
  }
  State* states_of(std::int64_t part) {
    return states_.data() + static_cast<std::size_t>(part * keys_);
  }
  [[nodiscard]] std::byte* target(std::int64_t key) const {
    return args_.target + offset_of(args_.keys, key);
  }
  template <class Visit>
  void for_each_block_of(std::int64_t part, const Visit& visit) const {
    const std::int64_t count = args_.updates.count();
    const std::int64_t begin = count / parts_ * part;
    for_each_block(args_, begin, part + 1 < parts_ ? begin + count / parts_ : count, visit);
  }

  void count(std::int64_t part) {
    State* const states = states_of(part);
    for_each_block_of(part, [states](const Updates& updates) {
      visit_updates(updates, [&](const auto key, const auto /*value*/) {
        for (std::int64_t u = 0; u < updates.count; ++u) ++states[key(u)].next;
      });
    });
  }

  /// Gives each part its place in the sequences.
  void divide() {
    std::vector<std::int64_t> late(static_cast<std::size_t>(parts_));
    std::int64_t block = 0;
    for (std::int64_t key = 0; key < keys_; ++key) {
      std::int64_t position = 1;  // the element itself is the first value
      for (std::int64_t part = 0; part < parts_; ++part) {
        State& state = states_of(part)[key];
        const std::int64_t values = state.next;
        const std::int64_t rest = (kBlockValues - position % kBlockValues) % kBlockValues;
        state.next = block * kBlockValues + position;
        if (part > 0 && rest > 0) {
          state.next -= kLate;
          late[static_cast<std::size_t>(part)] += std::min(rest, values);
        }
        position += values;
      }
      State& first = states_of(0)[key];
      first.open = true;
      first.sum = widened(load_as<T>(target(key)));
      values_[static_cast<std::size_t>(key)] = position;
      first_block_[static_cast<std::size_t>(key)] = block;
      block += (position - 1) / kBlockValues + 1;
    }
    first_block_.back() = block;
    blocks_.resize(static_cast<std::size_t>(block));
    for (std::size_t part = 0; part < late_.size(); ++part)
      late_[part].reserve(static_cast<std::size_t>(late[part]));
  }

  void combine_part(std::int64_t part) {
    State* const states = states_of(part);
    for_each_block_of(part, [&](const Updates& updates) {
      visit_updates(updates, [&](const auto key, const auto value) {
        combine_all(part, states, args_.values, updates.count, key, value);
      });
    });
    for (std::int64_t key = 0; key < keys_; ++key) close(states[key], states[key].next - 1);
  }

  /// The parameters are passed by value, as in apply_updates().
  template <class Key, class Value>
  void combine_all(std::int64_t part, State* states, const std::byte* values, std::int64_t count,
                   Key key, Value value) {
    for (std::int64_t u = 0; u < count; ++u) {
      State& state = states[key(u)];
      if (state.next < 0 || state.next % kBlockValues == 0) {
        begin_block(part, key(u), value(u));
        continue;
      }
      ++state.next;
      state.sum = combine_one<kStep>(state.sum, widened(load_as<T>(values + value(u))));
    }
  }

  /// Keeps a value of another part's block, or begins a block with it. Does neither if another
  /// thread has changed the indices since they were counted.
  [[gnu::noinline]] void begin_block(std::int64_t part, std::int64_t key, std::int64_t value) {
    State& state = states_of(part)[key];
    if (state.next < 0) {
      const std::int64_t position = state.next + kLate;
      std::vector<Late>& late = late_[static_cast<std::size_t>(part)];
      if (late.size() < late.capacity()) late.push_back({position / kBlockValues, value});
      state.next = (position + 1) % kBlockValues == 0 ? position + 1 : state.next + 1;
      return;
    }
    close(state, state.next - 1);
    if (state.next / kBlockValues >= first_block_[static_cast<std::size_t>(key + 1)]) return;
    state.open = true;
    state.sum = widened(load_as<T>(args_.values + value));
    ++state.next;
  }

  /// Stores the sum of the block that ends with the value at a position.
  void close(State& state, std::int64_t last) {
    if (!state.open) return;
    blocks_[static_cast<std::size_t>(last / kBlockValues)] = state.sum;
    state.open = false;
  }

  /// Joins the blocks of a key by the tree of src/core/reduce.hpp.
  void finish(std::int64_t key) {
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
  std::int64_t parts_;
  std::int64_t keys_;
  std::vector<State> states_;  ///< [part][key]
  std::vector<std::int64_t> first_block_;
  std::vector<std::int64_t> values_;  ///< of each key, with its own
  std::vector<A> blocks_;
  std::vector<std::vector<Late>> late_;  ///< of each part
};

}  // namespace gpukern::cpu
