// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather and saxpy as XLA FFI calls. On a GPU they only enqueue, on the stream that XLA gives them,
// so that XLA may record them into its command buffers (CUDA graphs). No CUDA header is needed.

#include <gpukern/gpukern.h>
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

namespace {

namespace ffi = xla::ffi;

constexpr gpukern_exec kOnCpu = {sizeof(gpukern_exec), {GPUKERN_CPU, 0}, nullptr};

gpukern_exec on_gpu(void* stream, int32_t device_id) {
  return {sizeof(gpukern_exec), {GPUKERN_CUDA, device_id}, stream};
}

struct Dtype {
  ffi::DataType theirs;
  gpukern_dtype ours;
};

constexpr Dtype kDtypes[] = {
    {ffi::PRED, {GPUKERN_BOOL, 8, 1}},     {ffi::S8, {GPUKERN_INT, 8, 1}},
    {ffi::S16, {GPUKERN_INT, 16, 1}},      {ffi::S32, {GPUKERN_INT, 32, 1}},
    {ffi::S64, {GPUKERN_INT, 64, 1}},      {ffi::U8, {GPUKERN_UINT, 8, 1}},
    {ffi::U16, {GPUKERN_UINT, 16, 1}},     {ffi::U32, {GPUKERN_UINT, 32, 1}},
    {ffi::U64, {GPUKERN_UINT, 64, 1}},     {ffi::F16, {GPUKERN_FLOAT, 16, 1}},
    {ffi::F32, {GPUKERN_FLOAT, 32, 1}},    {ffi::F64, {GPUKERN_FLOAT, 64, 1}},
    {ffi::BF16, {GPUKERN_BFLOAT, 16, 1}},  {ffi::C64, {GPUKERN_COMPLEX, 64, 1}},
    {ffi::C128, {GPUKERN_COMPLEX, 128, 1}}};

// Other types get a dtype of zero bits, for which gpukern returns an error.
gpukern_dtype dtype_of(ffi::DataType type) {
  const auto* found = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                   [&](const Dtype& each) { return each.theirs == type; });
  return found == std::end(kDtypes) ? gpukern_dtype{} : found->ours;
}

// XLA's buffers are C-contiguous. gpukern only reads the shape, though its struct is not const.
gpukern_tensor tensor_of(const ffi::AnyBuffer& buffer, const gpukern_exec& exec) {
  const auto shape = buffer.dimensions();
  return {buffer.untyped_data(),
          exec.device,
          static_cast<int32_t>(shape.size()),
          dtype_of(buffer.element_type()),
          const_cast<int64_t*>(shape.begin()),
          nullptr,
          0};
}

ffi::Error result_of(gpukern_status status) {
  return status == GPUKERN_SUCCESS ? ffi::Error::Success()
                                   : ffi::Error::InvalidArgument(gpukern_last_error());
}

ffi::Error gather(const gpukern_exec& exec, int32_t axis, int32_t mode, ffi::AnyBuffer source,
                  ffi::AnyBuffer index, ffi::Result<ffi::AnyBuffer> out) {
  const gpukern_tensor s = tensor_of(source, exec);
  const gpukern_tensor i = tensor_of(index, exec);
  const gpukern_tensor o = tensor_of(*out, exec);
  gpukern_gather_options options = GPUKERN_GATHER_OPTIONS_INIT;
  options.mode = mode;
  return result_of(gpukern_gather(&s, &i, axis, &o, &options, &exec));
}

// `a` comes as the bytes of one element of x's type.
ffi::Error saxpy(const gpukern_exec& exec, ffi::Span<const uint8_t> a, ffi::AnyBuffer x,
                 ffi::AnyBuffer y, ffi::Result<ffi::AnyBuffer> out) {
  if (a.size() != ffi::ByteWidth(x.element_type())) {
    return ffi::Error::InvalidArgument("saxpy: a must be one element of x's type");
  }
  const gpukern_tensor tx = tensor_of(x, exec);
  const gpukern_tensor ty = tensor_of(y, exec);
  const gpukern_tensor to = tensor_of(*out, exec);
  return result_of(gpukern_saxpy(a.begin(), &tx, &ty, &to, &exec));
}

ffi::Error gather_cpu(int32_t axis, int32_t mode, ffi::AnyBuffer source, ffi::AnyBuffer index,
                      ffi::Result<ffi::AnyBuffer> out) {
  return gather(kOnCpu, axis, mode, source, index, out);
}

ffi::Error gather_gpu(void* stream, int32_t device_id, int32_t axis, int32_t mode,
                      ffi::AnyBuffer source, ffi::AnyBuffer index,
                      ffi::Result<ffi::AnyBuffer> out) {
  return gather(on_gpu(stream, device_id), axis, mode, source, index, out);
}

ffi::Error saxpy_cpu(ffi::Span<const uint8_t> a, ffi::AnyBuffer x, ffi::AnyBuffer y,
                     ffi::Result<ffi::AnyBuffer> out) {
  return saxpy(kOnCpu, a, x, y, out);
}

ffi::Error saxpy_gpu(void* stream, int32_t device_id, ffi::Span<const uint8_t> a, ffi::AnyBuffer x,
                     ffi::AnyBuffer y, ffi::Result<ffi::AnyBuffer> out) {
  return saxpy(on_gpu(stream, device_id), a, x, y, out);
}

auto bind_on_cpu() { return ffi::Ffi::Bind(); }

auto bind_on_gpu() {
  return ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().Ctx<ffi::DeviceOrdinal>();
}

template <typename Binding>
auto bind_gather(Binding binding) {
  return std::move(binding)
      .template Attr<int32_t>("axis")
      .template Attr<int32_t>("mode")
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>();
}

template <typename Binding>
auto bind_saxpy(Binding binding) {
  return std::move(binding)
      .template Attr<ffi::Span<const uint8_t>>("a")
      .template Arg<ffi::AnyBuffer>()
      .template Arg<ffi::AnyBuffer>()
      .template Ret<ffi::AnyBuffer>();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(gpukern_ffi_gather_cpu, gather_cpu, bind_gather(bind_on_cpu()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(gpukern_ffi_gather_gpu, gather_gpu, bind_gather(bind_on_gpu()),
                              {ffi::Traits::kCmdBufferCompatible});
XLA_FFI_DEFINE_HANDLER_SYMBOL(gpukern_ffi_saxpy_cpu, saxpy_cpu, bind_saxpy(bind_on_cpu()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(gpukern_ffi_saxpy_gpu, saxpy_gpu, bind_saxpy(bind_on_gpu()),
                              {ffi::Traits::kCmdBufferCompatible});
