// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cstddef>

#include "src/program/program.hpp"
#include "src/runtime/call.hpp"

/// The caller's handle. Members are destroyed in reverse order: the kernel before the program that
/// holds its module.
struct gpukern_kernel {
  std::shared_ptr<gpukern::Program> program;
  std::unique_ptr<gpukern::Kernel> kernel;
};

namespace gpukern {
namespace {

constexpr std::size_t kFirstKernelInfo =
    offsetof(gpukern_kernel_info, device) + sizeof(gpukern_kernel_info::device);
constexpr std::size_t kFirstLaunch =
    offsetof(gpukern_launch, programmatic_launch) + sizeof(gpukern_launch::programmatic_launch);

// CUDA C++ Programming Guide, compute capabilities: the same since 5.0.
constexpr std::array<std::uint32_t, 3> kMaxGrid{0x7fffffff, 65535, 65535};
constexpr std::array<std::uint32_t, 3> kMaxBlock{1024, 1024, 64};
constexpr char kAxes[] = "xyz";

void check_shape(const gpukern_launch& launch, const KernelFacts& facts) {
  for (std::size_t d = 0; d < 3; ++d) {
    require(launch.grid[d] <= kMaxGrid[d], GPUKERN_VALUE_ERROR, "kernel_launch: grid.", kAxes[d],
            " must be at most ", kMaxGrid[d], ", got ", launch.grid[d]);
    require(launch.block[d] >= 1 && launch.block[d] <= kMaxBlock[d], GPUKERN_VALUE_ERROR,
            "kernel_launch: block.", kAxes[d], " must be in [1, ", kMaxBlock[d], "], got ",
            launch.block[d]);
  }
  const std::uint64_t threads = std::uint64_t{launch.block[0]} * launch.block[1] * launch.block[2];
  require(threads <= static_cast<std::uint64_t>(facts.max_threads_per_block), GPUKERN_VALUE_ERROR,
          "kernel_launch: block must have at most ", facts.max_threads_per_block,
          " threads for this kernel, got ", threads);
  require(launch.shared_bytes <= facts.max_dynamic_shared_bytes, GPUKERN_VALUE_ERROR,
          "kernel_launch: shared_bytes must be at most ", facts.max_dynamic_shared_bytes,
          " for this kernel, got ", launch.shared_bytes);
  require(launch.cooperative == 0 || launch.programmatic_launch == 0, GPUKERN_VALUE_ERROR,
          "kernel_launch: programmatic_launch must be 0 if cooperative is set");
}

void check_arguments(const KernelFacts& facts, const void* const* arguments,
                     const std::size_t* bytes, std::size_t count) {
  require(count == facts.parameters.size(), GPUKERN_TYPE_ERROR, "kernel_launch: the kernel takes ",
          facts.parameters.size(), " arguments, got ", count);
  require(count == 0 || (arguments != nullptr && bytes != nullptr), GPUKERN_VALUE_ERROR,
          "kernel_launch: arguments and argument_bytes must not be NULL for a count of ", count);
  for (std::size_t i = 0; i < count; ++i) {
    require(bytes[i] == facts.parameters[i].bytes, GPUKERN_TYPE_ERROR, "kernel_launch: argument ",
            i, " must have ", facts.parameters[i].bytes, " bytes, got ", bytes[i]);
    require(arguments[i] != nullptr, GPUKERN_VALUE_ERROR, "kernel_launch: arguments[", i,
            "] must not be NULL");
  }
}

void launch(const gpukern_kernel* kernel, const gpukern_launch* launch,
            const void* const* arguments, const std::size_t* bytes, std::size_t count,
            const gpukern_exec* exec) {
  require(kernel != nullptr && launch != nullptr, GPUKERN_VALUE_ERROR,
          "kernel_launch: kernel and launch must not be NULL");
  require_struct_size("kernel_launch: launch", launch->struct_size, kFirstLaunch);
  const KernelFacts& facts = kernel->kernel->facts();
  check_shape(*launch, facts);
  check_arguments(facts, arguments, bytes, count);
  const Stream stream = checked_stream(exec);
  if (exec != nullptr && exec->device.device_type != GPUKERN_DEVICE_DEFAULT) {
    const DeviceId wanted = checked_device(exec->device, {"kernel_launch", "device"});
    const DeviceId place{true, facts.device};
    require(wanted == place, GPUKERN_VALUE_ERROR, "kernel_launch: device must be the kernel's, ",
            device_name(place), ", got ", device_name(wanted));
  }
  if (launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0) return;
  kernel->kernel->launch(*launch, arguments, stream);
}

void query(const gpukern_kernel* kernel, gpukern_kernel_info* info) {
  require(kernel != nullptr && info != nullptr, GPUKERN_VALUE_ERROR,
          "kernel_query: kernel and info must not be NULL");
  require_struct_size("kernel_query: info", info->struct_size, kFirstKernelInfo);
  const KernelFacts& facts = kernel->kernel->facts();
  const KernelProperties properties = kernel->kernel->properties();
  info->parameter_count = static_cast<std::int32_t>(facts.parameters.size());
  info->max_threads_per_block = facts.max_threads_per_block;
  info->registers = properties.registers;
  info->static_shared_bytes = facts.static_shared_bytes;
  info->max_dynamic_shared_bytes = facts.max_dynamic_shared_bytes;
  info->local_bytes = properties.local_bytes;
  info->preferred_block = properties.preferred_block;
  info->device = facts.device;
}

}  // namespace
}  // namespace gpukern

using gpukern::guard;
using gpukern::require;

extern "C" gpukern_status gpukern_program_kernel(gpukern_program* program, const char* name,
                                                 int32_t device, gpukern_kernel** kernel) {
  return guard([&] {
    require(kernel != nullptr, GPUKERN_VALUE_ERROR, "program_kernel: kernel must not be NULL");
    *kernel = nullptr;
    require(program != nullptr && name != nullptr, GPUKERN_VALUE_ERROR,
            "program_kernel: program and name must not be NULL");
    *kernel = new gpukern_kernel{program->program, program->program->kernel(name, device)};
  });
}

extern "C" gpukern_status gpukern_kernel_release(gpukern_kernel* kernel) {
  return guard([&] { delete kernel; });
}

extern "C" gpukern_status gpukern_kernel_query(const gpukern_kernel* kernel,
                                               gpukern_kernel_info* info) {
  return guard([&] { gpukern::query(kernel, info); });
}

extern "C" gpukern_status gpukern_kernel_parameter(const gpukern_kernel* kernel, int32_t i,
                                                   size_t* offset, size_t* bytes) {
  return guard([&] {
    require(kernel != nullptr, GPUKERN_VALUE_ERROR, "kernel_parameter: kernel must not be NULL");
    const auto& parameters = kernel->kernel->facts().parameters;
    require(i >= 0 && static_cast<std::size_t>(i) < parameters.size(), GPUKERN_VALUE_ERROR,
            "kernel_parameter: i must be in [0, ", parameters.size(), "), got ", i);
    const gpukern::KernelParameter& parameter = parameters[static_cast<std::size_t>(i)];
    if (offset != nullptr) *offset = parameter.offset;
    if (bytes != nullptr) *bytes = parameter.bytes;
  });
}

extern "C" gpukern_status gpukern_kernel_launch(const gpukern_kernel* kernel,
                                                const gpukern_launch* launch,
                                                const void* const* arguments,
                                                const size_t* argument_bytes, size_t argument_count,
                                                const gpukern_exec* exec) {
  return guard(
      [&] { gpukern::launch(kernel, launch, arguments, argument_bytes, argument_count, exec); });
}
