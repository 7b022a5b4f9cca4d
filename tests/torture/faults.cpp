// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "faults.hpp"

#include <tuple>

namespace gpukern_torture {
namespace {

constinit std::atomic<bool> counting{false};
constinit std::atomic<bool> for_good{false};
constinit std::atomic<std::int64_t> chosen{0};
constinit std::atomic<std::int64_t> calls{0};
constinit std::atomic<const Site*> first{nullptr};
constinit std::atomic<bool> memory_failed{false};
constinit std::atomic<bool> gpu_failed{false};
constinit std::array<std::atomic<std::int64_t>, std::tuple_size_v<Holdings>> held{};

}  // namespace

thread_local constinit int Outside::depth = 0;

bool fails(const Site& site) {
  if (!counting.load() || Outside::active()) return false;
  const std::int64_t number = calls.fetch_add(1) + 1;
  const std::int64_t wanted = chosen.load();
  if (wanted == 0 || (for_good.load() ? number < wanted : number != wanted)) return false;
  const Site* none = nullptr;
  first.compare_exchange_strong(none, &site);
  if (site.kind == Kind::Memory) memory_failed.store(true);
  if (site.kind == Kind::Gpu) gpu_failed.store(true);
  return true;
}

void hold(Resource resource, int change) {
  held[static_cast<std::size_t>(resource)].fetch_add(change);
}

Holdings holdings() {
  Holdings now{};
  for (std::size_t k = 0; k < now.size(); ++k) now[k] = held[k].load();
  return now;
}

void start(std::int64_t number, bool all_later) {
  calls.store(0);
  first.store(nullptr);
  memory_failed.store(false);
  gpu_failed.store(false);
  chosen.store(number);
  for_good.store(all_later);
  counting.store(true);
}

Failures stop() {
  counting.store(false);
  return {calls.load(), first.load(), memory_failed.load(), gpu_failed.load()};
}

}  // namespace gpukern_torture
