// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "cuda/common/check.hpp"
#include "cuda/runtime/capture.hpp"
#include "cuda/runtime/mailbox.hpp"
#include "src/core/make_once.hpp"

namespace gpukern::gpu {

/// As many as the maximum number of concurrent searches.
class Mailboxes {
 public:
  Mailbox take(Device& device, cudaStream_t stream);
  void give_back(const Mailbox& box) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(box);  // there is room
  }

 private:
  std::mutex mutex_;
  std::vector<Mailbox> idle_;
  std::size_t made_ = 0;
};

namespace {

Mailbox make_mailbox(Device& device, cudaStream_t stream) {
  const RelaxedCapture relaxed;
  void* pinned = nullptr;
  check(cudaHostAlloc(&pinned, sizeof(Outcome), cudaHostAllocMapped | cudaHostAllocPortable),
        "cudaHostAlloc");
  const auto release_pinned = [](void* memory) { ignore(cudaFreeHost(memory)); };
  std::unique_ptr<void, decltype(release_pinned)> outcome(pinned, release_pinned);
  Mailbox box;
  box.outcome = static_cast<Outcome*>(pinned);
  check(cudaHostGetDevicePointer(reinterpret_cast<void**>(&box.outcome_on_device), pinned, 0),
        "cudaHostGetDevicePointer");
  box.shared = static_cast<SearchShared*>(device.allocate(sizeof(SearchShared), stream));
  const cudaError_t error = cudaMemsetAsync(box.shared, 0, sizeof(SearchShared), stream);
  if (error != cudaSuccess) device.release(box.shared, stream);
  check(error, "cudaMemsetAsync");
  static_cast<void>(outcome.release());
  return box;
}

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

Mailbox Mailboxes::take(Device& device, cudaStream_t stream) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      const Mailbox box = idle_.back();
      idle_.pop_back();
      return box;
    }
    idle_.reserve(++made_);
  }
  return make_mailbox(device, stream);
}

MailboxLease::MailboxLease(Device& device, cudaStream_t stream)
    : cache_(mailboxes_of_current_device()), stream_(stream), box_(cache_.take(device, stream)) {
  box_.outcome->position = Outcome::kNone;
  box_.outcome->falls = false;
}

MailboxLease::~MailboxLease() {
  if (!in_use_) return;
  const RelaxedCapture relaxed;
  ignore(cudaStreamSynchronize(stream_));
  cache_.give_back(box_);
}

void wait_for_mailboxes(cudaStream_t stream) {
  const RelaxedCapture relaxed;
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

Outcome MailboxLease::read() {
  const Outcome outcome{box_.outcome->position, box_.outcome->value, box_.outcome->falls};
  in_use_ = false;
  cache_.give_back(box_);
  return outcome;
}

}  // namespace gpukern::gpu
