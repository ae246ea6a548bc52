// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "plait/runtime/runtime.hpp"
#include "plait/testing/world.hpp"

namespace plait::test {

/// Runs `program` as every rank of a parallel program, each with a thread and a runtime. Throws the exception of the
/// lowest rank that failed. Needs `plait::runtime`.
inline void run_program(const World& world, const Options& options, const std::function<void(Runtime&)>& program) {
  throw_first(run_threads(world, [&](std::unique_ptr<net::Driver> driver, const Perform& perform) {
    Runtime runtime{std::move(driver), options};
    perform(runtime.messages(), [&] { program(runtime); });
  }));
}
inline void run_program(const World& world, const std::function<void(Runtime&)>& program) {
  run_program(world, {}, program);
}

}  // namespace plait::test
