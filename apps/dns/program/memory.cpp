// SPDX-License-Identifier: Apache-2.0
#include "dns/program/memory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <fmt/format.h>

#include "plait/base/topology.hpp"

#include "support/agree.hpp"

namespace dns {
namespace {

constexpr std::uint64_t unlimited = std::uint64_t{1} << 63U;

std::uint64_t number_in(const std::filesystem::path& file) {
  std::ifstream in{file};
  std::uint64_t number = unlimited;
  return in >> number ? number : unlimited;  // "max" is no number
}

std::uint64_t of_system() {
  std::ifstream in{"/proc/meminfo"};
  std::uint64_t kibibytes = 0;
  for (std::string word; in >> word;) {
    if (word == "MemAvailable:" && in >> kibibytes) {
      return kibibytes << 10U;
    }
  }
  return unlimited;
}

/// The memory left by the limit of the control group: of version 2, or of the memory group of version 1. Cached files
/// count as used, though the system could drop them.
std::uint64_t of_control_group() {
  struct Names {
    const char* limit;
    const char* used;
  };
  constexpr std::array<Names, 2> names{
      {{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
       {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}}};
  std::uint64_t least = unlimited;
  for (const Names& name : names) {
    const std::uint64_t limit = number_in(name.limit);
    if (limit < unlimited >> 1U) {
      const std::uint64_t used = number_in(name.used);
      least = std::min(least, used < limit ? limit - used : 0);
    }
  }
  return least;
}

std::string describe_bytes(std::uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  return bytes >= std::uint64_t{1} << 30U ? fmt::format("{:.2f} GiB", amount / 0x1p30)
                                          : fmt::format("{:.1f} MiB", amount / 0x1p20);
}

/// The memory of one rank.
struct Share {
  std::array<char, 256> host{};
  std::uint64_t needed = 0;
  std::uint64_t available = 0;  ///< On its node.
};

/// The memory of all ranks of a node.
struct Node {
  std::uint64_t needed = 0;
  std::uint64_t available = 0;
  int ranks = 0;

  [[nodiscard]] double left() const { return static_cast<double>(available) - static_cast<double>(needed); }
};

}  // namespace

void check_memory(plait::Runtime& runtime, std::uint64_t needed, double limit_gib) {
  const auto limit = static_cast<std::uint64_t>(limit_gib * 0x1p30);
  Share mine{.needed = needed, .available = limit > 0 ? limit : std::min(of_system(), of_control_group())};
  plait::host_name().copy(mine.host.data(), mine.host.size() - 1);
  std::map<std::string, Node> nodes;
  for (const Share& share : plait::all_gather_values(runtime.messages(), mine)) {
    Node& node = nodes[share.host.data()];
    node.needed += share.needed;
    node.available = share.available;
    ++node.ranks;
  }
  const auto& [host, worst] = *std::ranges::min_element(nodes, {}, [](const auto& node) { return node.second.left(); });
  const std::string sentence = fmt::format("{} of memory needed by {} rank{} on {}, of {} {}",
                                           describe_bytes(worst.needed),
                                           worst.ranks,
                                           worst.ranks == 1 ? "" : "s",
                                           host,
                                           describe_bytes(worst.available),
                                           limit > 0 ? "allowed" : "available");
  if (worst.needed > worst.available) {
    throw app::AgreedError{plait::Error{plait::ErrorCode::out_of_memory,
                                        fmt::format("too little memory: {}; take fewer --points, more nodes{}",
                                                    sentence,
                                                    limit > 0 ? ", or a higher --memory-limit" : "")}};
  }
  if (runtime.self() == plait::Rank{0}) {
    fmt::print("{}\n", sentence);
  }
}

}  // namespace dns
