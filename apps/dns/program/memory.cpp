// SPDX-License-Identifier: Apache-2.0
#include "dns/program/memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "plait/base/topology.hpp"

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
  std::string line;
  while (std::getline(in, line)) {
    if (line.starts_with("MemAvailable:")) {
      std::istringstream words{line.substr(std::strlen("MemAvailable:"))};
      std::uint64_t kibibytes = 0;
      if (words >> kibibytes) {
        return kibibytes << 10U;
      }
    }
  }
  return unlimited;
}

/// What the limit of a control group leaves; version 2 of them, or the memory group of version 1. The files that a
/// group has in the cache are counted as used, though they could go.
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

}  // namespace

NodeMemory compare_memory(MPI_Comm communicator, std::uint64_t needed_by_this_rank, std::uint64_t limit) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  NodeMemory here;
  MPI_Allreduce(&needed_by_this_rank, &here.needed, 1, MPI_UINT64_T, MPI_SUM, node);
  MPI_Comm_size(node, &here.ranks);
  MPI_Comm_free(&node);
  here.available = limit > 0 ? limit : std::min(of_system(), of_control_group());
  struct {
    double left;
    int rank;
  } mine{static_cast<double>(here.available) - static_cast<double>(here.needed), 0}, worst{};
  MPI_Comm_rank(communicator, &mine.rank);
  MPI_Allreduce(&mine, &worst, 1, MPI_DOUBLE_INT, MPI_MINLOC, communicator);
  std::array<char, 256> host{};
  plait::host_name().copy(host.data(), host.size() - 1);
  MPI_Bcast(&here.needed, 1, MPI_UINT64_T, worst.rank, communicator);
  MPI_Bcast(&here.available, 1, MPI_UINT64_T, worst.rank, communicator);
  MPI_Bcast(&here.ranks, 1, MPI_INT, worst.rank, communicator);
  MPI_Bcast(host.data(), static_cast<int>(host.size()), MPI_CHAR, worst.rank, communicator);
  here.host = host.data();
  return here;
}

std::string describe_bytes(std::uint64_t bytes) {
  const auto amount = static_cast<double>(bytes);
  if (bytes >= std::uint64_t{1} << 30U) {
    return fmt::format("{:.2f} GiB", amount / static_cast<double>(1U << 30U));
  }
  return fmt::format("{:.1f} MiB", amount / static_cast<double>(1U << 20U));
}

}  // namespace dns
