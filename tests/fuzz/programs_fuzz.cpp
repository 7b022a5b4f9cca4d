// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Validates descriptions of programs, and derives their keys: those of different programs differ.
// Without CUDA nothing is compiled.
#include <deque>
#include <optional>
#include <vector>

#include "gpukern/program.h"
#include "src/program/request.hpp"
#include "tests/fuzz/input.hpp"

namespace gpukern_fuzz {
namespace {

/// A description, and the texts that it refers to, each in a separate allocation.
class Description {
 public:
  explicit Description(Input& input) {
    constexpr const char* kArchitectures[] = {"sm_90", "compute_90", "sm_120f",
                                              "sm_9",  "",           "sm_90q"};
    gpukern_program_desc fields = GPUKERN_PROGRAM_DESC_INIT;
    const unsigned given = input.byte();
    fields.architecture = input.pick(kArchitectures);
    if ((given & 1) != 0) fields.architecture = text(input);
    if ((given & 2) == 0) fields.source = text(input);
    if ((given & 4) != 0) fields.name = text(input);
    if ((given & 8) != 0) fields.cache_key = text(input);
    if ((given & 16) != 0) fields.note = text(input);
    if ((given & 32) != 0) fields.architecture = nullptr;
    fields.device = input.number(2);
    fields.option_count = fill(input, options_);
    fields.options = options_.data();
    fields.name_expression_count = fill(input, names_);
    fields.name_expressions = names_.data();
    std::vector<const char*> parts;
    for (std::size_t k = fill(input, parts) / 2; k-- > 0;)
      headers_.push_back({parts[2 * k], parts[2 * k + 1]});
    fields.header_count = headers_.size();
    fields.headers = headers_.data();
    // A count beside no list is refused.
    if (given == 255) fields.options = nullptr, fields.option_count = input.raw<std::size_t>();
    if (given == 254) fields.headers = nullptr, fields.header_count = input.raw<std::size_t>();
    desc_ = std::make_unique<SizedStruct<gpukern_program_desc>>(input, fields);
  }

  [[nodiscard]] const gpukern_program_desc* get() const { return desc_->get(); }

 private:
  /// A text of the input, mostly one of the words that the library looks for and some bytes.
  const char* text(Input& input) {
    constexpr const char* kWords[] = {
        "",      "#include \"", "#include </", "# include_next <.", "__DATE__",       "__TIME__",
        "-I",    "-arch",       "-arch=sm_90", "--pre-include=",    "-dlto",          "include",
        "-rdc=", "true",        "-I/usr",      "__has_include(",    "#include MACRO", "\n"};
    std::string made = input.pick(kWords);
    made += input.text(64);
    made.resize(std::min(made.find('\0'), made.size()));
    auto& owned = texts_.emplace_back(std::make_unique<char[]>(made.size() + 1));
    std::memcpy(owned.get(), made.c_str(), made.size() + 1);
    return owned.get();
  }

  std::size_t fill(Input& input, std::vector<const char*>& list) {
    const std::size_t count = input.byte() % 5;
    for (std::size_t k = 0; k < count; ++k)
      list.push_back(input.byte() == 255 ? nullptr : text(input));
    return count;
  }

  std::deque<std::unique_ptr<char[]>> texts_;
  std::vector<const char*> options_;
  std::vector<const char*> names_;
  std::vector<gpukern_header> headers_;
  std::unique_ptr<SizedStruct<gpukern_program_desc>> desc_;
};

/// Everything that the key has to tell apart.
using Summary = std::vector<std::string>;

Summary summary(const gpukern::ProgramRequest& request) {
  Summary all{request.architecture, request.of_device ? "device" : ""};
  if (request.key != nullptr) {
    all.emplace_back(request.key);
    return all;
  }
  for (const std::size_t count :
       {request.options.size(), request.name_expressions.size(), request.headers.size()})
    all.push_back(std::to_string(count));
  for (const char* text : {request.source, request.name, request.note}) all.emplace_back(text);
  for (const auto& list : {request.options, request.name_expressions})
    all.insert(all.end(), list.begin(), list.end());
  for (const gpukern_header& header : request.headers) {
    all.emplace_back(header.name);
    all.emplace_back(header.source);
  }
  return all;
}

struct Keyed {
  std::string key;
  Summary summary;
};

std::optional<Keyed> keyed(const Description& description) {
  int other = 0;
  auto* program = reinterpret_cast<gpukern_program*>(&other);  // any but nullptr
  const gpukern_status status = gpukern_program_compile(description.get(), &program);
  expect(status == GPUKERN_DEVICE_ERROR && program == nullptr, "a program without CUDA");
  try {
    const gpukern::ProgramRequest request = gpukern::checked_request(description.get());
    static_cast<void>(gpukern::uses_files(request));
    if (request.source != nullptr) static_cast<void>(gpukern::is_volatile(request));
    return Keyed{gpukern::key_of(request), summary(request)};
  } catch (const gpukern::Error&) {
    return {};
  }
}

}  // namespace
}  // namespace gpukern_fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpukern_fuzz;
  Input input(data, size);
  const Description first(input);
  const Description second(input);
  const auto a = keyed(first);
  const auto b = keyed(second);
  if (a && b) expect((a->key == b->key) == (a->summary == b->summary), "keys of programs");
  return 0;
}
