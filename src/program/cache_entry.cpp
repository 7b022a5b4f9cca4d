// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/program/cache_entry.hpp"

#include <cstring>

namespace gpukern {
namespace {

constexpr std::string_view kMark = "gpukern entry 3\n";

std::string_view view(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Of the key too: the body of another entry has another sum.
Digest checksum(const Digest& key, std::string_view body) {
  return sha256(std::string(view(key)).append(body));
}

void put(std::string& to, std::string_view text) {
  const std::uint64_t size = text.size();
  to.append(reinterpret_cast<const char*>(&size), sizeof size);
  to.append(text);
}

/// Reads texts from the front; empty ones after the first error.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string text() {
    std::uint64_t size = 0;
    if (rest_.size() < sizeof size) return broken();
    std::memcpy(&size, rest_.data(), sizeof size);
    rest_.remove_prefix(sizeof size);
    if (size > rest_.size()) return broken();
    std::string taken(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return taken;
  }
  [[nodiscard]] bool more() const { return !rest_.empty(); }
  [[nodiscard]] bool whole() const { return whole_; }

 private:
  std::string broken() {
    whole_ = false;
    rest_ = {};
    return {};
  }

  std::string_view rest_;
  bool whole_ = true;
};

}  // namespace

std::string entry_of(const Digest& key, const Compiled& program) {
  std::string body;
  for (const auto* part :
       {&program.architecture, &program.ptx, &program.cubin, &program.log, &program.note})
    put(body, *part);
  for (const auto& [expression, name] : program.names) {
    put(body, expression);
    put(body, name);
  }
  std::string entry(kMark);
  entry += view(key);
  entry += view(checksum(key, body));
  entry += body;
  return entry;
}

std::optional<Compiled> program_of(const Digest& key, std::string_view entry) {
  constexpr std::size_t kDigest = std::tuple_size_v<Digest>;
  constexpr std::size_t kHead = kMark.size() + 2 * kDigest;
  if (entry.size() < kHead || !entry.starts_with(kMark)) return {};
  const std::string_view body = entry.substr(kHead);
  if (entry.substr(kMark.size(), kDigest) != view(key)) return {};
  if (entry.substr(kMark.size() + kDigest, kDigest) != view(checksum(key, body))) return {};

  Reader reader(body);
  Compiled program;
  for (auto* part :
       {&program.architecture, &program.ptx, &program.cubin, &program.log, &program.note})
    *part = reader.text();
  while (reader.more()) {
    std::string expression = reader.text();
    program.names.emplace_back(std::move(expression), reader.text());
  }
  if (!reader.whole()) return {};
  return program;
}

}  // namespace gpukern
