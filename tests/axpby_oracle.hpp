// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// axpby and fma element by element, by std::fma; see saxpy_oracle.hpp.
#pragma once

#include <algorithm>
#include <optional>
#include <string>

#include "saxpy_oracle.hpp"

namespace gpukern_test {

/// The value of an element of one of the types of axpby: float16, bfloat16, float32, float64.
inline double real_at(gpukern_dtype dtype, const std::byte* from) {
  const auto load = [&]<class T>(T value) {
    std::memcpy(&value, from, sizeof(T));
    return value;
  };
  if (dtype.bits == 64) return load(0.0);
  if (dtype.bits == 32) return static_cast<double>(load(0.0F));
  return static_cast<double>(dtype.code == GPUKERN_BFLOAT ? load(BFloat16{}).decode()
                                                          : load(Half{}).decode());
}

inline void store_real(gpukern_dtype dtype, double value, std::byte* to) {
  const auto store = [&](auto stored) { std::memcpy(to, &stored, sizeof stored); };
  const auto single =
      std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value);
  if (dtype.bits == 64)
    store(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
  else if (dtype.bits == 32)
    store(single);
  else if (dtype.code == GPUKERN_BFLOAT)
    store(BFloat16::encode(single));
  else
    store(Half::encode(single));
}

/// A call of axpby, or of fma without b. The inputs broadcast to out; where one of the inputs or
/// out is of float64, the others must not be narrower than float32, for store_real() rounds twice.
struct Sum {
  const View& a;
  const View& x;
  const View* b;
  const View& y;
  const View& out;

  [[nodiscard]] gpukern_status run(Placement placement) const {
    const gpukern_exec exec = exec_at(placement);
    const gpukern_tensor a_tensor = a.tensor();
    const gpukern_tensor x_tensor = x.tensor();
    const gpukern_tensor y_tensor = y.tensor();
    const gpukern_tensor out_tensor = out.tensor();
    if (b == nullptr)
      return gpukern_fma(&a_tensor, &x_tensor, &y_tensor, &out_tensor, nullptr, &exec);
    const gpukern_tensor b_tensor = b->tensor();
    return gpukern_axpby(&a_tensor, &x_tensor, &b_tensor, &y_tensor, &out_tensor, nullptr, &exec);
  }
};

/// The values of an input, one for each element of a 2-D shape.
inline std::vector<double> values_of(const View& view, const Shape& shape) {
  View full = view;
  full.shape = shape;
  full.strides = {};
  const std::size_t missing = shape.size() - view.shape.size();
  for (std::size_t d = 0; d < shape.size(); ++d)
    full.strides.push_back(d < missing || view.shape[d - missing] == 1 ? 0
                                                                       : view.strides[d - missing]);
  std::vector<double> values;
  for (const std::int64_t at : full.offsets())
    values.push_back(real_at(view.dtype, view.memory->host.data() + at));
  return values;
}

/// Runs a call on random numbers, and compares every byte of all memories.
inline void expect_sum(const Sum& sum, Placement placement, Random& random) {
  bool wide = sum.out.dtype.bits == 64;
  std::vector<const View*> inputs{&sum.a, &sum.x, &sum.y};
  if (sum.b != nullptr) inputs.push_back(sum.b);
  for (const View* input : inputs) {
    wide = wide || input->dtype.bits == 64;
    for (const std::int64_t at : input->offsets())
      store_real(input->dtype, static_cast<double>(between(random, -4096, 4096)) / 64,
                 input->memory->host.data() + at);
  }
  const Shape& shape = sum.out.shape;
  const auto a = values_of(sum.a, shape);
  const auto x = values_of(sum.x, shape);
  const auto y = values_of(sum.y, shape);
  const auto b = sum.b != nullptr ? values_of(*sum.b, shape) : std::vector<double>(a.size(), 1);
  Bytes expected = sum.out.memory->host;
  const auto to = sum.out.offsets();
  for (std::size_t k = 0; k < to.size(); ++k) {
    double result = 0;
    if (wide)
      result = std::fma(a[k], x[k], b[k] * y[k]);
    else
      result = static_cast<double>(std::fma(static_cast<float>(a[k]), static_cast<float>(x[k]),
                                            static_cast<float>(b[k]) * static_cast<float>(y[k])));
    store_real(sum.out.dtype, result, expected.data() + to[k]);
  }
  std::vector<Bytes> before;
  before.reserve(inputs.size());
  for (const View* input : inputs) {
    before.push_back(input->memory->host);
    input->memory->commit();
  }
  sum.out.memory->commit();
  ASSERT_EQ(sum.run(placement), GPUKERN_SUCCESS) << gpukern_last_error();
  sum.out.memory->fetch();
  EXPECT_TRUE(same_bytes(expected, sum.out.memory->host));
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    Memory* const memory = inputs[k]->memory;
    if (memory == sum.out.memory) continue;
    memory->fetch();
    EXPECT_TRUE(same_bytes(before[k], memory->host)) << "input " << k;
  }
}

inline constexpr gpukern_dtype kHalf{GPUKERN_FLOAT, 16, 1};
inline constexpr gpukern_dtype kBFloat{GPUKERN_BFLOAT, 16, 1};
inline constexpr gpukern_dtype kSingle{GPUKERN_FLOAT, 32, 1};
inline constexpr gpukern_dtype kDouble{GPUKERN_FLOAT, 64, 1};

}  // namespace gpukern_test
