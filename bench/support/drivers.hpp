// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plait/net/mpi/mpi_driver.hpp"
#include "plait/plait.hpp"

namespace bench {

/// A driver that runtimes can be made on.
struct Driver {
  std::string name;
  /// Collective over MPI_COMM_WORLD.
  std::function<std::unique_ptr<plait::Runtime>(const plait::Options&)> start;
};

/// Those that join the ranks of this run.
[[nodiscard]] inline std::vector<Driver> drivers() {
  return {{"mpi", [](const plait::Options& options) {
             return std::make_unique<plait::Runtime>(std::make_unique<plait::net::MpiDriver>(MPI_COMM_WORLD), options);
           }}};
}

/// The one that a runtime takes when nothing else is said.
[[nodiscard]] inline Driver default_driver() {
  return drivers().front();
}

/// A way in which a runtime's messages make progress while the program computes.
struct Progression {
  std::string name;
  plait::Options options;
};

[[nodiscard]] inline std::vector<Progression> progressions() {
  return {{"none", plait::Options::from_environment()}};
}

}  // namespace bench
