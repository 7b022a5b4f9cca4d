// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the fronts of all operations share: where a call runs, and operands brought there.
#pragma once

#include <initializer_list>
#include <memory>

#include "src/core/tensor.hpp"
#include "src/runtime/backend.hpp"
#include "src/runtime/buffer.hpp"
#include "src/runtime/dry_run.hpp"

namespace gpukern {

/// A tensor argument and its name for messages.
struct Argument {
  Argument(const char* function, const char* argument, const gpukern_tensor* raw)
      : name{function, argument}, tensor(checked_tensor(raw, name)) {}
  ArgumentName name;
  Tensor tensor;
};

/// A device that computes, and why it does.
struct Place {
  Device device;
  gpukern_device_rule rule;
};

/// Where one call runs; or, with exec->explanation, would run: the backends then note what they are
/// asked.
struct Call {
  /// Requires that all arguments lie on one device and picks the device that computes.
  Call(const char* function, std::initializer_list<const Argument*> arguments,
       const gpukern_exec* exec);
  /// One whose front has picked the device itself, and whose arguments lie on another.
  Call(const Place& place, Device home_device, const gpukern_exec* exec);

  /// Whether host arrays are computed on a GPU.
  [[nodiscard]] bool travels() const { return &backend != &home; }
  /// Moves an operand, see transfer().
  void move(const Tensor& source, const Tensor& destination) const;

  Device device;
  Stream stream;
  gpukern_explanation* plan;  ///< filled instead of running; nullptr in a call that runs
  std::unique_ptr<Planners> planners;
  Backend& backend;
  Backend& home;  ///< of the memory where the arguments lie
};

/// What $GPUKERN_DEVICE asks for; read at every call, so that a process may change its mind.
enum class Wish { kNone, kCpu, kCuda };

/// Throws for any other word in it.
Wish wished_device();

/// Checks exec, which all else reads unchecked, and returns its stream; the default stream for
/// NULL.
Stream checked_stream(const gpukern_exec* exec);

/// Copies between any two devices (host and one GPU) and layouts; same shape and element size.
/// Waits if host memory takes part, also on the CPU's side of a transfer.
void transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// As transfer(), but does not wait for a GPU. A host tensor beside one on a GPU is contiguous.
void enqueue_transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// An output as a call writes it: itself, or fresh memory beside it if it has to be kept `apart`
/// from the inputs. finish() brings the result home. Refers to the tensor that it is made of.
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
  const Tensor& home_;
  const Tensor* tensor_;
  Buffer buffer_;
  Tensor apart_;
};

}  // namespace gpukern
