// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Names for a profiler.
#pragma once

namespace gpukern {

void begin_range(const char* name);
void end_range();

/// Names the host's work between its construction and its destruction, on the calling thread, in
/// the timeline of a profiler that supports NVTX. Without a profiler it costs a comparison.
class Range {
 public:
  explicit Range(const char* name) { begin_range(name); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
  ~Range() { end_range(); }
};

}  // namespace gpukern
