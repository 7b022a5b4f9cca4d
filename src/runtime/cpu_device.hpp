// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The CPU as a device: its work is complete when a call returns.
#pragma once

#include "src/runtime/device.hpp"

namespace gpukern {

Device& cpu_device();

}  // namespace gpukern
