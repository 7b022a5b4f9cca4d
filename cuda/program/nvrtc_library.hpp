// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// NVRTC and CUDA's headers, found and opened when they are asked for. Its interface is declared
// here, as nvrtc.h documents it: the build needs no NVRTC.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace gpukern::gpu {

enum class NvrtcResult : int { Success = 0, OutOfMemory = 1, InvalidOption = 5, Compilation = 6 };

using NvrtcProgram = void*;

/// The functions under their names less "nvrtc".
struct NvrtcFunctions {
  NvrtcResult (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(NvrtcResult result) = nullptr;
  NvrtcResult (*num_supported_archs)(int* count) = nullptr;
  NvrtcResult (*supported_archs)(int* archs) = nullptr;
  NvrtcResult (*create)(NvrtcProgram* program, const char* source, const char* name, int headers,
                        const char* const* sources, const char* const* names) = nullptr;
  NvrtcResult (*destroy)(NvrtcProgram* program) = nullptr;
  NvrtcResult (*compile)(NvrtcProgram program, int count, const char* const* options) = nullptr;
  NvrtcResult (*ptx_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*ptx)(NvrtcProgram program, char* text) = nullptr;
  NvrtcResult (*cubin_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*cubin)(NvrtcProgram program, char* code) = nullptr;
  NvrtcResult (*log_size)(NvrtcProgram program, std::size_t* size) = nullptr;
  NvrtcResult (*log)(NvrtcProgram program, char* text) = nullptr;
  NvrtcResult (*add_name)(NvrtcProgram program, const char* expression) = nullptr;
  NvrtcResult (*lowered_name)(NvrtcProgram program, const char* expression,
                              const char** name) = nullptr;
};

/// The library, opened.
struct Nvrtc {
  NvrtcFunctions call;
  int major = 0;
  int minor = 0;
  std::vector<int> architectures;  ///< 75, 80, ..., rising
};

/// Where the library and the headers lie.
struct NvrtcPlace {
  std::string library;
  std::string builtins;  ///< to be opened before the library; "" if they are not beside it
  std::vector<std::string> include;
  std::string searched_include;  ///< for a message, where include is empty
  std::string identity;          ///< of the library's build and of the headers
};

/// The time of a thread in NVRTC, which has locks of its own. Throws GPUKERN_DEVICE_ERROR in the
/// child of a fork() that found another thread there: it would wait for that one for ever.
class NvrtcAtWork {
 public:
  NvrtcAtWork();
  NvrtcAtWork(const NvrtcAtWork&) = delete;
  NvrtcAtWork& operator=(const NvrtcAtWork&) = delete;
  ~NvrtcAtWork();
};

/// Both are found once; both throw GPUKERN_DEVICE_ERROR as long as there is nothing to find.
const NvrtcPlace& nvrtc_place();
const Nvrtc& nvrtc();

/// Adds a toolkit's root to the places that are searched.
void search_for_nvrtc(const char* root);

}  // namespace gpukern::gpu
