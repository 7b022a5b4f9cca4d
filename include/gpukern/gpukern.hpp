// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

/// @file gpukern.hpp
/// @brief gpukern for C++20: ranges as arguments, exceptions as errors, RAII for memory.
///
/// A thin, header-only layer over gpukern.h; link libgpukern as for C. Semantics, streams and the
/// lifetime of memory are those of gpukern.h. A tensor argument is one of
///  - any contiguous range in host memory (std::vector, std::array, std::span, an array): 1-D;
///  - a DeviceBuffer: 1-D, on its device;
///  - a TensorRef: any shape, strides and device;
///  - a std::mdspan, or another class with its interface: in host memory.
///
/// @code
/// std::vector<float> source = ..., out(index.size());
/// gpukern::gather(source, index, out);                                // out[i] = source[index[i]]
/// gpukern::gather(source, index, out, {.mode = gpukern::Mode::clip});
/// gpukern::scatter(out, index, source, {.reduce = gpukern::Reduction::add});
/// gpukern::saxpy(2.0F, x, y, out, {.device = gpukern::cuda_device()});  // out = 2 * x + y
/// @endcode
#ifndef GPUKERN_GPUKERN_HPP
#define GPUKERN_GPUKERN_HPP

#include "gpukern/arithmetic.hpp"
#include "gpukern/gpukern.h"
#include "gpukern/operations.hpp"
#include "gpukern/runtime.hpp"
#include "gpukern/tensor.hpp"

#endif  // GPUKERN_GPUKERN_HPP
