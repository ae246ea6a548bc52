// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plait/plait.hpp"

namespace bench {

/// A driver of the network, and how a runtime is started on it.
struct Driver {
  std::string name;
  /// Collective over MPI_COMM_WORLD.
  std::function<std::unique_ptr<plait::Runtime>(const plait::Options&)> start;
};

[[nodiscard]] inline Driver driver_of(const std::string& network) {
  return {network, [network](plait::Options options) {
            options.network.network = network;
            return std::make_unique<plait::Runtime>(MPI_COMM_WORLD, options);
          }};
}

/// The drivers that can connect the ranks of this run. Collective; tries each.
[[nodiscard]] inline std::vector<Driver> drivers() {
  std::vector<Driver> able;
  for (const char* const network : {"mpi", "shm", "ofi"}) {
    try {
      Driver driver = driver_of(network);
      driver.start(plait::Options::from_environment());
      able.push_back(std::move(driver));
    } catch (const plait::Error&) {  // on all ranks: not built, or cannot connect them
    }
  }
  return able;
}

/// The driver that a runtime selects by default, with its name. Collective.
[[nodiscard]] inline Driver default_driver() {
  const plait::Options options = plait::Options::from_environment();
  Driver driver = driver_of(options.network.network);
  driver.name = driver.start(options)->messages().driver_name();
  return driver;
}

/// A way in which messages make progress while the program computes.
struct Progression {
  std::string name;
  plait::Options options;
};

/// All modes of progression, the default first.
[[nodiscard]] inline std::vector<Progression> progressions() {
  using Mode = plait::comm::ProgressionMode;
  std::vector<Progression> all;
  for (const Mode mode : {Mode::timer, Mode::none, Mode::idle_cores, Mode::dedicated}) {
    all.push_back({plait::comm::to_string(mode), plait::Options::from_environment()});
    all.back().options.progression.mode = mode;
  }
  return all;
}

}  // namespace bench
