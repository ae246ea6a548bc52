// SPDX-License-Identifier: Apache-2.0
#include "cholesky/program/settings.hpp"

namespace cholesky {

plait::Options runtime_options(const Settings& settings) {
  plait::Options options = plait::Options::from_environment();
  options.command = settings.command;
  options.worker_count = settings.workers.value_or(options.worker_count);
  if (!settings.driver.empty()) {
    options.network.network = settings.driver;
  }
  if (!settings.packing.empty()) {
    options.messages.packing = settings.packing;
  }
  return options;
}

}  // namespace cholesky
