// SPDX-FileCopyrightText: 2026 The gpukern authors
// SPDX-License-Identifier: Apache-2.0

// The files are described in the manual pages proc_pid_mountinfo(5) and cgroups(7), and in the
// kernel's cgroup-v2.rst and sched-bwc.rst.

#include "src/threading/cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace gpukern::cpu {
namespace {

/// The mount point of a hierarchy, and the group that is mounted there.
struct Mount {
  bool v2;
  std::string group;
  std::string point;
};

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// The hierarchies that may limit the CPU.
std::vector<Mount> mounts(const std::string& root) {
  std::vector<Mount> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // number parent device group point options [tags...] - type source super-options
    std::istringstream words(line);
    std::string skipped;
    std::string type;
    std::string options;
    Mount mount;
    words >> skipped >> skipped >> skipped >> mount.group >> mount.point;
    while (words >> skipped && skipped != "-") {
    }
    words >> type >> skipped >> options;
    mount.v2 = type == "cgroup2";
    if (mount.v2 || (type == "cgroup" && has_word(options, "cpu"))) found.push_back(mount);
  }
  return found;
}

/// The process's group in a hierarchy, "/" for the root group.
std::string process_group(const std::string& root, bool v2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? line.starts_with("0::") : has_word(controllers, "cpu")) return line.substr(second + 1);
  }
  return "/";
}

/// The quota of one group, regardless of its ancestors.
std::optional<double> quota_of(const std::string& folder, bool v2) {
  double quota = 0;
  double period = 0;
  if (v2) {
    std::ifstream(folder + "/cpu.max") >> quota >> period;  // "max" is no number: no quota
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

}  // namespace

std::optional<double> cgroup_cores(const std::string& root) {
  std::optional<double> cores;
  for (const Mount& mount : mounts(root)) {
    const std::string top = root + mount.point;
    std::string path = process_group(root, mount.v2);
    // In a container the mount may start at the container's group.
    if (mount.group != "/" && path.starts_with(mount.group)) path.erase(0, mount.group.size());
    for (;;) {
      while (path.ends_with('/')) path.pop_back();
      const auto quota = quota_of(top + path, mount.v2);
      if (quota) cores = std::min(*quota, cores.value_or(*quota));
      if (path.empty()) break;
      path.erase(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return cores;
}

}  // namespace gpukern::cpu
