// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// THE table of element types that saxpy computes with, and the integer types of an index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <type_traits>

#include "src/core/error.hpp"

namespace gpukern {

/// Storage of the types that C++ has no name for; the backends implement their arithmetic.
struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
template <class Real>
struct Complex {
  Real re;
  Real im;
};

template <class T>
struct TypeTag {
  using type = T;
};

// The dtypes of saxpy: one line each. (name, C++ type, DLPack code, bits)
#define GPUKERN_SAXPY_DTYPES(X)                          \
  X("float32", float, GPUKERN_FLOAT, 32)                 \
  X("float64", double, GPUKERN_FLOAT, 64)                \
  X("float16", Half, GPUKERN_FLOAT, 16)                  \
  X("bfloat16", BFloat16, GPUKERN_BFLOAT, 16)            \
  X("complex64", Complex<float>, GPUKERN_COMPLEX, 64)    \
  X("complex128", Complex<double>, GPUKERN_COMPLEX, 128) \
  X("int32", std::int32_t, GPUKERN_INT, 32)              \
  X("int64", std::int64_t, GPUKERN_INT, 64)

inline bool same_dtype(gpukern_dtype a, gpukern_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

constexpr bool is_dtype(gpukern_dtype dtype, int code, int bits) {
  return dtype.code == code && dtype.bits == bits && dtype.lanes == 1;
}

/// A dtype as a part of a message.
struct DtypeName {
  gpukern_dtype dtype;
};

/// NumPy's name where there is one, e.g. "float32", "uint8x12".
inline DtypeName dtype_name(gpukern_dtype dtype) { return {dtype}; }

inline std::ostream& operator<<(std::ostream& text, const DtypeName& name) {
  static constexpr const char* kinds[] = {"int",    "uint",    "float", "opaque",
                                          "bfloat", "complex", "bool"};
  const auto [code, bits, lanes] = name.dtype;
  if (code < std::extent_v<decltype(kinds)>)
    text << kinds[code];
  else
    text << "type" << int{code} << "_";
  if (code != GPUKERN_BOOL) text << int{bits};
  if (lanes != 1) text << "x" << lanes;
  return text;
}

/// Calls visit(TypeTag<T>{}) with the saxpy type of a dtype; returns false if it has none.
template <class Visit>
bool visit_saxpy_dtype(gpukern_dtype dtype, Visit&& visit) {
#define GPUKERN_CASE(name, type, code, bits) \
  if (is_dtype(dtype, code, bits)) {         \
    visit(TypeTag<type>{});                  \
    return true;                             \
  }
  GPUKERN_SAXPY_DTYPES(GPUKERN_CASE)
#undef GPUKERN_CASE
  return false;
}

inline bool is_saxpy_dtype(gpukern_dtype dtype) {
  return visit_saxpy_dtype(dtype, [](auto) {});
}

/// The names of the table, for messages.
struct SaxpyDtypeNames {};

inline std::ostream& operator<<(std::ostream& text, const SaxpyDtypeNames&) {
  const char* separator = "";
#define GPUKERN_NAME(name, type, code, bits) \
  text << separator << (name);               \
  separator = ", ";
  GPUKERN_SAXPY_DTYPES(GPUKERN_NAME)
#undef GPUKERN_NAME
  return text;
}

inline bool is_index_dtype(gpukern_dtype dtype) {
  return (dtype.code == GPUKERN_INT || dtype.code == GPUKERN_UINT) && dtype.lanes == 1 &&
         (dtype.bits == 8 || dtype.bits == 16 || dtype.bits == 32 || dtype.bits == 64);
}

}  // namespace gpukern
