// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Exceptions inside the library, and guard(), which turns them into a status at the C ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "gpukern/gpukern.h"

namespace gpukern {

/// An error: the status and the message for the caller.
class Error : public std::runtime_error {
 public:
  Error(gpukern_status status, const std::string& message)
      : std::runtime_error(message), status_(status) {}
  [[nodiscard]] gpukern_status status() const noexcept { return status_; }

 private:
  gpukern_status status_;
};

/// Names an argument in messages: "gather: source"; of a list of arrays also the position, from 0:
/// "saxpy_many: x[3]".
struct ArgumentName {
  const char* function;
  const char* argument;
  std::int64_t position = -1;
};

inline std::ostream& operator<<(std::ostream& text, const ArgumentName& name) {
  text << name.function << ": " << name.argument;
  if (name.position >= 0) text << '[' << name.position << ']';
  return text;
}

/// Throws an Error whose message is the parts, streamed one after another. Not inlined, so that the
/// successful path stays short; the message is formatted only when it is thrown.
template <class... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void fail(gpukern_status status, const Parts&... parts) {
  std::ostringstream text;
  text.exceptions(std::ios_base::badbit);  // without memory, not half a message
  (text << ... << parts);
  throw Error(status, text.str());
}

/// Throws unless the condition holds; for errors of the caller.
template <class... Parts>
void require(bool condition, gpukern_status status, const Parts&... parts) {
  if (!condition) fail(status, parts...);
}

/// Requires that a struct of the caller covers its fields as of ABI 1, the first `first` bytes:
/// callers compiled against it must remain supported. Read or write a later field only if
/// struct_size covers it.
template <class Name>
void require_struct_size(const Name& name, std::size_t got, std::size_t first) {
  require(got >= first, GPUKERN_VALUE_ERROR, name, " must have struct_size = ", first,
          " or more, got ", got);
}

/// Stores the message of the exception in flight for this thread and returns its status.
gpukern_status record_current_exception() noexcept;

/// Runs the body of an extern "C" function: no exception crosses the ABI.
template <class Body>
gpukern_status guard(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return GPUKERN_SUCCESS;
  } catch (...) {
    return record_current_exception();
  }
}

}  // namespace gpukern
