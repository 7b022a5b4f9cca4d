// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// A call of the library that can be repeated, and its operands.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "gpukern/gpukern.h"
#include "gpukern/stream.h"

namespace gpukern_torture {

using Bytes = std::vector<std::byte>;
using Shape = std::vector<std::int64_t>;

inline constexpr gpukern_device kCpu{GPUKERN_CPU, 0};
inline constexpr gpukern_device kGpu{GPUKERN_CUDA, 0};
inline constexpr gpukern_device kPinned{GPUKERN_CUDA_HOST, 0};

inline constexpr gpukern_dtype kFloat{GPUKERN_FLOAT, 32, 1};
inline constexpr gpukern_dtype kInt64{GPUKERN_INT, 64, 1};
inline constexpr gpukern_dtype kBool{GPUKERN_BOOL, 8, 1};

/// The files of a process, which its parent removes.
inline std::string directory_of(pid_t process) {
  return "/tmp/gpukern-torture-" + std::to_string(process);
}

/// Where operands are, and where they are computed.
enum class Placement { Cpu, HostOnGpu, Gpu };

class Case {
 public:
  explicit Case(Placement placement);
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
  ~Case();

  // Operands, at the place of the case unless another device is given.
  gpukern_tensor* floats(const Shape& shape) { return floats(shape, device()); }
  gpukern_tensor* floats(const Shape& shape, gpukern_device device);
  /// Numbers in [low, high).
  gpukern_tensor* integers(const Shape& shape, std::int64_t low, std::int64_t high);
  gpukern_tensor* numbers(const std::vector<std::int64_t>& values);
  gpukern_tensor* mask(std::int64_t count);
  /// Memory that the call writes to.
  gpukern_tensor* result(gpukern_dtype dtype, const Shape& shape) {
    return result(dtype, shape, device());
  }
  gpukern_tensor* result(gpukern_dtype dtype, const Shape& shape, gpukern_device device);
  /// Other fields for the memory of an operand.
  gpukern_tensor* view(const gpukern_tensor* operand, const Shape& shape, const Shape& strides,
                       std::int64_t first = 0);

  [[nodiscard]] Placement placement() const { return placement_; }
  [[nodiscard]] gpukern_device device() const { return placement_ == Placement::Gpu ? kGpu : kCpu; }

  /// Gives all operands their first contents.
  void reset();
  /// The contents of all operands, and of the memory around them.
  [[nodiscard]] Bytes contents();
  /// Of contents(), the bytes that no call may change, unless it succeeds.
  [[nodiscard]] const std::vector<bool>& constant() const { return constant_; }

  /// What is tested. It releases whatever it acquires, also if it fails.
  std::function<gpukern_status()> call;
  gpukern_exec exec = GPUKERN_EXEC_INIT;

 private:
  struct Operand {
    Bytes initial;
    gpukern_device device;
    void* data;
    Shape shape;
    Shape strides;
    gpukern_tensor tensor;
  };
  gpukern_tensor* add(gpukern_dtype dtype, const Shape& shape, gpukern_device device,
                      const Bytes& contents, bool written);
  void copy(void* from, gpukern_device from_device, void* to, gpukern_device to_device,
            std::size_t bytes) const;

  Placement placement_;
  std::deque<Operand> operands_;
  std::deque<Operand> views_;
  std::vector<bool> constant_;
};

/// A kind of call. `make` sets up the call of a case.
struct Scenario {
  std::string name;
  Placement placement;
  void (*make)(Case& given);
};

// The parts of the list.
using Make = void (*)(Case&);
struct Named {
  const char* name;
  Make make;
};
std::vector<Named> operation_scenarios();  ///< at each placement
std::vector<Named> gpu_scenarios();        ///< with arrays on a GPU
std::vector<Named> cache_scenarios();      ///< of programs

/// The status of the first call that fails; later ones are not made.
template <class... Calls>
gpukern_status in_order(const Calls&... calls) {
  gpukern_status status = GPUKERN_SUCCESS;
  static_cast<void>((((status = calls()) == GPUKERN_SUCCESS) && ...));
  return status;
}

}  // namespace gpukern_torture
