// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace gpukern {

/// Runs a step of a release. It fails only in an unusable CUDA context, in which no transfer runs
/// any more (the error that caused that is reported to the caller), or without memory to keep
/// something. The other steps go on.
template <class Step>
void attempt(const Step& step) noexcept {
  try {
    step();
  } catch (...) {  // NOLINT(bugprone-empty-catch): nothing is left to do
  }
}

}  // namespace gpukern
