// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/program/nvrtc_library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>

#include "src/core/error.hpp"
#include "src/core/make_once.hpp"

namespace gpukern::gpu {
namespace {

namespace fs = std::filesystem;

// The library's own release first: its machine code suits the drivers that this build runs on.
constexpr int kMajors[] = {CUDART_VERSION / 1000, 13, 12};

#if defined(__aarch64__)
constexpr char kTarget[] = "targets/sbsa-linux/lib";
#else
constexpr char kTarget[] = "targets/x86_64-linux/lib";
#endif
constexpr const char* kLibraryFolders[] = {"lib64", "lib", kTarget, ""};

std::string library_name(int major) { return "libnvrtc.so." + std::to_string(major); }

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// A root that was added, and those before it.
struct AddedRoot {
  std::string path;
  const AddedRoot* before;
};

// No locks here: the child of a fork() might find them taken by a thread that it does not have.
// What is found twice at once is the same; the later is dropped. None is ever destroyed.
std::atomic<const AddedRoot*> added_roots{nullptr};
std::atomic<const NvrtcPlace*> found_place{nullptr};
std::atomic<const Nvrtc*> opened_library{nullptr};

std::atomic<int> threads_at_work{0};
std::atomic<bool> lost_at_work{false};  // in the middle of NVRTC, when this process was forked

const int watching = pthread_atfork(nullptr, nullptr, [] {
  if (threads_at_work.exchange(0) > 0) lost_at_work.store(true);
});

std::string environment(const char* name) {
  const char* text = std::getenv(name);
  return text != nullptr ? text : "";
}

/// In the order in which they are searched.
std::vector<std::string> toolkits() {
  std::vector<std::string> found;
  for (const AddedRoot* root = added_roots.load(); root != nullptr; root = root->before)
    found.insert(found.begin(), root->path);
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (std::string root = environment(name); !root.empty()) found.push_back(std::move(root));
  found.emplace_back("/usr/local/cuda");
  return found;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string library_below(const std::string& root) {
  std::error_code error;
  if (fs::is_regular_file(root, error)) return root;
  for (const char* folder : kLibraryFolders)
    for (const int major : kMajors)
      if (fs::path path = fs::path(root) / folder / library_name(major); is_there(path))
        return path.string();
  return {};
}

/// By the system's loader: LD_LIBRARY_PATH, ld.so.cache, a copy that the process has open already.
std::string library_of_loader() {
  const NvrtcAtWork work;
  for (const int major : kMajors) {
    void* handle = dlopen(library_name(major).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    Dl_info facts{};
    void* const symbol = dlsym(handle, "nvrtcVersion");
    if (symbol != nullptr && dladdr(symbol, &facts) != 0) return facts.dli_fname;
  }
  return {};
}

/// libnvrtc-builtins.so.13.0 beside libnvrtc.so.13.
std::string builtins_beside(const fs::path& library) {
  const std::string name = library.filename().string();
  const std::size_t dot = name.rfind(".so");
  if (dot == name.npos) return {};
  const std::string prefix = "libnvrtc-builtins" + name.substr(dot) + ".";
  std::error_code error;
  for (fs::directory_iterator file(library.parent_path(), error), end; !error && file != end;
       file.increment(error))
    if (file->path().filename().string().starts_with(prefix)) return file->path().string();
  return {};
}

void find_headers(NvrtcPlace& place) {
  std::vector<std::string> places = toolkits();
  places.insert(places.begin(), fs::path(place.library).parent_path().parent_path().string());
  for (const std::string& root : places) {
    const fs::path include = fs::path(root) / "include";
    if (!is_there(include / "cuda_fp16.h")) continue;
    place.include.push_back(include.string());
    // A folder of its own since CUDA 13.
    if (is_there(include / "cccl")) place.include.push_back((include / "cccl").string());
    return;
  }
  place.searched_include = joined(places);
}

void set_identity(NvrtcPlace& place) {
  std::error_code error;
  place.identity = fs::path(place.builtins).filename().string() + ' ' +
                   std::to_string(fs::file_size(place.library, error));
  for (const std::string& folder : place.include) {
    const auto changed = fs::last_write_time(folder, error).time_since_epoch().count();
    place.identity += '\n' + folder + ' ' + std::to_string(changed);
  }
}

NvrtcPlace find_place() {
  NvrtcPlace place;
  const std::string named = environment("GPUKERN_NVRTC");
  const std::vector<std::string> places =
      named.empty() ? toolkits() : std::vector<std::string>{named};
  for (const std::string& root : places)
    if (place.library = library_below(root); !place.library.empty()) break;
  if (place.library.empty() && named.empty()) place.library = library_of_loader();
  require(!place.library.empty(), GPUKERN_DEVICE_ERROR,
          "programs are compiled by NVRTC, but there is no ", library_name(kMajors[0]),
          named.empty() ? " in " : " at $GPUKERN_NVRTC, ", joined(places),
          named.empty() ? ", or on the loader's path" : "",
          "; install one (pip install nvidia-cuda-nvrtc), or name its place by GPUKERN_NVRTC");
  place.builtins = builtins_beside(place.library);
  find_headers(place);
  set_identity(place);
  return place;
}

struct Symbol {
  const char* name;
  void** function;
};

void find_functions(void* library, const std::string& path, NvrtcFunctions& call) {
  const auto slot = [](auto& function) { return reinterpret_cast<void**>(&function); };
  const Symbol symbols[] = {{"nvrtcVersion", slot(call.version)},
                            {"nvrtcGetErrorString", slot(call.error_string)},
                            {"nvrtcGetNumSupportedArchs", slot(call.num_supported_archs)},
                            {"nvrtcGetSupportedArchs", slot(call.supported_archs)},
                            {"nvrtcCreateProgram", slot(call.create)},
                            {"nvrtcDestroyProgram", slot(call.destroy)},
                            {"nvrtcCompileProgram", slot(call.compile)},
                            {"nvrtcGetPTXSize", slot(call.ptx_size)},
                            {"nvrtcGetPTX", slot(call.ptx)},
                            {"nvrtcGetCUBINSize", slot(call.cubin_size)},
                            {"nvrtcGetCUBIN", slot(call.cubin)},
                            {"nvrtcGetProgramLogSize", slot(call.log_size)},
                            {"nvrtcGetProgramLog", slot(call.log)},
                            {"nvrtcAddNameExpression", slot(call.add_name)},
                            {"nvrtcGetLoweredName", slot(call.lowered_name)}};
  for (const Symbol& symbol : symbols) {
    *symbol.function = dlsym(library, symbol.name);
    require(*symbol.function != nullptr, GPUKERN_DEVICE_ERROR, path, " has no ", symbol.name);
  }
}

Nvrtc open(const NvrtcPlace& place) {
  const NvrtcAtWork work;
  // A wheel's library does not find its builtins; it takes them where they are loaded already.
  if (!place.builtins.empty()) dlopen(place.builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* library = dlopen(place.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, GPUKERN_DEVICE_ERROR, "NVRTC cannot be opened: ", dlerror());
  Nvrtc opened;
  find_functions(library, place.library, opened.call);
  int count = 0;
  const bool works = opened.call.version(&opened.major, &opened.minor) == NvrtcResult::Success &&
                     opened.call.num_supported_archs(&count) == NvrtcResult::Success;
  require(works, GPUKERN_DEVICE_ERROR, "NVRTC does not work: ", place.library);
  opened.architectures.resize(static_cast<std::size_t>(count));
  if (opened.call.supported_archs(opened.architectures.data()) != NvrtcResult::Success)
    opened.architectures.clear();
  return opened;
}

}  // namespace

NvrtcAtWork::NvrtcAtWork() {
  static_cast<void>(watching);
  require(!lost_at_work.load(), GPUKERN_DEVICE_ERROR,
          "nothing can be compiled in this process: it was forked while another thread compiled");
  threads_at_work.fetch_add(1);
}

NvrtcAtWork::~NvrtcAtWork() { threads_at_work.fetch_sub(1); }

const NvrtcPlace& nvrtc_place() {
  // A search that found nothing is made again: what it wants may have been installed or named.
  return make_once(found_place, [] { return std::make_unique<const NvrtcPlace>(find_place()); });
}

const Nvrtc& nvrtc() {
  return make_once(opened_library,
                   [] { return std::make_unique<const Nvrtc>(open(nvrtc_place())); });
}

void search_for_nvrtc(const char* root) {
  std::unique_ptr<AddedRoot> added(new AddedRoot{root, added_roots.load()});
  while (!added_roots.compare_exchange_weak(added->before, added.get())) {
  }
  [[maybe_unused]] const AddedRoot* const kept = added.release();
}

}  // namespace gpukern::gpu
