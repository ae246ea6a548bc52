// SPDX-License-Identifier: Apache-2.0
#include "plait/base/topology.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <sched.h>
#include <thread>
#include <unistd.h>

namespace plait {

std::uint32_t usable_core_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    return static_cast<std::uint32_t>(std::max(1, CPU_COUNT(&set)));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(static_cast<unsigned>(core), &set)) {
        cores.push_back(core);
      }
    }
  }
  return cores.empty() ? std::vector<int>{0} : cores;
}

void bind_to_core(int core) noexcept {
  bind_to_cores({&core, 1});
}

void bind_to_cores(std::span<const int> cores) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    CPU_SET(static_cast<unsigned>(core), &set);
  }
  (void)sched_setaffinity(0, sizeof set, &set);
}

std::uint32_t machine_core_count() {
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count > 0 ? static_cast<std::uint32_t>(count) : 1;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') {
    return "unknown";
  }
  return name.data();
}

std::vector<std::uint32_t> number_nodes(std::span<const std::string> names) {
  std::map<std::string, std::uint32_t> numbers;
  std::vector<std::uint32_t> nodes;
  for (const std::string& name : names) {
    nodes.push_back(numbers.try_emplace(name, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  return nodes;
}

bool is_oversubscribed(std::uint32_t ranks_here, std::uint32_t threads) {
  const std::uint32_t usable = usable_core_count();
  const bool is_bound = usable < machine_core_count();
  return (is_bound ? threads : ranks_here * threads) > usable;
}

}  // namespace plait
