// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/program/nvrtc.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <string_view>

#include "cuda/program/nvrtc_library.hpp"
#include "cuda/program/nvrtc_signals.hpp"

namespace gpukern::gpu {
namespace {

void check(const Nvrtc& nvrtc, NvrtcResult result, const char* call) {
  if (result == NvrtcResult::Success) return;
  fail(result == NvrtcResult::OutOfMemory ? GPUKERN_MEMORY_ERROR : GPUKERN_INTERNAL_ERROR, call,
       " failed: ", nvrtc.call.error_string(result));
}

/// The folder of the sources in memory. No file can exist in it. `#include "..."` searches the
/// folder of the including file, and the current directory for a source without a folder; the cache
/// could not detect files found there.
constexpr std::string_view kNowhere = "/dev/null/";
constexpr const char* kProgramName = "/dev/null/program";

/// Adds a #line directive, so that messages and `__FILE__` use this name.
std::string named(std::string_view name, std::string_view text) {
  std::string line = "#line 1 \"";
  for (const char c : name) {
    if (c == '"' || c == '\\') line += '\\';
    line += c == '\n' || c == '\r' ? ' ' : c;
  }
  return line.append("\"\n").append(text);
}

/// An NVRTC program.
class Source {
 public:
  Source(const Nvrtc& nvrtc, const ProgramRequest& request) : nvrtc_(nvrtc), name_(request.name) {
    std::vector<const char*> names;
    std::vector<const char*> sources;
    for (const gpukern_header& header : request.headers) {
      // NVRTC finds a header by its name in the directive. That name gets a source which includes
      // the header from kNowhere.
      const std::string path = std::string(kNowhere) + header.name;
      names.push_back(header.name);
      sources.push_back(keep("#include \"" + path + "\"\n"));
      names.push_back(keep(path));
      sources.push_back(keep(named(header.name, header.source)));
    }
    check(nvrtc_,
          nvrtc_.call.create(&program_, keep(named(name_, request.source)), kProgramName,
                             static_cast<int>(names.size()), sources.data(), names.data()),
          "nvrtcCreateProgram");
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;
  ~Source() { nvrtc_.call.destroy(&program_); }

  void add_name(const char* expression) {
    check(nvrtc_, nvrtc_.call.add_name(program_, expression), "nvrtcAddNameExpression");
  }
  NvrtcResult compile(const std::vector<const char*>& options) {
    const FirstCompilation first;
    return nvrtc_.call.compile(program_, static_cast<int>(options.size()), options.data());
  }

  [[nodiscard]] std::string log() const {
    std::string text = without_null(read(nvrtc_.call.log_size, nvrtc_.call.log));
    for (std::size_t at = 0; (at = text.find(kProgramName, at)) != text.npos; at += name_.size())
      text.replace(at, std::string_view(kProgramName).size(), name_);
    return text;
  }
  [[nodiscard]] std::string ptx() const {
    return without_null(read(nvrtc_.call.ptx_size, nvrtc_.call.ptx));
  }
  [[nodiscard]] std::string cubin() const {
    return read(nvrtc_.call.cubin_size, nvrtc_.call.cubin);
  }
  [[nodiscard]] std::string lowered_name(const char* expression) const {
    const char* name = nullptr;
    check(nvrtc_, nvrtc_.call.lowered_name(program_, expression, &name), "nvrtcGetLoweredName");
    return name;
  }

 private:
  std::string read(NvrtcResult (*size_of)(NvrtcProgram, std::size_t*),
                   NvrtcResult (*get)(NvrtcProgram, char*)) const {
    std::size_t size = 0;
    check(nvrtc_, size_of(program_, &size), "nvrtcGet...Size");
    std::string bytes(size, '\0');
    if (size > 0) check(nvrtc_, get(program_, bytes.data()), "nvrtcGet...");
    return bytes;
  }
  const char* keep(std::string text) { return texts_.emplace_back(std::move(text)).c_str(); }
  /// NVRTC counts the terminating null of texts.
  static std::string without_null(std::string text) {
    while (!text.empty() && text.back() == '\0') text.pop_back();
    return text;
  }

  const Nvrtc& nvrtc_;
  std::string_view name_;
  std::deque<std::string> texts_;
  NvrtcProgram program_ = nullptr;
};

/// 90 for "sm_90a".
int number_of(const std::string& architecture) {
  const char* digits = architecture.data() + architecture.find('_') + 1;
  int number = 0;
  std::from_chars(digits, architecture.data() + architecture.size(), number);
  return number;
}

std::string architecture_for(const Nvrtc& nvrtc, const ProgramRequest& request) {
  const std::vector<int>& known = nvrtc.architectures;
  const int wanted = number_of(request.architecture);
  if (known.empty() || std::ranges::find(known, wanted) != known.end()) return request.architecture;
  const auto newer = std::ranges::upper_bound(known, wanted);
  // PTX for an older architecture, which the driver compiles for the device.
  if (request.of_device && newer != known.begin()) return "compute_" + std::to_string(newer[-1]);
  fail(GPUKERN_VALUE_ERROR, "program_compile: architecture must be one that NVRTC ", nvrtc.major,
       '.', nvrtc.minor, " supports, sm_", known.front(), " to sm_", known.back(), ", got ",
       request.architecture);
}

std::vector<std::string> default_options(const std::string& architecture) {
  std::vector<std::string> options{"--gpu-architecture=" + architecture};
  for (const std::string& folder : nvrtc_installation().include) options.push_back("-I" + folder);
  return options;
}

[[noreturn]] void report(const Nvrtc& nvrtc, NvrtcResult result, const ProgramRequest& request,
                         const std::string& log) {
  if (result == NvrtcResult::InvalidOption)
    fail(GPUKERN_VALUE_ERROR,
         "program_compile: options: ", log.substr(0, log.find_last_not_of('\n') + 1));
  if (result != NvrtcResult::Compilation) check(nvrtc, result, "nvrtcCompileProgram");
  std::string message = "program_compile: " + std::string(request.name) + " does not compile";
  const NvrtcInstallation& installation = nvrtc_installation();
  const bool lacks_file = log.find("could not open source file") != log.npos;
  if (lacks_file && installation.include.empty())
    message += " (there are no CUDA headers in " + installation.searched_include +
               ": pip install nvidia-cuda-runtime nvidia-cuda-crt nvidia-cuda-cccl)";
  throw CompileError(message + ":\n" + log, log);
}

}  // namespace

Compiled compile_with_nvrtc(const ProgramRequest& request) {
  const Nvrtc& opened = nvrtc();
  const NvrtcScope work;
  Compiled result;
  result.architecture = architecture_for(opened, request);
  Source source(opened, request);
  for (const char* expression : request.name_expressions) source.add_name(expression);

  std::vector<const char*> options(request.options.begin(), request.options.end());
  const std::vector<std::string> defaults = default_options(result.architecture);
  for (const std::string& option : defaults) options.push_back(option.c_str());
  const NvrtcResult outcome = source.compile(options);
  result.log = source.log();
  if (outcome != NvrtcResult::Success) report(opened, outcome, request, result.log);

  result.ptx = source.ptx();
  if (!result.architecture.starts_with("compute_")) result.cubin = source.cubin();
  for (const char* expression : request.name_expressions)
    result.names.emplace_back(expression, source.lowered_name(expression));
  return result;
}

}  // namespace gpukern::gpu
