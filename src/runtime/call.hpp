// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the fronts of all operations share: where a call runs, and operands brought there.
#pragma once

#include <initializer_list>
#include <memory>

#include "src/core/tensor.hpp"
#include "src/runtime/buffer.hpp"
#include "src/runtime/device.hpp"
#include "src/runtime/dry_run.hpp"

namespace gpukern {

/// A tensor argument and its name for messages.
struct Argument {
  Argument(const char* function, const char* argument, const gpukern_tensor* raw)
      : name{function, argument}, tensor(checked_tensor(raw, name)) {}
  ArgumentName name;
  Tensor tensor;
};

/// A device that computes, and the rule that chose it.
struct DeviceChoice {
  DeviceId device;
  gpukern_device_rule rule;
};

/// Where one call runs; or, with exec->explanation, would run: the devices then only record what
/// they are asked to do.
struct Call {
  /// Requires that all arguments lie on one device and picks the device that computes.
  Call(const char* function, std::initializer_list<const Argument*> arguments,
       const gpukern_exec* exec);
  /// For an operation that has chosen the device itself; its arguments are on `data_device_id`.
  Call(const DeviceChoice& choice, DeviceId data_device_id, const gpukern_exec* exec);

  /// Whether host arrays are computed on a GPU.
  [[nodiscard]] bool is_offloaded() const { return &device != &data_device; }
  /// Copies an operand, see transfer().
  void move(const Tensor& source, const Tensor& destination) const;

  DeviceId device_id;
  Stream stream;
  gpukern_explanation* explanation;  ///< filled in instead of running; nullptr in a call that runs
  std::unique_ptr<DryRun> dry_run;
  Device& device;       ///< that computes
  Device& data_device;  ///< of the arguments' memory
};

/// $GPUKERN_DEVICE.
enum class DefaultDevice { kNone, kCpu, kCuda };

/// Throws for any other value.
DefaultDevice default_device();

/// Checks exec, which all else reads unchecked, and returns its stream; the default stream for
/// NULL.
Stream checked_stream(const gpukern_exec* exec);

/// Copies between any two devices (host and one GPU) and layouts; same shape and element size.
/// Waits if host memory takes part, also on the CPU's side of a transfer.
void transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// As transfer(), but does not wait for a GPU. A host tensor beside one on a GPU is contiguous.
void enqueue_transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// An output as a call writes it: itself, or scratch memory if it has to be kept `apart` from the
/// inputs. finish() copies the result to the output. Refers to the tensor that it is made of.
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
