// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/runtime/call.hpp"

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace gpukern {
namespace {

Place default_place() {
  const Wish wish = wished_device();
  if (wish == Wish::kNone) return {{}, GPUKERN_RULE_HOST};
  if (wish == Wish::kCpu) return {{}, GPUKERN_RULE_ENVIRONMENT};
  // Where there is no GPU, host arrays stay on the CPU.
  if (cuda_status().device_count == 0) return {{}, GPUKERN_RULE_NO_GPU};
  return {{.cuda = true}, GPUKERN_RULE_ENVIRONMENT};
}

Place host_place(const char* function, const gpukern_exec* exec) {
  if (exec == nullptr || exec->device.device_type == GPUKERN_DEVICE_DEFAULT) return default_place();
  return {checked_device(exec->device, {function, "device"}), GPUKERN_RULE_ARGUMENT};
}

Place compute_place(const char* function, std::initializer_list<const Argument*> arguments,
                    const gpukern_exec* exec) {
  const Argument& first = **arguments.begin();
  const Device place = first.tensor.device;
  for (const Argument* argument : arguments) {
    require(argument->tensor.device == place, GPUKERN_VALUE_ERROR, argument->name, " must lie on ",
            device_name(place), " like ", first.name.argument, ", got ",
            device_name(argument->tensor.device));
  }
  if (!place.cuda) return host_place(function, exec);
  if (exec != nullptr && exec->device.device_type != GPUKERN_DEVICE_DEFAULT) {
    const Device wanted = checked_device(exec->device, {function, "device"});
    require(wanted == place, GPUKERN_VALUE_ERROR, function, ": device must be that of the arrays, ",
            device_name(place), ", got ", device_name(wanted));
  }
  return {place, GPUKERN_RULE_ARRAYS};
}

}  // namespace

Wish wished_device() {
  const char* text = std::getenv("GPUKERN_DEVICE");
  const std::string_view name = text != nullptr ? text : "";
  if (name.empty()) return Wish::kNone;
  if (name == "cpu") return Wish::kCpu;
  require(name == "cuda", GPUKERN_VALUE_ERROR, "GPUKERN_DEVICE must be cpu or cuda, got ", name);
  return Wish::kCuda;
}

Stream checked_stream(const gpukern_exec* exec) {
  if (exec == nullptr) return nullptr;
  // As of ABI 1. A later field is to be read only where struct_size covers it.
  constexpr std::size_t kFirstSize =
      offsetof(gpukern_exec, explanation) + sizeof(gpukern_exec::explanation);
  require(exec->struct_size >= kFirstSize, GPUKERN_VALUE_ERROR,
          "exec must have struct_size = ", kFirstSize, " or more, got ", exec->struct_size);
  return exec->stream;
}

Call::Call(const char* function, std::initializer_list<const Argument*> arguments,
           const gpukern_exec* exec)
    : Call((checked_stream(exec), compute_place(function, arguments, exec)),
           (*arguments.begin())->tensor.device, exec) {}

Call::Call(const Place& place, Device home_device, const gpukern_exec* exec)
    : device(place.device),
      stream(checked_stream(exec)),
      plan(checked_plan(exec)),
      planners(plan != nullptr ? std::make_unique<Planners>(device, home_device, *plan) : nullptr),
      backend(planners ? planners->device : backend_for(device)),
      home(device == home_device ? backend
           : planners            ? planners->home
                                 : backend_for(home_device)) {
  if (plan == nullptr) return;
  plan->device = {device.cuda ? GPUKERN_CUDA : GPUKERN_CPU, device.id};
  plan->rule = place.rule;
}

void Call::move(const Tensor& source, const Tensor& destination) const {
  if (plan == nullptr)
    transfer(source, destination, stream);
  else
    plan_transfer(*plan, source, destination);
}

namespace {

CopyArgs copy_args(const Tensor& source, const Tensor& destination) {
  CopyArgs args{
      .source = source.data, .destination = destination.data, .item = source.item, .loop = {}};
  for (int d = 0; d < source.ndim; ++d)
    args.loop.push(source.shape[d], {source.stride[d], destination.stride[d]});
  args.loop.coalesce();
  return args;
}

void copy_on(Backend& backend, const Tensor& source, const Tensor& destination, Stream stream) {
  if (!may_overlap(source, destination)) {
    backend.copy(copy_args(source, destination), stream);
    return;
  }
  if (same_layout(source, destination)) return;
  const Buffer apart(backend, source.bytes(), stream);
  const Tensor between = contiguous_at(apart.data(), source.device, source);
  backend.copy(copy_args(source, between), stream);
  backend.copy(copy_args(between, destination), stream);
}

/// Backend::upload, or Backend::enqueue_upload.
using Upload = void (Backend::*)(void*, const void*, std::size_t, Stream);
/// Backend::download, or Backend::enqueue_download.
using Download = Upload;

/// From contiguous host memory to a tensor of any layout.
void upload_packed(const void* from, const Tensor& destination, Stream stream, Upload upload) {
  Backend& gpu = backend_for(destination.device);
  const auto bytes = static_cast<std::size_t>(destination.bytes());
  if (destination.contiguous()) return (gpu.*upload)(destination.data, from, bytes, stream);
  const Buffer landing(gpu, destination.bytes(), stream);
  (gpu.*upload)(landing.data(), from, bytes, stream);
  gpu.copy(copy_args(contiguous_at(landing.data(), destination.device, destination), destination),
           stream);
}

/// From a tensor of any layout to contiguous host memory.
void download_packed(const Tensor& source, void* to, Stream stream, Download download) {
  Backend& gpu = backend_for(source.device);
  const auto bytes = static_cast<std::size_t>(source.bytes());
  if (source.contiguous()) return (gpu.*download)(to, source.data, bytes, stream);
  const Buffer packed(gpu, source.bytes(), stream);
  gpu.copy(copy_args(source, contiguous_at(packed.data(), source.device, source)), stream);
  (gpu.*download)(to, packed.data(), bytes, stream);
}

void upload(const Tensor& source, const Tensor& destination, Stream stream) {
  if (source.contiguous()) return upload_packed(source.data, destination, stream, &Backend::upload);
  Backend& host = backend_for(source.device);
  const Buffer packed(host, source.bytes(), nullptr);
  host.copy(copy_args(source, contiguous_at(packed.data(), source.device, source)), nullptr);
  upload_packed(packed.data(), destination, stream, &Backend::upload);
}

void download(const Tensor& source, const Tensor& destination, Stream stream) {
  if (destination.contiguous())
    return download_packed(source, destination.data, stream, &Backend::download);
  Backend& host = backend_for(destination.device);
  const Buffer landing(host, source.bytes(), nullptr);
  download_packed(source, landing.data(), stream, &Backend::download);
  host.copy(copy_args(contiguous_at(landing.data(), destination.device, source), destination),
            nullptr);
}

}  // namespace

void transfer(const Tensor& source, const Tensor& destination, Stream stream) {
  if (source.count() == 0) return;
  if (source.device == destination.device)
    copy_on(backend_for(source.device), source, destination, stream);
  else if (destination.device.cuda)
    upload(source, destination, stream);
  else
    download(source, destination, stream);
}

void enqueue_transfer(const Tensor& source, const Tensor& destination, Stream stream) {
  if (source.count() == 0) return;
  if (source.device == destination.device)
    copy_on(backend_for(source.device), source, destination, stream);
  else if (destination.device.cuda)
    upload_packed(source.data, destination, stream, &Backend::enqueue_upload);
  else
    download_packed(source, destination.data, stream, &Backend::enqueue_download);
}

Output::Output(const Call& call, const Tensor& tensor, bool apart)
    : call_(call), home_(tensor), tensor_(&tensor) {
  if (!apart) return;
  buffer_ = Buffer(call.home, tensor.bytes(), call.stream);
  apart_ = contiguous_at(buffer_.data(), tensor.device, tensor);
  tensor_ = &apart_;
}

void Output::finish() {
  if (buffer_.data() != nullptr) call_.move(apart_, home_);
}

}  // namespace gpukern
