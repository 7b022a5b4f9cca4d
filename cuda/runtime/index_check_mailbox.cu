// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/common/check.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/index_check_mailbox.hpp"
#include "src/core/make_once.hpp"

namespace gpukern::gpu {
namespace {

Mailbox make_mailbox(Device& device, cudaStream_t stream) {
  const RelaxedCapture relaxed;
  void* pinned = nullptr;
  check(cudaHostAlloc(&pinned, sizeof(Outcome), cudaHostAllocMapped | cudaHostAllocPortable),
        "cudaHostAlloc");
  // Frees the host memory if the allocation of device memory fails.
  const auto release = [](void* memory) { static_cast<void>(cudaFreeHost(memory)); };
  std::unique_ptr<void, decltype(release)> outcome(pinned, release);
  Mailbox box;
  box.outcome = static_cast<Outcome*>(pinned);
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&box.outcome_on_device), pinned, 0),
        "cudaHostGetDevicePointer");
  box.shared = static_cast<SearchShared*>(device.allocate(sizeof(SearchShared), stream));
  check(cudaMemsetAsync(box.shared, 0, sizeof(SearchShared), stream), "cudaMemsetAsync");
  static_cast<void>(outcome.release());
  return box;
}

/// The unused mailboxes of a device: as many as the maximum number of concurrent callers.
class Mailboxes {
 public:
  Mailbox take(Device& device, cudaStream_t stream) {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        const Mailbox box = idle_.back();
        idle_.pop_back();
        return box;
      }
    }
    return make_mailbox(device, stream);
  }
  void give_back(const Mailbox& box) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(box);
  }

 private:
  std::mutex mutex_;
  std::vector<Mailbox> idle_;
};

/// The mailboxes of all devices. Never destroyed: CUDA may be gone before static destructors run.
struct AllMailboxes {
  std::mutex mutex;
  std::deque<Mailboxes> all;
};
constinit std::atomic<AllMailboxes*> all_mailboxes{nullptr};

Mailboxes& mailboxes_of_current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  auto& [mutex, all] = make_once(all_mailboxes, [] { return std::make_unique<AllMailboxes>(); });
  const std::lock_guard lock(mutex);
  while (all.size() <= static_cast<std::size_t>(device)) all.emplace_back();
  return all[static_cast<std::size_t>(device)];
}

}  // namespace

MailboxLease::MailboxLease(Device& device, cudaStream_t stream)
    : box_(mailboxes_of_current_device().take(device, stream)) {
  box_.outcome->position = Outcome::kNone;
  box_.outcome->falls = false;
}

Outcome MailboxLease::read(cudaStream_t stream) {
  const RelaxedCapture relaxed;
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  const Outcome outcome{box_.outcome->position, box_.outcome->value, box_.outcome->falls};
  mailboxes_of_current_device().give_back(box_);
  return outcome;
}

}  // namespace gpukern::gpu
