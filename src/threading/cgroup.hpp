// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The CPU quota of the process's control groups.
#pragma once

#include <optional>
#include <string>

namespace gpukern::cpu {

/// The CPU quota, in cores, of the control groups of this process, of version 1 and 2: the smallest
/// of the group and its ancestors; std::nullopt if none is set or readable. Tests pass a `root`
/// below which the files are read.
std::optional<double> cgroup_cores(const std::string& root = "");

}  // namespace gpukern::cpu
