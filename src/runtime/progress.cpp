// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/progress.hpp"

namespace gpukern {

Progress::Progress(const char* function, const gpukern_exec* exec) : function_(function) {
  if (exec == nullptr || exec->explanation != nullptr) return;
  callback_ = exec->progress;
  user_ = exec->progress_user;
}

void Progress::add(std::int64_t bytes) {
  if (callback_ == nullptr) return;
  done_ += static_cast<std::uint64_t>(bytes);
  if (ask_now()) fail();
}

void Progress::fail() const {
  if (is_forked())
    gpukern::fail(GPUKERN_CANCELLED, function_,
                  ": cannot go on in a child of the fork() that its progress callback called");
  gpukern::fail(GPUKERN_CANCELLED, function_, ": stopped by the progress callback at ", done_,
                " of ", total_, " bytes");
}

}  // namespace gpukern
