// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The open jobs, which spinning helpers join without a lock. See README.md.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "src/core/cache_line.hpp"
#include "src/threading/job.hpp"

namespace gpukern::cpu {

class JobTable {
 public:
  static constexpr int kSlots = 64;
  static constexpr int kNone = -1;

  /// The right and the duty of one helper to take part in a job, which exists until the helper
  /// departs.
  struct Ticket {
    Job* job = nullptr;
    int slot = kNone;
  };

  /// Opens a job to helpers. Returns its slot, or kNone if the table is full.
  int open(Job& job, int tickets, int awake_only) {
    const int number = claim();
    if (number == kNone) return kNone;
    JobSlot& slot = slots_[static_cast<std::size_t>(number)];
    slot.job = &job;
    slot.awake_only.store(awake_only, std::memory_order_relaxed);
    slot.tickets.store(static_cast<std::uint64_t>(tickets));
    open_.fetch_or(bit(number));
    return number;
  }

  /// Withdraws the remaining tickets and returns how many were taken. For the caller of a job, and
  /// for helpers that have not departed.
  int close(int number) {
    open_.fetch_and(~bit(number));
    const std::uint64_t tickets =
        slots_[static_cast<std::size_t>(number)].tickets.fetch_and(~(kTaken - kRemaining));
    return static_cast<int>(tickets / kTaken);
  }

  /// Frees the slot of a closed job whose helpers have departed.
  void release(int number) { used_.fetch_and(~bit(number), std::memory_order_release); }

  /// Takes a ticket for any open job, if there is one.
  Ticket take_ticket() {
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1) {
      const int number = std::countr_zero(open);
      JobSlot& slot = slots_[static_cast<std::size_t>(number)];
      std::uint64_t tickets = slot.tickets.load();
      while (remaining(tickets) > 0)
        if (slot.tickets.compare_exchange_weak(tickets, tickets - kRemaining + kTaken))
          return {slot.job, number};
    }
    return {};
  }

  [[nodiscard]] bool has_tickets() const {
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1)
      if (remaining(slots_[static_cast<std::size_t>(std::countr_zero(open))].tickets.load()) > 0)
        return true;
    return false;
  }

  /// The number of remaining tickets that are worth waking a sleeping helper for.
  [[nodiscard]] int tickets_worth_waking() const {
    int count = 0;
    for (std::uint64_t open = open_.load(); open != 0; open &= open - 1) {
      const JobSlot& slot = slots_[static_cast<std::size_t>(std::countr_zero(open))];
      count += std::max(
          0, remaining(slot.tickets.load()) - slot.awake_only.load(std::memory_order_relaxed));
    }
    return count;
  }

 private:
  // The tickets of a slot: those that remain in the low half, those taken in the high one.
  static constexpr std::uint64_t kRemaining = 1;
  static constexpr std::uint64_t kTaken = std::uint64_t{1} << 32;

  struct alignas(kCacheLine) JobSlot {
    std::atomic<std::uint64_t> tickets{0};
    std::atomic<int> awake_only{0};
    Job* job = nullptr;
  };

  static std::uint64_t bit(int number) { return std::uint64_t{1} << number; }
  static int remaining(std::uint64_t tickets) { return static_cast<int>(tickets % kTaken); }

  int claim() {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    while (~used != 0) {
      const int number = std::countr_one(used);
      if (used_.compare_exchange_weak(used, used | bit(number), std::memory_order_acquire))
        return number;
    }
    return kNone;
  }

  std::array<JobSlot, kSlots> slots_;
  alignas(kCacheLine) std::atomic<std::uint64_t> open_{0};  ///< slots that may have tickets
  alignas(kCacheLine) std::atomic<std::uint64_t> used_{0};
};

}  // namespace gpukern::cpu
