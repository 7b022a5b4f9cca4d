// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/call.hpp"

#include <cstddef>
#include <string>

#include "src/core/environment.hpp"

namespace gpukern {
namespace {

DeviceChoice default_choice() {
  const DefaultDevice chosen = default_device();
  if (chosen == DefaultDevice::kNone) return {{}, GPUKERN_RULE_HOST};
  if (chosen == DefaultDevice::kCpu) return {{}, GPUKERN_RULE_ENVIRONMENT};
  // Without a GPU, host arrays are computed on the CPU.
  if (cuda_status().device_count == 0) return {{}, GPUKERN_RULE_NO_GPU};
  return {{.cuda = true}, GPUKERN_RULE_ENVIRONMENT};
}

DeviceChoice device_for_host_arrays(const char* function, const gpukern_exec* exec) {
  if (exec == nullptr || exec->device.device_type == GPUKERN_DEVICE_DEFAULT)
    return default_choice();
  return {checked_device(exec->device, {function, "device"}), GPUKERN_RULE_ARGUMENT};
}

DeviceChoice choose_device(const char* function, std::span<const Argument* const> arguments,
                           const gpukern_exec* exec) {
  const Argument& first = *arguments.front();
  const DeviceId device = first.tensor.device;
  for (const Argument* argument : arguments) {
    require(argument->tensor.device == device, GPUKERN_VALUE_ERROR, argument->name, " must be on ",
            device_name(device), " like ", first.name.argument, ", got ",
            device_name(argument->tensor.device));
  }
  if (!device.cuda) return device_for_host_arrays(function, exec);
  if (exec != nullptr && exec->device.device_type != GPUKERN_DEVICE_DEFAULT) {
    const DeviceId wanted = checked_device(exec->device, {function, "device"});
    require(wanted == device, GPUKERN_VALUE_ERROR, function,
            ": device must be that of the arrays, ", device_name(device), ", got ",
            device_name(wanted));
  }
  return {device, GPUKERN_RULE_ARRAYS};
}

/// exec->index_errors for tensors on a GPU.
gpukern_index_errors* deferred_errors(DeviceId data_device, const gpukern_exec* exec) {
  constexpr std::size_t kSize =
      offsetof(gpukern_exec, index_errors) + sizeof(gpukern_index_errors*);
  if (!data_device.cuda || exec == nullptr || exec->struct_size < kSize) return nullptr;
  return exec->index_errors;
}

}  // namespace

DefaultDevice default_device() {
  const std::string& name = environment().device;
  if (name.empty()) return DefaultDevice::kNone;
  if (name == "cpu") return DefaultDevice::kCpu;
  require(name == "cuda", GPUKERN_VALUE_ERROR, "GPUKERN_DEVICE must be cpu or cuda, got ", name);
  return DefaultDevice::kCuda;
}

Stream checked_stream(const gpukern_exec* exec) {
  if (exec == nullptr) return nullptr;
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_exec, explanation) + sizeof(gpukern_explanation*);
  require_struct_size("exec", exec->struct_size, kFirstSize);
  return exec->stream;
}

Call::Call(const char* function, std::span<const Argument* const> arguments,
           const gpukern_exec* exec)
    : Call((checked_stream(exec), choose_device(function, arguments, exec)),
           arguments.front()->tensor.device, exec) {}

Call::Call(const DeviceChoice& choice, DeviceId data_device_id, const gpukern_exec* exec)
    : device_id(choice.device),
      stream(checked_stream(exec)),
      explanation(checked_explanation(exec)),
      dry_run(explanation != nullptr
                  ? std::make_unique<DryRun>(device_id, data_device_id, *explanation)
                  : nullptr),
      device(dry_run ? dry_run->device : device_for(device_id)),
      data_device(device_id == data_device_id ? device
                  : dry_run                   ? dry_run->data_device
                                              : device_for(data_device_id)),
      index_errors(deferred_errors(data_device_id, exec)) {
  if (explanation == nullptr) return;
  explanation->device = {device_id.cuda ? GPUKERN_CUDA : GPUKERN_CPU, device_id.id};
  explanation->rule = choice.rule;
}

std::int64_t Call::number_of_index_errors() const {
  if (!number_) number_ = explanation == nullptr ? index_errors->next_call() : 0;
  return *number_;
}

void Call::move(const Tensor& source, const Tensor& destination) const {
  if (explanation == nullptr)
    transfer(source, destination, stream);
  else
    record_transfer(*explanation, source, destination);
}

namespace {

CopyArgs copy_args(const Tensor& source, const Tensor& destination) {
  CopyArgs args{
      .source = source.data, .destination = destination.data, .item = source.item, .loop = {}};
  for (int d = 0; d < source.ndim; ++d)
    args.loop.push(source.shape[d], {source.stride[d], destination.stride[d]});
  args.loop.sort_by(1);
  args.loop.coalesce();
  return args;
}

void copy_on(Device& device, const Tensor& source, const Tensor& destination, Stream stream) {
  if (!may_overlap(source, destination)) {
    device.run(copy_args(source, destination), stream);
    return;
  }
  if (same_layout(source, destination)) return;
  const Buffer apart(device, source.bytes(), stream);
  const Tensor between = contiguous_at(apart.data(), source.device, source);
  device.run(copy_args(source, between), stream);
  device.run(copy_args(between, destination), stream);
}

/// Device::upload or Device::enqueue_upload.
using Upload = void (Device::*)(void*, const void*, std::size_t, Stream);
/// Device::download or Device::enqueue_download.
using Download = Upload;

/// Copies contiguous host memory to a tensor with any strides.
void upload_packed(const void* from, const Tensor& destination, Stream stream, Upload upload) {
  Device& gpu = device_for(destination.device);
  const auto bytes = static_cast<std::size_t>(destination.bytes());
  if (destination.contiguous()) return (gpu.*upload)(destination.data, from, bytes, stream);
  const Buffer landing(gpu, destination.bytes(), stream);
  (gpu.*upload)(landing.data(), from, bytes, stream);
  gpu.run(copy_args(contiguous_at(landing.data(), destination.device, destination), destination),
          stream);
}

/// Copies a tensor with any strides to contiguous host memory.
void download_packed(const Tensor& source, void* to, Stream stream, Download download) {
  Device& gpu = device_for(source.device);
  const auto bytes = static_cast<std::size_t>(source.bytes());
  if (source.contiguous()) return (gpu.*download)(to, source.data, bytes, stream);
  const Buffer packed(gpu, source.bytes(), stream);
  gpu.run(copy_args(source, contiguous_at(packed.data(), source.device, source)), stream);
  (gpu.*download)(to, packed.data(), bytes, stream);
}

void upload(const Tensor& source, const Tensor& destination, Stream stream) {
  if (source.contiguous()) return upload_packed(source.data, destination, stream, &Device::upload);
  Device& host = device_for(source.device);
  const Buffer packed(host, source.bytes(), nullptr);
  host.run(copy_args(source, contiguous_at(packed.data(), source.device, source)), nullptr);
  upload_packed(packed.data(), destination, stream, &Device::upload);
}

void download(const Tensor& source, const Tensor& destination, Stream stream) {
  if (destination.contiguous())
    return download_packed(source, destination.data, stream, &Device::download);
  Device& host = device_for(destination.device);
  const Buffer landing(host, source.bytes(), nullptr);
  download_packed(source, landing.data(), stream, &Device::download);
  host.run(copy_args(contiguous_at(landing.data(), destination.device, source), destination),
           nullptr);
}

}  // namespace

void transfer(const Tensor& source, const Tensor& destination, Stream stream) {
  if (source.count() == 0) return;
  if (source.device == destination.device)
    copy_on(device_for(source.device), source, destination, stream);
  else if (destination.device.cuda)
    upload(source, destination, stream);
  else
    download(source, destination, stream);
}

void enqueue_transfer(const Tensor& source, const Tensor& destination, Stream stream) {
  if (source.count() == 0) return;
  if (source.device == destination.device)
    copy_on(device_for(source.device), source, destination, stream);
  else if (destination.device.cuda)
    upload_packed(source.data, destination, stream, &Device::enqueue_upload);
  else
    download_packed(source, destination.data, stream, &Device::enqueue_download);
}

OperandCopy::OperandCopy(const Call& call, Device& device, DeviceId id, const Tensor& tensor)
    : memory_(device, tensor.bytes(), call.stream),
      tensor_(contiguous_at(memory_.data(), id, tensor)) {
  const auto bytes = static_cast<std::size_t>(tensor.bytes());
  const bool sends = call.explanation == nullptr && id.cuda && !tensor.device.cuda;
  if (sends && tensor.count() == 1 && bytes <= Device::kMostSetBytes)
    device.set(tensor_.data, tensor.data, bytes, call.stream);
  else
    call.move(tensor, tensor_);
}

Output::Output(const Call& call, const Tensor& tensor, bool apart)
    : call_(call), out_(tensor), tensor_(&tensor) {
  if (!apart) return;
  buffer_ = Buffer(call.data_device, tensor.bytes(), call.stream);
  apart_ = contiguous_at(buffer_.data(), tensor.device, tensor);
  tensor_ = &apart_;
}

void Output::finish() {
  if (buffer_.data() != nullptr) call_.move(apart_, out_);
}

}  // namespace gpukern
