// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The share of the cores that the system's control groups leave to this process.
#pragma once

#include <optional>
#include <string>

namespace gpukern::cpu {

/// The CPU quota, in cores, of the groups that this process is in, version 1 and 2: the smallest
/// on the way up; nothing if none is set or to be found. Files are read below `root`, which is
/// empty but in tests.
std::optional<double> cgroup_cores(const std::string& root = "");

}  // namespace gpukern::cpu
