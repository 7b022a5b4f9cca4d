// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What all operations share: the choice of the device, and copies of operands to and from it.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "src/core/tensor.hpp"
#include "src/runtime/buffer.hpp"
#include "src/runtime/device.hpp"
#include "src/runtime/dry_run.hpp"
#include "src/runtime/index_errors.hpp"

namespace gpukern {

/// A tensor argument and its name for messages.
struct Argument {
  Argument(const char* function, const char* argument, const gpukern_tensor* raw)
      : Argument(ArgumentName{function, argument}, raw) {}
  Argument(const ArgumentName& its_name, const gpukern_tensor* raw)
      : name(its_name), tensor(checked_tensor(raw, name)) {}
  Argument(const ArgumentName& its_name, const Tensor& checked) : name(its_name), tensor(checked) {}
  ArgumentName name;
  Tensor tensor;
};

/// A device that computes, and the rule that chose it.
struct DeviceChoice {
  DeviceId device;
  gpukern_device_rule rule;
};

/// Where a call runs. With exec->explanation, where it would run: the devices then only record the
/// requested work.
struct Call {
  /// Requires that all arguments are on one device, and chooses the device that computes.
  Call(const char* function, std::span<const Argument* const> arguments, const gpukern_exec* exec);
  Call(const char* function, std::initializer_list<const Argument*> arguments,
       const gpukern_exec* exec)
      : Call(function, std::span(arguments.begin(), arguments.size()), exec) {}
  /// For an operation that has chosen the device; its arguments are on `data_device_id`.
  Call(const DeviceChoice& choice, DeviceId data_device_id, const gpukern_exec* exec);

  /// Whether host arrays are computed on a GPU.
  [[nodiscard]] bool is_offloaded() const { return &device != &data_device; }
  /// Copies an operand, see transfer().
  void move(const Tensor& source, const Tensor& destination) const;
  /// The number of this call among those that were given index_errors.
  [[nodiscard]] std::int64_t number_of_index_errors() const;

  DeviceId device_id;
  Stream stream;
  gpukern_explanation* explanation;  ///< filled in instead of running the call; nullptr to run it
  std::unique_ptr<DryRun> dry_run;
  Device& device;       ///< that computes
  Device& data_device;  ///< of the arguments' memory
  /// Where mode "raise" records bad indices in place of a wait; nullptr to wait.
  gpukern_index_errors* index_errors;

 private:
  mutable std::optional<std::int64_t> number_;
};

/// $GPUKERN_DEVICE.
enum class DefaultDevice { kNone, kCpu, kCuda };

/// Throws for any other value.
DefaultDevice default_device();

/// Validates exec and returns its stream, the default stream for NULL. All other code reads exec
/// without checks.
Stream checked_stream(const gpukern_exec* exec);

/// Copies between any two devices (the host and one GPU) and any strides; shape and element size
/// are equal. Waits for the copy if host memory is involved, including CPU work.
void transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// As transfer(), but does not wait for a GPU. In a copy to or from a GPU, the host tensor must be
/// contiguous.
void enqueue_transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// A contiguous copy of an operand on a device, for its lifetime. Does not wait for a small element
/// from host memory.
class OperandCopy {
 public:
  OperandCopy(const Call& call, Device& device, DeviceId id, const Tensor& tensor);
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

 private:
  Buffer memory_;
  Tensor tensor_;
};

/// The output that a call writes: the tensor itself, or scratch memory if it must be `apart` from
/// the inputs. finish() copies the result to the tensor, which must outlive this object.
class Output {
 public:
  Output(const Call& call, const Tensor& tensor, bool apart);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() = default;
  [[nodiscard]] const Tensor& tensor() const { return *tensor_; }
  void finish();

 private:
  const Call& call_;
  const Tensor& out_;
  const Tensor* tensor_;
  Buffer buffer_;
  Tensor apart_;
};

}  // namespace gpukern
