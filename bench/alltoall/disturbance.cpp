// SPDX-License-Identifier: Apache-2.0
#include "alltoall/disturbance.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <unistd.h>

#include "plait/base/topology.hpp"

#include "support/stopwatch.hpp"

namespace alltoall {

namespace {

constexpr double counted_seconds_min = 0.3;  // the system counts processor time in ticks of 10 ms

/// Equal for all processes of one machine, also those in namespaces of their own; different on each machine.
int machine_number() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string id;
  file >> id;
  return static_cast<int>(std::hash<std::string>{}(id) & 0x3FFFFFFFU);
}

}  // namespace

Watch::Watch(MPI_Comm world) : world_{world} {
  MPI_Barrier(world);
  start_ = read();
}

Watch::Reading Watch::read() {
  Reading reading;
  std::ifstream file{"/proc/stat"};
  std::string word;
  std::array<double, 8> ticks{};  // user, nice, system, idle, waiting for disks, interrupts, soft interrupts, stolen
  file >> word;
  for (double& one : ticks) {
    file >> one;
  }
  constexpr std::size_t idle = 3;
  constexpr std::size_t waiting = 4;
  const double busy = std::accumulate(ticks.begin(), ticks.end(), 0.0) - ticks[idle] - ticks[waiting];
  reading.busy = busy / static_cast<double>(sysconf(_SC_CLK_TCK));
  reading.own = bench::processor_seconds();
  std::ifstream schedule{"/proc/thread-self/schedstat"};
  double ran_ns = 0;
  double waited_ns = 0;
  schedule >> ran_ns >> waited_ns;
  // This thread may have waited for the other threads of this process, which are no disturbance.
  reading.waited = 1e-9 * (waited_ns + ran_ns) - reading.own;
  reading.at = std::chrono::steady_clock::now();
  return reading;
}

Disturbance Watch::disturbance() const {
  const Reading now = read();
  MPI_Comm machine = MPI_COMM_NULL;
  MPI_Comm_split(world_, machine_number(), 0, &machine);
  double own = now.own - start_.own;
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, MPI_DOUBLE, MPI_SUM, machine);
  MPI_Comm_free(&machine);
  const double passed = std::chrono::duration<double>(now.at - start_.at).count();
  const double foreign = (now.busy - start_.busy - own) / (passed * plait::machine_core_count());
  std::array<double, 3> worst{std::max(0.0, (now.waited - start_.waited) / passed), std::max(0.0, foreign), passed};
  MPI_Allreduce(MPI_IN_PLACE, worst.data(), static_cast<int>(worst.size()), MPI_DOUBLE, MPI_MAX, world_);
  Disturbance found{.waited = worst[0]};
  if (worst[2] > counted_seconds_min) {
    found.foreign_cpu = worst[1];
  }
  return found;
}

}  // namespace alltoall
