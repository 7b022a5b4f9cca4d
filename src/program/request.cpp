// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/program/request.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace gpukern {
namespace {

constexpr std::size_t kFirstDesc = offsetof(gpukern_program_desc, name_expression_count) +
                                   sizeof(gpukern_program_desc::name_expression_count);
constexpr std::size_t kDescWithNote =
    offsetof(gpukern_program_desc, note) + sizeof(gpukern_program_desc::note);

struct Rule {
  std::string_view option;
  const char* rejection;  ///< nullptr: accepted, but the program is not cached
};

/// Options of NVRTC that gpukern rejects, and options that make the result depend on files. A rule
/// applies to every spelling of its option: "-arch=sm_90" in one argument or in two.
constexpr std::array kRules{
    Rule{"--gpu-architecture", "set architecture instead"},
    Rule{"-arch", "set architecture instead"},
    Rule{"--device-c", "relocatable code cannot be loaded without a linker"},
    Rule{"-dc", "relocatable code cannot be loaded without a linker"},
    Rule{"--relocatable-device-code=true", "relocatable code cannot be loaded without a linker"},
    Rule{"-rdc=true", "relocatable code cannot be loaded without a linker"},
    Rule{"--dlink-time-opt", "LTO IR cannot be loaded without a linker"},
    Rule{"-dlto", "LTO IR cannot be loaded without a linker"},
    Rule{"--optix-ir", "OptiX IR cannot be loaded by CUDA"},
    Rule{"-optix-ir", "OptiX IR cannot be loaded by CUDA"},
    Rule{"--fdevice-syntax-only", "it generates no code"},
    Rule{"-fdevice-syntax-only", "it generates no code"},
    Rule{"--include-path", nullptr},
    Rule{"--pre-include", nullptr},
    Rule{"-include", nullptr},
    Rule{"--pch", nullptr},
    Rule{"-pch", nullptr},
    Rule{"--create-pch", nullptr},
    Rule{"-create-pch", nullptr},
    Rule{"--use-pch", nullptr},
    Rule{"-use-pch", nullptr},
    Rule{"--time", nullptr},
    Rule{"-time", nullptr},
    Rule{"--fdevice-time-trace", nullptr},
    Rule{"-fdevice-time-trace", nullptr}};

const Rule* rule_for(std::string_view option) {
  for (const Rule& rule : kRules) {
    if (!option.starts_with(rule.option)) continue;
    const std::string_view rest = option.substr(rule.option.size());
    if (rest.empty() || rest.front() == '=') return &rule;
  }
  static constexpr Rule kIncludePath{"-I", nullptr};
  return option.starts_with("-I") ? &kIncludePath : nullptr;
}

void check_options(std::span<const char* const> options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    require(options[i] != nullptr, GPUKERN_VALUE_ERROR, "program_compile: options[", i,
            "] must not be NULL");
    const Rule* rule = rule_for(options[i]);
    if (rule != nullptr && rule->rejection != nullptr)
      fail(GPUKERN_VALUE_ERROR, "program_compile: option ", options[i],
           " cannot be used: ", rule->rejection);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// "sm_90", "sm_90a", "compute_120f".
bool looks_like_architecture(std::string_view text) {
  for (const std::string_view kind : {"sm_", "compute_"}) {
    if (!text.starts_with(kind)) continue;
    std::string_view number = text.substr(kind.size());
    if (!number.empty() && (number.back() == 'a' || number.back() == 'f')) number.remove_suffix(1);
    return number.size() >= 2 && number.size() <= 3 && std::ranges::all_of(number, is_digit);
  }
  return false;
}

void set_architecture(ProgramRequest& request, const gpukern_program_desc& desc) {
  if (desc.architecture != nullptr) {
    require(looks_like_architecture(desc.architecture), GPUKERN_VALUE_ERROR,
            "program_compile: architecture must have the form sm_90, sm_90a or compute_90, got ",
            desc.architecture);
    request.architecture = desc.architecture;
    return;
  }
  if (has_programs() && cuda_status().device_count == 0)
    fail(GPUKERN_DEVICE_ERROR, "there is no CUDA device: ", cuda_status().reason,
         "; to compile without one, name an architecture such as sm_90");
  require_cuda_device(desc.device);
  request.architecture = "sm_" + std::to_string(program_backend().compute_capability(desc.device));
  request.of_device = true;
}

template <class T>
std::span<const T> checked_list(const T* list, std::size_t count, const char* name) {
  require(list != nullptr || count == 0, GPUKERN_VALUE_ERROR, "program_compile: ", name,
          " must not be NULL for a count of ", count);
  return {list, count};
}

/// Appends a text after its length, so that different lists of texts give different keys.
void append(std::string& key, std::string_view text) {
  const std::uint64_t size = text.size();
  key.append(reinterpret_cast<const char*>(&size), sizeof size);
  key.append(text);
}

/// Whether a text uses __DATE__, __TIME__ or __TIMESTAMP__. The search is for what follows the
/// first underscores, since sources contain many of these.
bool uses_time_macros(std::string_view text) {
  return text.find("DATE__") != std::string_view::npos ||
         text.find("TIME__") != std::string_view::npos ||
         text.find("TIMESTAMP__") != std::string_view::npos;
}

/// Whether a directive includes a file by an absolute path, from a parent directory, or by a macro.
bool includes_by_path(std::string_view text) {
  constexpr std::string_view kWord = "include";
  for (std::size_t at = text.find(kWord); at != std::string_view::npos;
       at = text.find(kWord, at + 1)) {
    std::string_view before = text.substr(0, at);
    before = before.substr(0, before.find_last_not_of(" \t") + 1);
    std::string_view name = text.substr(at + kWord.size());
    name.remove_prefix(std::min(name.find_first_not_of("_next( \t"), name.size()));
    const bool named = name.starts_with('"') || name.starts_with('<');
    if (named ? name.size() > 1 && (name[1] == '/' || name[1] == '.') : before.ends_with('#'))
      return true;
  }
  return false;
}

}  // namespace

ProgramRequest checked_request(const gpukern_program_desc* desc) {
  require(desc != nullptr, GPUKERN_VALUE_ERROR, "program_compile: desc must not be NULL");
  require_struct_size("program_compile: desc", desc->struct_size, kFirstDesc);
  ProgramRequest request;
  if (desc->struct_size >= kDescWithNote) {
    request.key = desc->cache_key;
    if (desc->note != nullptr) request.note = desc->note;
  }
  require(desc->source != nullptr || request.key != nullptr, GPUKERN_VALUE_ERROR,
          "program_compile: source must not be NULL without a cache_key");
  request.source = desc->source;
  request.name = desc->name != nullptr ? desc->name : "program.cu";
  request.options = checked_list(desc->options, desc->option_count, "options");
  request.headers = checked_list(desc->headers, desc->header_count, "headers");
  request.name_expressions =
      checked_list(desc->name_expressions, desc->name_expression_count, "name_expressions");
  check_options(request.options);
  for (const gpukern_header& header : request.headers)
    require(header.name != nullptr && header.source != nullptr, GPUKERN_VALUE_ERROR,
            "program_compile: headers must have a name and a source");
  for (const char* name : request.name_expressions)
    require(name != nullptr, GPUKERN_VALUE_ERROR,
            "program_compile: name_expressions must not contain NULL");
  set_architecture(request, *desc);
  return request;
}

std::string key_of(const ProgramRequest& request) {
  std::string key;
  if (request.key != nullptr) {
    // No text has this size, and in other keys the size of the source is stored here.
    key.append(sizeof(std::uint64_t), '\xff');
    append(key, request.key);
    append(key, request.architecture);
    append(key, request.of_device ? "device" : "");
    return key;
  }
  key.reserve(std::strlen(request.source) + 256);
  append(key, request.source);
  append(key, request.name);
  append(key, request.architecture);
  append(key, request.of_device ? "device" : "");
  for (const char* option : request.options) append(key, option);
  for (const gpukern_header& header : request.headers) {
    append(key, header.name);
    append(key, header.source);
  }
  for (const char* name : request.name_expressions) append(key, name);
  append(key, request.note);
  // The numbers of items separate the lists.
  for (const std::size_t count : {request.options.size(), request.headers.size()})
    append(key, std::to_string(count));
  return key;
}

bool uses_files(const ProgramRequest& request) {
  return std::ranges::any_of(request.options,
                             [](const char* option) { return rule_for(option) != nullptr; });
}

bool is_volatile(const ProgramRequest& request) {
  const auto depends = [](std::string_view text) {
    return uses_time_macros(text) || includes_by_path(text);
  };
  return depends(request.source) ||
         std::ranges::any_of(
             request.headers,
             [&](const gpukern_header& header) { return depends(header.source); }) ||
         std::ranges::any_of(request.options, depends);
}

}  // namespace gpukern
