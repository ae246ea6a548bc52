// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/beside.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace plait::replay {
namespace {

/// When the number of computing cores of a host changes, and by how many.
using Changes = std::vector<std::pair<nanoseconds, int>>;

std::map<std::string, Changes> changes_by_host(const TaskRun& run) {
  std::map<std::string, Changes> changes;
  for (const RunNode& node : run.nodes) {
    if (node.took > nanoseconds{} && (node.role == NodeRole::task || node.role == NodeRole::program)) {
      Changes& of_host = changes[node.rank < run.hosts.size() ? run.hosts[node.rank] : std::string{}];
      of_host.emplace_back(node.start, 1);
      of_host.emplace_back(node.end, -1);
    }
  }
  return changes;
}

}  // namespace

double part_beside_others(const TaskRun& run) {
  double whole = 0;
  double beside = 0;
  for (auto& [host, changes] : changes_by_host(run)) {
    std::ranges::sort(changes);
    int computing = 0;
    nanoseconds since{};
    for (const auto& [at, change] : changes) {
      const double time = static_cast<double>((at - since).count()) * computing;
      whole += time;
      beside += computing > 1 ? time : 0;
      computing += change;
      since = at;
    }
  }
  return whole > 0 ? beside / whole : 0;
}

}  // namespace plait::replay
