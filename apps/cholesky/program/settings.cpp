// SPDX-License-Identifier: Apache-2.0
#include "cholesky/program/settings.hpp"

#include <fmt/format.h>

namespace cholesky {

namespace {

using plait::NetworkChoice;

NetworkChoice driver_named(const std::string& name) {
  for (const NetworkChoice choice :
       {NetworkChoice::automatic, NetworkChoice::mpi, NetworkChoice::shm, NetworkChoice::ofi}) {
    if (name == plait::to_string(choice)) {
      return choice;
    }
  }
  throw plait::Error{plait::ErrorCode::bad_argument, fmt::format("--driver {} is not known", name)};
}

}  // namespace

plait::Options runtime_options(const Settings& settings) {
  plait::Options options = plait::Options::from_environment();
  options.command = settings.command;
  options.worker_count = settings.workers.value_or(options.worker_count);
  if (!settings.driver.empty()) {
    options.network.choice = driver_named(settings.driver);
  }
  if (!settings.packing.empty()) {
    options.messages.packing = settings.packing;
  }
  return options;
}

}  // namespace cholesky
