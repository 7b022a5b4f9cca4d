// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Where jobs ask for helpers, and threads that are awake take a part in them without a lock: with
// one, 15 threads came one behind the other, in 17 us, and left in as many.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "src/threading/job.hpp"

namespace gpukern::cpu {

class Board {
 public:
  static constexpr int kPosts = 64;
  static constexpr int kNone = -1;

  /// A part in the work of a job, which stays until its helper says that it has left.
  struct Seat {
    Job* job = nullptr;
    int post = kNone;
  };

  /// Offers seats in a job, some of which no sleeper is worth being woken for. The post that it
  /// has; kNone where as many other jobs are on the board.
  int offer(Job& job, int seats, int unwoken) {
    const int number = claim();
    if (number == kNone) return kNone;
    Post& post = posts_[static_cast<std::size_t>(number)];
    post.job = &job;
    post.unwoken.store(unwoken, std::memory_order_relaxed);
    post.offer.store(static_cast<std::uint64_t>(seats));
    open_.fetch_or(bit(number));
    return number;
  }

  /// Nobody joins any more; how many have. For the caller, and for helpers that have not left.
  int close(int number) {
    open_.fetch_and(~bit(number));
    const std::uint64_t offer =
        posts_[static_cast<std::size_t>(number)].offer.fetch_and(~(kJoined - kSeat));
    return static_cast<int>(offer / kJoined);
  }

  /// Leaves the post to others. Before this, the job's helpers have left.
  void clear(int number) { used_.fetch_and(~bit(number), std::memory_order_release); }

  /// A seat in some job, if there is one.
  Seat join() {
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1) {
      const int number = std::countr_zero(open);
      Post& post = posts_[static_cast<std::size_t>(number)];
      std::uint64_t offer = post.offer.load();
      while (seats_of(offer) > 0)
        if (post.offer.compare_exchange_weak(offer, offer - kSeat + kJoined))
          return {post.job, number};
    }
    return {};
  }

  [[nodiscard]] bool has_seats() const {
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1)
      if (seats_of(posts_[static_cast<std::size_t>(std::countr_zero(open))].offer.load()) > 0)
        return true;
    return false;
  }

  /// Seats that sleepers are worth being woken for.
  [[nodiscard]] int worth_waking() const {
    int seats = 0;
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1) {
      const Post& post = posts_[static_cast<std::size_t>(std::countr_zero(open))];
      seats +=
          std::max(0, seats_of(post.offer.load()) - post.unwoken.load(std::memory_order_relaxed));
    }
    return seats;
  }

 private:
  // Of an offer: the seats that are left in the low half, those that are taken in the high one.
  static constexpr std::uint64_t kSeat = 1;
  static constexpr std::uint64_t kJoined = std::uint64_t{1} << 32;

  struct alignas(64) Post {
    std::atomic<std::uint64_t> offer{0};
    std::atomic<int> unwoken{0};
    Job* job = nullptr;
  };

  static std::uint64_t bit(int number) { return std::uint64_t{1} << number; }
  static int seats_of(std::uint64_t offer) { return static_cast<int>(offer % kJoined); }

  int claim() {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    while (~used != 0) {
      const int number = std::countr_one(used);
      if (used_.compare_exchange_weak(used, used | bit(number), std::memory_order_acquire))
        return number;
    }
    return kNone;
  }

  std::array<Post, kPosts> posts_;
  alignas(64) std::atomic<std::uint64_t> open_{0};  ///< posts that may have seats
  alignas(64) std::atomic<std::uint64_t> used_{0};
};

}  // namespace gpukern::cpu
