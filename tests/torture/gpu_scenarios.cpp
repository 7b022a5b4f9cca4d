// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// Copies, memory, events, deferred index errors, pipelines, hybrid gathers, the limit of threads.
#include <unistd.h>

#include <cstdlib>

#include "case.hpp"
#include "faults.hpp"
#include "gpukern/index_errors.h"
#include "gpukern/pipeline.h"
#include "gpukern/table.h"

namespace gpukern_torture {
namespace {

constexpr std::int64_t kCount = 5'000;

void upload(Case& given) {
  const gpukern_tensor* const source = given.floats({kCount}, kCpu);
  const gpukern_tensor* const out = given.result(kFloat, {kCount}, kGpu);
  given.call = [=] { return gpukern_copy(source, out, nullptr); };
}

void download_strided(Case& given) {
  const gpukern_tensor* const source = given.floats({kCount}, kGpu);
  const gpukern_tensor* const memory = given.result(kFloat, {2 * kCount}, kCpu);
  const gpukern_tensor* const out = given.view(memory, {kCount}, {2});
  given.call = [=] { return gpukern_copy(source, out, nullptr); };
}

void copy_async(Case& given) {
  const gpukern_tensor* const source = given.floats({kCount}, kPinned);
  const gpukern_tensor* const out = given.result(kFloat, {kCount}, kGpu);
  const gpukern_tensor* const back = given.result(kFloat, {kCount}, kPinned);
  given.call = [=] {
    return in_order([=] { return gpukern_copy_async(source, out, nullptr); },
                    [=] { return gpukern_copy_async(out, back, nullptr); },
                    [] { return gpukern_synchronize(kGpu, nullptr); });
  };
}

void allocate(Case& given) {
  given.call = [] {
    void* data = nullptr;
    void* pinned = nullptr;
    const gpukern_status status =
        in_order([&] { return gpukern_allocate(kGpu, 1000, nullptr, &data); },
                 [&] { return gpukern_allocate(kPinned, 1000, nullptr, &pinned); },
                 [] { return gpukern_synchronize(kGpu, nullptr); });
    gpukern_release(kPinned, pinned, nullptr);
    gpukern_release(kGpu, data, nullptr);
    return status;
  };
}

void events(Case& given) {
  given.call = [] {
    gpukern_event* event = nullptr;
    std::int32_t done = 0;
    std::uint64_t capture = 0;
    const gpukern_status status =
        in_order([&] { return gpukern_event_record(kGpu, nullptr, &event); },
                 [&] { return gpukern_stream_wait_event(kGpu, nullptr, event); },
                 [&] { return gpukern_event_query(kGpu, event, &done); },
                 [&] { return gpukern_stream_capture(kGpu, nullptr, &capture); },
                 [] { return gpukern_stream_wait(kGpu, nullptr, nullptr); });
    gpukern_event_release(kGpu, event);
    return status;
  };
}

/// Calls with a record of bad indices, which a check reports.
void index_errors(Case& given, std::int64_t high) {
  const gpukern_tensor* const source = given.floats({100, 4}, kGpu);
  const gpukern_tensor* const index = given.integers({kCount}, 0, high);
  const gpukern_tensor* const out = given.result(kFloat, {kCount, 4}, kGpu);
  const gpukern_tensor* const target = given.result(kFloat, {100, 4}, kGpu);
  given.call = [=] {
    gpukern_index_errors* errors = nullptr;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    const gpukern_status status =
        in_order([&] { return gpukern_index_errors_create(kGpu, &errors); },
                 [&] {
                   exec.index_errors = errors;
                   return gpukern_gather(source, index, 0, out, nullptr, &exec);
                 },
                 [&] { return gpukern_scatter(target, index, out, 0, nullptr, nullptr, &exec); },
                 [&] { return gpukern_index_errors_check(errors, nullptr); });
    gpukern_index_errors_destroy(errors);
    return status;
  };
}

void index_errors_none(Case& given) { index_errors(given, 100); }
void index_errors_found(Case& given) { index_errors(given, 200); }

/// A check that fails is repeated: it loses no bad index.
void index_errors_again(Case& given) {
  const gpukern_tensor* const source = given.floats({100, 4}, kGpu);
  const gpukern_tensor* const index = given.integers({100}, 100, 200);
  const gpukern_tensor* const out = given.result(kFloat, {100, 4}, kGpu);
  given.call = [=] {
    gpukern_index_errors* errors = nullptr;
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    gpukern_status status = in_order([&] { return gpukern_index_errors_create(kGpu, &errors); },
                                     [&] {
                                       exec.index_errors = errors;
                                       return gpukern_gather(source, index, 0, out, nullptr, &exec);
                                     });
    if (status == GPUKERN_SUCCESS) {
      status = gpukern_index_errors_check(errors, nullptr);
      const bool again = status == GPUKERN_CUDA_ERROR || status == GPUKERN_MEMORY_ERROR;
      if (again && gpukern_index_errors_check(errors, nullptr) == GPUKERN_SUCCESS) std::abort();
    }
    gpukern_index_errors_destroy(errors);
    return status;
  };
}

void pipeline(Case& given) {
  const gpukern_tensor* const x = given.floats({8 * kCount}, kCpu);
  const gpukern_tensor* const y = given.floats({8 * kCount}, kPinned);
  const gpukern_tensor* const out = given.result(kFloat, {8 * kCount}, kCpu);
  given.exec.device = kGpu;
  given.exec.device_memory_limit = 100'000;
  given.call = [=, &given] {
    const gpukern_tensor* const inputs[] = {x, y};
    const auto step = [](void*, const gpukern_pipeline_chunk* chunk) {
      const float a = 2;
      gpukern_exec exec = GPUKERN_EXEC_INIT;
      exec.stream = chunk->stream;
      return gpukern_saxpy(&a, &chunk->inputs[0], &chunk->inputs[1], &chunk->out, &exec);
    };
    return gpukern_pipeline_run(inputs, 2, out, step, nullptr, &given.exec);
  };
}

/// The GPU and the CPU gather rows from page-locked memory together.
void hybrid(Case& given, gpukern_index_mode mode) {
  setenv("GPUKERN_CPU_SHARE", "75", 1);
  if (gpukern_reload_environment() != GPUKERN_SUCCESS) std::abort();
  const gpukern_tensor* const source = given.floats({100, 64}, kPinned);
  const gpukern_tensor* const index = given.integers({kCount}, 0, 100);
  const gpukern_tensor* const out = given.result(kFloat, {kCount, 64}, kGpu);
  given.call = [=] {
    gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
    options.mode = mode;
    return in_order([&] { return gpukern_gather(source, index, 0, out, &options, nullptr); },
                    [] { return gpukern_synchronize(kGpu, nullptr); });
  };
}

void hybrid_raise(Case& given) { hybrid(given, GPUKERN_INDEX_RAISE); }
void hybrid_fill(Case& given) { hybrid(given, GPUKERN_INDEX_FILL); }

void queries(Case& given) {
  given.call = [] {
    gpukern_cuda_info cuda{};
    cuda.struct_size = sizeof cuda;
    gpukern_device_info info{};
    info.struct_size = sizeof info;
    gpukern_device device{};
    return in_order([&] { return gpukern_cuda_query(&cuda); },
                    [&] { return gpukern_device_query(0, &info); },
                    [&] { return gpukern_pointer_device(&info, &device); },
                    [] { return gpukern_reload_environment(); });
  };
}

/// Two parts, the second of which another table has.
void table(Case& given) {
  given.call = [] {
    const std::int64_t bytes[] = {100, 5'000'000};
    const std::int32_t first[] = {0, -1};
    const std::int32_t second[] = {-1, 0};
    const std::int32_t device = 0;
    gpukern_table_desc desc{sizeof desc, 2, bytes, first, 1, &device, 1, 0};
    gpukern_table_desc other = desc;
    other.part_devices = second;
    gpukern_table* ours = nullptr;
    gpukern_table* theirs = nullptr;
    gpukern_table_handle handle{};
    const gpukern_status status =
        in_order([&] { return gpukern_table_create(&desc, &ours); },
                 [&] { return gpukern_table_create(&other, &theirs); },
                 [&] { return gpukern_table_export(theirs, 1, GPUKERN_HANDLE_FILE, &handle); },
                 [&] { return gpukern_table_import(ours, 1, &handle); });
    if (handle.type == GPUKERN_HANDLE_FILE) {
      const Outside test;
      close(handle.file);
    }
    gpukern_table_destroy(ours);
    gpukern_table_destroy(theirs);
    return status;
  };
}

void pin(Case& given) {
  given.call = [] {
    static std::byte memory[10'000];
    const gpukern_status status = gpukern_pin(kPinned, memory, sizeof memory);
    if (status == GPUKERN_SUCCESS) gpukern_unpin(memory);
    return status;
  };
}

/// A call on the CPU by three threads, and a limit that is refused.
void thread_limit(Case& given) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 17;
  const gpukern_tensor* const x = given.floats({kLarge}, kCpu);
  const gpukern_tensor* const out = given.result(kFloat, {kLarge}, kCpu);
  given.call = [=] {
    gpukern_exec exec = GPUKERN_EXEC_INIT;
    exec.device = kCpu;
    const float a = 3;
    const gpukern_status status = in_order(
        [] { return gpukern_set_num_threads(3); },
        [] { return gpukern_num_threads() == 3 ? GPUKERN_SUCCESS : GPUKERN_INTERNAL_ERROR; },
        [&] { return gpukern_saxpy(&a, x, x, out, &exec); },
        [] { return gpukern_set_num_threads(-1); });
    gpukern_set_num_threads(0);
    return status;
  };
}

}  // namespace

std::vector<Named> gpu_scenarios() {
  return {{"upload", upload},
          {"download_strided", download_strided},
          {"copy_async", copy_async},
          {"allocate", allocate},
          {"events", events},
          {"index_errors_none", index_errors_none},
          {"index_errors_found", index_errors_found},
          {"index_errors_again", index_errors_again},
          {"pipeline", pipeline},
          {"hybrid_raise", hybrid_raise},
          {"hybrid_fill", hybrid_fill},
          {"queries", queries},
          {"table", table},
          {"pin", pin},
          {"thread_limit", thread_limit}};
}

}  // namespace gpukern_torture
