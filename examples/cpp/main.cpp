// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// gather and saxpy from C++20: on the CPU, and on every GPU if there are any.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <gpukern/gpukern.hpp>
#include <iostream>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace {

using gpukern::DeviceBuffer;
using gpukern::Mode;
using gpukern::TensorRef;

template <class T>
void expect(const std::vector<T>& values, const std::vector<T>& expected, const char* what) {
  if (values != expected) throw std::runtime_error(std::string(what) + ": wrong result");
  std::cout << "  " << what << ": right\n";
}

// Ranges in host memory are passed directly; an option says where they are computed.
void host_arrays(const gpukern::ExecOptions& exec) {
  const std::vector<double> source{0, 10, 20, 30, 40};
  std::vector<double> out(3);
  gpukern::gather(source, std::vector{4, 0, -1}, out, {.exec = exec});
  expect(out, {40, 0, 40}, "gather");

  gpukern::gather(source, std::vector{4, 5, -9}, out,
                  {.mode = Mode::fill, .fill_value = -1, .exec = exec});
  expect(out, {40, -1, -1}, "gather with a fill value");

  try {
    gpukern::gather(source, std::vector{4, 5, 0}, out, {.exec = exec});
    throw std::runtime_error("gather: index 5 was not refused");
  } catch (const gpukern::IndexError& error) {
    std::cout << "  gather refused: " << error.what() << '\n';
  }

  // Columns 2 and 0 of a matrix of 2 rows and 3 columns.
  const std::vector<std::int16_t> matrix{1, 2, 3, 4, 5, 6};
  std::vector<std::int16_t> columns(4);
  gpukern::gather(TensorRef(matrix, {2, 3}), std::vector{2, 0}, TensorRef(columns, {2, 2}),
                  {.axis = 1, .exec = exec});
  expect(columns, {3, 1, 6, 4}, "gather of columns");

  gpukern::saxpy(0.5, out, out, out, exec);  // in place
  expect(out, {60, -1.5, -1.5}, "saxpy");
}

// Device arrays are computed on their device; the buffers release their memory automatically.
void device_arrays(gpukern::Device device) {
  std::vector<float> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 0.0F);

  DeviceBuffer<float> source(numbers.size(), device);
  DeviceBuffer<std::int64_t> index(2, device);
  DeviceBuffer<float> out(index.size(), device);
  source.copy_from(numbers);
  index.copy_from(std::vector<std::int64_t>{999, -1000});

  std::vector<float> values(out.size());
  gpukern::gather(source, index, out);
  gpukern::saxpy(2.0F, out, out, out);
  out.copy_to(values);
  expect(values, {2997, 0}, "gather and saxpy of device arrays");
}

void run() {
  std::cout << "gpukern " << gpukern::version() << " from C++\nCPU:\n";
  host_arrays({.device = gpukern::kCpu});
  device_arrays(gpukern::kCpu);

  const gpukern_cuda_info cuda = gpukern::cuda_info();
  if (cuda.device_count == 0) std::cout << "no GPU: " << cuda.reason << '\n';
  for (std::int32_t id = 0; id < cuda.device_count; ++id) {
    std::cout << "GPU " << id << ", " << gpukern::device_info(id).name << ":\n";
    host_arrays({.device = gpukern::cuda_device(id)});
    device_arrays(gpukern::cuda_device(id));
  }
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
