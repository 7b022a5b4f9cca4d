// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// What the fronts of all operations share: where a call runs, and operands brought there.
#pragma once

#include <initializer_list>
#include <string>

#include "backend.hpp"
#include "buffer.hpp"
#include "tensor.hpp"

namespace gpukern {

/// A tensor argument and its name for messages ("gather: source").
struct Argument {
  Argument(const char* function, const char* name, const gpukern_tensor* raw)
      : what(std::string(function) + ": " + name), tensor(checked_tensor(raw, what)) {}
  std::string what;
  Tensor tensor;
};

/// Where one call runs.
struct Call {
  /// Requires that all arguments lie on one device and picks the device that computes.
  Call(const char* function, std::initializer_list<const Argument*> arguments,
       const gpukern_exec* exec);

  Device device;
  Stream stream;
  Backend& backend;
};

/// Checks exec and returns its stream; the default stream for NULL.
Stream checked_stream(const gpukern_exec* exec);

/// Copies between any two devices (host and one GPU) and layouts; same shape and element size.
/// Waits if host memory takes part, also on the CPU's side of a transfer.
void transfer(const Tensor& source, const Tensor& destination, Stream stream);

/// An input as the computing device sees it: itself, or a copy if it lies elsewhere.
class Input {
 public:
  Input(const Call& call, const Tensor& tensor);
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }

 private:
  Buffer buffer_;
  Tensor tensor_;
};

/// An output as the computing device sees it: itself, or fresh memory if it lies elsewhere or has
/// to be kept `apart` from the inputs. finish() brings the result home.
class Output {
 public:
  Output(const Call& call, const Tensor& tensor, bool apart);
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  void finish();

 private:
  const Call& call_;
  Tensor home_;
  Buffer buffer_;
  Tensor tensor_;
};

}  // namespace gpukern
