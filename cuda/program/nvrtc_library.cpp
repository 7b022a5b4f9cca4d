// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "cuda/program/nvrtc_library.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>

#include "src/core/environment.hpp"
#include "src/core/error.hpp"
#include "src/core/file.hpp"
#include "src/core/make_once.hpp"

namespace gpukern::gpu {
namespace {

namespace fs = std::filesystem;

// The CUDA release of this build comes first: the drivers that it supports run the machine code.
constexpr int kMajors[] = {CUDART_VERSION / 1000, 13, 12};

#if defined(__aarch64__)
constexpr char kTarget[] = "targets/sbsa-linux/lib";
#else
constexpr char kTarget[] = "targets/x86_64-linux/lib";
#endif
constexpr const char* kLibraryFolders[] = {"lib64", "lib", kTarget, ""};

std::string library_name(int major) { return "libnvrtc.so." + std::to_string(major); }

bool path_exists(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

/// A root that was added; a linked list.
struct AddedRoot {
  std::string path;
  const AddedRoot* before;
};

// Without locks: in the child of a fork(), a thread that does not exist there might hold them.
// Concurrent searches find the same; all results but the first are discarded. None is destroyed.
std::atomic<const AddedRoot*> added_roots{nullptr};
std::atomic<const NvrtcInstallation*> found_installation{nullptr};
std::atomic<const Nvrtc*> opened_library{nullptr};

std::atomic<int> threads_in_nvrtc{0};
std::atomic<bool> forked_in_nvrtc{false};  // the fork() happened while a thread was in NVRTC

const int watching = pthread_atfork(nullptr, nullptr, [] {
  if (threads_in_nvrtc.exchange(0) > 0) forked_in_nvrtc.store(true);
});

/// In search order.
std::vector<std::string> toolkits() {
  std::vector<std::string> found;
  for (const AddedRoot* root = added_roots.load(); root != nullptr; root = root->before)
    found.insert(found.begin(), root->path);
  for (const std::string* root : {&environment().cuda_home, &environment().cuda_path})
    if (!root->empty()) found.push_back(*root);
  found.emplace_back("/usr/local/cuda");
  return found;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string library_under(const std::string& root) {
  std::error_code error;
  if (fs::is_regular_file(root, error)) return root;
  for (const char* folder : kLibraryFolders)
    for (const int major : kMajors)
      if (fs::path path = fs::path(root) / folder / library_name(major); path_exists(path))
        return path.string();
  return {};
}

/// Uses the dynamic loader: LD_LIBRARY_PATH, ld.so.cache, a library that is already loaded.
std::string library_from_loader() {
  const NvrtcScope work;
  for (const int major : kMajors) {
    void* handle = dlopen(library_name(major).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    Dl_info facts{};
    void* const symbol = dlsym(handle, "nvrtcVersion");
    if (symbol != nullptr && dladdr(symbol, &facts) != 0) return facts.dli_fname;
  }
  return {};
}

/// The path of libnvrtc-builtins.so.13.0 in the folder of libnvrtc.so.13.
std::string builtins_next_to(const fs::path& library) {
  const std::string name = library.filename().string();
  const std::size_t dot = name.rfind(".so");
  if (dot == name.npos) return {};
  const std::string prefix = "libnvrtc-builtins" + name.substr(dot) + ".";
  const Listing listing(opendir(library.parent_path().c_str()));
  if (listing == nullptr) return {};
  while (const dirent* file = readdir(listing.get()))
    if (std::string_view(file->d_name).starts_with(prefix))
      return (library.parent_path() / file->d_name).string();
  return {};
}

void find_headers(NvrtcInstallation& found) {
  std::vector<std::string> roots = toolkits();
  roots.insert(roots.begin(), fs::path(found.library).parent_path().parent_path().string());
  for (const std::string& root : roots) {
    const fs::path include = fs::path(root) / "include";
    if (!path_exists(include / "cuda_fp16.h")) continue;
    found.include.push_back(include.string());
    // CCCL has a separate folder since CUDA 13.
    if (path_exists(include / "cccl")) found.include.push_back((include / "cccl").string());
    return;
  }
  found.searched_include = joined(roots);
}

void set_identity(NvrtcInstallation& found) {
  std::error_code error;
  found.identity = fs::path(found.builtins).filename().string() + ' ' +
                   std::to_string(fs::file_size(found.library, error));
  for (const std::string& folder : found.include) {
    const auto changed = fs::last_write_time(folder, error).time_since_epoch().count();
    found.identity += '\n' + folder + ' ' + std::to_string(changed);
  }
}

NvrtcInstallation find_installation() {
  NvrtcInstallation found;
  const std::string& named = environment().nvrtc;
  const std::vector<std::string> roots =
      named.empty() ? toolkits() : std::vector<std::string>{named};
  for (const std::string& root : roots)
    if (found.library = library_under(root); !found.library.empty()) break;
  if (found.library.empty() && named.empty()) found.library = library_from_loader();
  require(!found.library.empty(), GPUKERN_DEVICE_ERROR,
          "programs are compiled by NVRTC, but there is no ", library_name(kMajors[0]),
          named.empty() ? " in " : " at $GPUKERN_NVRTC, ", joined(roots),
          named.empty() ? ", or on the loader's path" : "",
          "; install one (pip install nvidia-cuda-nvrtc), or set GPUKERN_NVRTC to its path");
  found.builtins = builtins_next_to(found.library);
  find_headers(found);
  set_identity(found);
  return found;
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

Nvrtc open(const NvrtcInstallation& found) {
  const NvrtcScope work;
  // The library of a wheel does not find its builtins unless they are already loaded.
  if (!found.builtins.empty()) dlopen(found.builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* library = dlopen(found.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, GPUKERN_DEVICE_ERROR, "NVRTC cannot be loaded: ", dlerror());
  Nvrtc opened;
  find_functions(library, found.library, opened.call);
  int count = 0;
  const bool works = opened.call.version(&opened.major, &opened.minor) == NvrtcResult::Success &&
                     opened.call.num_supported_archs(&count) == NvrtcResult::Success;
  require(works, GPUKERN_DEVICE_ERROR, "NVRTC does not work: ", found.library);
  opened.architectures.resize(static_cast<std::size_t>(count));
  if (opened.call.supported_archs(opened.architectures.data()) != NvrtcResult::Success)
    opened.architectures.clear();
  return opened;
}

}  // namespace

NvrtcScope::NvrtcScope() {
  static_cast<void>(watching);
  require(!forked_in_nvrtc.load(), GPUKERN_DEVICE_ERROR,
          "NVRTC cannot be used in this process: it was forked while another thread compiled");
  threads_in_nvrtc.fetch_add(1);
}

NvrtcScope::~NvrtcScope() { threads_in_nvrtc.fetch_sub(1); }

const NvrtcInstallation& nvrtc_installation() {
  // A failed search is repeated: NVRTC may have been installed or configured since.
  return make_once(found_installation,
                   [] { return std::make_unique<const NvrtcInstallation>(find_installation()); });
}

const Nvrtc& nvrtc() {
  return make_once(opened_library,
                   [] { return std::make_unique<const Nvrtc>(open(nvrtc_installation())); });
}

void search_for_nvrtc(const char* root) {
  std::unique_ptr<AddedRoot> added(new AddedRoot{root, added_roots.load()});
  while (!added_roots.compare_exchange_weak(added->before, added.get())) {
  }
  [[maybe_unused]] const AddedRoot* const kept = added.release();
}

}  // namespace gpukern::gpu
