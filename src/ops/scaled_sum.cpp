// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

#include "src/ops/scaled_sum.hpp"

#include <cstddef>
#include <vector>

#include "src/core/float16.hpp"
#include "src/runtime/call.hpp"
#include "src/runtime/chunked_call.hpp"

namespace gpukern {
namespace {

constexpr int kInputs = kResult;

const gpukern_axpby_options& checked_options(const char* function,
                                             const gpukern_axpby_options* options) {
  static constexpr gpukern_axpby_options kDefaults = GPUKERN_AXPBY_OPTIONS_INIT;
  if (options == nullptr) return kDefaults;
  constexpr std::size_t kFirstSize = offsetof(gpukern_axpby_options, seed) + sizeof(std::uint64_t);
  require_struct_size(ArgumentName{function, "options"}, options->struct_size, kFirstSize);
  require(
      options->rounding == GPUKERN_ROUND_NEAREST || options->rounding == GPUKERN_ROUND_STOCHASTIC,
      GPUKERN_VALUE_ERROR, function, ": rounding must be nearest (0) or stochastic (1), got ",
      options->rounding);
  return *options;
}

RealType real_type(const Argument& argument) {
  const gpukern_dtype dtype = argument.tensor.dtype;
  if (is_dtype(dtype, GPUKERN_FLOAT, 32)) return RealType::Float32;
  if (is_dtype(dtype, GPUKERN_FLOAT, 64)) return RealType::Float64;
  if (is_dtype(dtype, GPUKERN_FLOAT, 16)) return RealType::Float16;
  require(is_dtype(dtype, GPUKERN_BFLOAT, 16), GPUKERN_TYPE_ERROR, argument.name,
          " must have one of the dtypes float16, bfloat16, float32, float64, got ",
          dtype_name(dtype));
  return RealType::BFloat16;
}

double value_at(const std::byte* data, RealType type) {
  const auto load = [&]<class T>(T element) {
    std::memcpy(&element, data, sizeof(T));
    return element;
  };
  switch (type) {
    case RealType::Float16:
      return static_cast<double>(widen(load(Half{})));
    case RealType::BFloat16:
      return static_cast<double>(widen(load(BFloat16{})));
    case RealType::Float32:
      return static_cast<double>(load(0.0F));
    default:
      return load(0.0);
  }
}

AxpbyArgs part_of(const AxpbyArgs& args, const Slice<6>& slice) {
  AxpbyArgs part = args;
  for (std::size_t k = 0; k <= kResult; ++k)
    part.operand[k].data = offset_by(part.operand[k].data, slice.offset[k]);
  part.first += slice.offset[kPosition];
  part.loop = slice.loop;
  return part;
}

/// A call after the checks of its arguments.
class CheckedSum {
 public:
  CheckedSum(const ScaledSum& sum, const gpukern_axpby_options* raw_options)
      : options_(checked_options(sum.function, raw_options)), out_(sum.function, "out", sum.out) {
    args_.operand[kResult].type = real_type(out_);
    inputs_.reserve(kInputs);  // which are large
    for (std::size_t k = 0; k < kInputs; ++k) add_input(k, sum);
    require_writable(out_.tensor, out_.name);
    if (options_.rounding == GPUKERN_ROUND_STOCHASTIC) {
      require(args_.operand[kResult].type == RealType::BFloat16, GPUKERN_TYPE_ERROR, out_.name,
              " must have dtype bfloat16 for stochastic rounding, got ",
              dtype_name(out_.tensor.dtype));
      require(!args_.is_wide(), GPUKERN_TYPE_ERROR, sum.function,
              ": stochastic rounding takes no float64 operand");
      args_.stochastic = true;
      args_.seed = options_.seed;
    }
  }

  /// The arguments whose device decides where the call runs.
  [[nodiscard]] std::vector<const Argument*> arrays() const {
    std::vector<const Argument*> found;
    found.reserve(inputs_.size() + 1);
    for (const Input& input : inputs_) found.push_back(&input.argument);
    found.push_back(&out_);
    return found;
  }

  void run(const Call& call, const char* function, const gpukern_exec* exec) {
    if (out_.tensor.count() == 0) return;
    if (call.explanation == nullptr) read_values();
    bool apart = false;
    for (const Input& input : inputs_) apart = apart || clashes(out_.tensor, input.argument.tensor);
    Output out_here(call, out_.tensor, apart);
    set_loop(out_here.tensor());
    Progress progress(function, exec);
    const std::int64_t item = out_.tensor.item;
    progress.expect(args_.loop.count() * item);
    const cpu::StopScope stop(progress.stop_source(call.device_id));
    if (call.is_offloaded())
      run_in_chunks(call, out_here.tensor(), device_memory_limit(exec), progress);
    else if (progress.wanted() && !call.device_id.cuda)
      run_in_parts(args_.loop, item, progress,
                   [&](const Slice<6>& slice) { call.device.run(part_of(args_, slice), nullptr); });
    else
      call.device.run(args_, call.stream);
    out_here.finish();
  }

 private:
  struct Input {
    std::size_t number;
    Argument argument;  ///< broadcast
  };

  void add_input(std::size_t k, const ScaledSum& sum) {
    AxpbyArgs::Operand& operand = args_.operand[k];
    if (sum.names[k] == nullptr) {
      operand.value = 1;
      return;
    }
    Argument input(sum.function, sum.names[k], sum.tensors[k]);
    operand.type = real_type(input);
    if (input.tensor.count() == 1 && !input.tensor.device.cuda) {
      values_.push_back({k, input});
      // For the check of the shape.
      static_cast<void>(broadcast_to(input.tensor, out_.tensor, input.name));
      return;
    }
    input.tensor = broadcast_to(input.tensor, out_.tensor, input.name);
    operand.in_memory = true;
    inputs_.push_back({k, input});
  }

  void read_values() {
    for (const Input& value : values_) {
      AxpbyArgs::Operand& operand = args_.operand[value.number];
      operand.value = value_at(value.argument.tensor.data, operand.type);
    }
  }

  void set_loop(const Tensor& out) {
    std::array<std::int64_t, GPUKERN_MAX_NDIM> position{};
    std::int64_t inner = 1;
    for (int d = out.ndim - 1; d >= 0; --d) {
      position[static_cast<std::size_t>(d)] = inner;
      inner *= out.shape[static_cast<std::size_t>(d)];
    }
    for (int d = 0; d < out.ndim; ++d) {
      const auto at = static_cast<std::size_t>(d);
      std::array<std::int64_t, 6> strides{};
      for (const Input& input : inputs_) strides[input.number] = input.argument.tensor.stride[at];
      strides[kResult] = out.stride[at];
      if (args_.stochastic) strides[kPosition] = position[at];  // else dimensions could not merge
      args_.loop.push(out.shape[at], strides);
    }
    args_.loop.sort_by(kResult);
    args_.loop.coalesce();
    for (const Input& input : inputs_)
      args_.operand[input.number].data = input.argument.tensor.data;
    args_.operand[kResult].data = out.data;
    args_.operand[kResult].in_memory = true;
  }

  /// Computes host arrays on the device.
  void run_in_chunks(const Call& call, const Tensor& out, std::int64_t limit, Progress& progress) {
    std::vector<ChunkOperand> operands;
    operands.reserve(inputs_.size() + 1);
    for (const Input& input : inputs_)
      operands.push_back({.number = static_cast<int>(input.number),
                          .tensor = &input.argument.tensor,
                          .once = true});
    operands.push_back({.number = kResult, .tensor = &out});
    const ChunkedCall<6> chunked(call, "axpby: chunk", args_.loop, operands, limit);
    chunked.run(progress, [&](const DeviceChunk<6>& chunk) {
      AxpbyArgs part = part_of(args_, chunk.slice);
      for (const ChunkOperand& operand : operands) {
        const auto k = static_cast<std::size_t>(operand.number);
        part.operand[k].data = chunk.data[k];
      }
      part.loop = chunk.loop;
      call.device.run(part, chunk.stream);
    });
  }

  gpukern_axpby_options options_;
  Argument out_;
  std::vector<Input> inputs_;  ///< but those that are values
  std::vector<Input> values_;
  AxpbyArgs args_;
};

}  // namespace

void run_scaled_sum(const ScaledSum& sum, const gpukern_axpby_options* options,
                    const gpukern_exec* exec) {
  CheckedSum checked(sum, options);
  const Call call(sum.function, checked.arrays(), exec);
  checked.run(call, sum.function, exec);
}

}  // namespace gpukern
