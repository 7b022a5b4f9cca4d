// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the fronts of all operations share: where a call runs, and operands brought there.
#pragma once

#include <initializer_list>
#include <optional>

#include "backend.hpp"
#include "buffer.hpp"
#include "plan.hpp"
#include "tensor.hpp"

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
  gpukern_plan_rule rule;
};

/// Where one call runs; or, with exec->plan, would run: the backend then notes what it is asked.
struct Call {
  /// Requires that all arguments lie on one device and picks the device that computes.
  Call(const char* function, std::initializer_list<const Argument*> arguments,
       const gpukern_exec* exec);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() = default;

  /// Moves an operand between host and device, or within one; see transfer().
  void move(const Tensor& source, const Tensor& destination) const;

  Device device;
  Stream stream;
  gpukern_plan* plan;  ///< filled instead of running; nullptr in a call that runs
  std::optional<PlanningBackend> planner;
  Backend& backend;  ///< the device's, or the planner in its place

 private:
  Call(const Place& place, const gpukern_exec* exec);
  Backend& planning(Backend& real, gpukern_plan_rule rule);
};

/// Checks exec and returns its stream; the default stream for NULL.
Stream checked_stream(const gpukern_exec* exec);

/// Copies between any two devices (host and one GPU) and layouts; same shape and element size.
/// Waits if host memory takes part, also on the CPU's side of a transfer.
void transfer(const Tensor& source, const Tensor& destination, Stream stream);

// Both refer to the tensor that they are made of.

/// An input as the computing device sees it: itself, or a copy if it lies elsewhere.
class Input {
 public:
  Input(const Call& call, const Tensor& tensor);
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() = default;
  [[nodiscard]] const Tensor& tensor() const { return *tensor_; }

 private:
  const Tensor* tensor_;
  Buffer buffer_;
  Tensor copy_;
};

/// An output as the computing device sees it: itself, or fresh memory if it lies elsewhere or has
/// to be kept `apart` from the inputs. finish() brings the result home.
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
