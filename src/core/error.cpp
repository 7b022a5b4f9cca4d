// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/core/error.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string_view>

namespace gpukern {
namespace {

// A fixed buffer: reporting that memory ran out must not need memory.
thread_local std::array<char, 1024> last_message{};

void store(std::string_view message) noexcept {
  std::size_t length = std::min(message.size(), last_message.size() - 1);
  // Not inside a character: the bytes of UTF-8 after its first one are 10xxxxxx.
  while (length > 0 && length < message.size() && (message[length] & 0xC0) == 0x80) --length;
  std::memcpy(last_message.data(), message.data(), length);
  last_message[length] = '\0';
}

}  // namespace

gpukern_status record_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    store(error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    store("out of host memory");
    return GPUKERN_MEMORY_ERROR;
  } catch (const std::length_error&) {  // of a container, for a size that no memory has
    store("out of host memory");
    return GPUKERN_MEMORY_ERROR;
  } catch (const std::exception& error) {
    store(error.what());
    return GPUKERN_INTERNAL_ERROR;
  } catch (...) {
    store("unknown exception");
    return GPUKERN_INTERNAL_ERROR;
  }
}

}  // namespace gpukern

extern "C" const char* gpukern_last_error(void) { return gpukern::last_message.data(); }

extern "C" const char* gpukern_status_name(gpukern_status status) {
  static constexpr std::array names{
      "GPUKERN_SUCCESS",       "GPUKERN_VALUE_ERROR",  "GPUKERN_TYPE_ERROR",
      "GPUKERN_INDEX_ERROR",   "GPUKERN_AXIS_ERROR",   "GPUKERN_MEMORY_ERROR",
      "GPUKERN_DEVICE_ERROR",  "GPUKERN_CUDA_ERROR",   "GPUKERN_INTERNAL_ERROR",
      "GPUKERN_COMPILE_ERROR", "GPUKERN_CONTEXT_LOST", "GPUKERN_CANCELLED"};
  const auto code = static_cast<std::size_t>(status);
  return code < names.size() ? names[code] : "unknown status";
}
