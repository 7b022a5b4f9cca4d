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
/// For each Kind, whether a call of it failed.
constinit std::array<std::atomic<bool>, 8> failed{};
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
  failed[static_cast<std::size_t>(site.kind)].store(true);
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
  for (std::atomic<bool>& kind : failed) kind.store(false);
  chosen.store(number);
  for_good.store(all_later);
  counting.store(true);
}

Failures stop() {
  counting.store(false);
  const auto any = [](auto... kinds) {
    return (failed[static_cast<std::size_t>(kinds)].load() || ...);
  };
  return {.calls = calls.load(),
          .first = first.load(),
          .memory = any(Kind::Memory),
          .gpu = any(Kind::Gpu, Kind::Wait),
          .query = any(Kind::Query, Kind::Absent),
          .absent = any(Kind::Absent)};
}

}  // namespace gpukern_torture
