// SPDX-License-Identifier: Apache-2.0
#include "plait/testing/local_rank.hpp"

namespace plait::test {
namespace {

std::vector<std::exception_ptr> run(const World& world,
                                    const task::SchedulerOptions& options,
                                    const std::function<void(LocalRank&)>& body) {
  return run_threads(world, [&](std::unique_ptr<net::Driver> driver, const Perform& perform) {
    LocalRank rank{std::move(driver), options};
    perform(rank.messages(), [&] { body(rank); });
  });
}

}  // namespace

std::vector<std::string> errors_on_ranks(const World& world,
                                         const task::SchedulerOptions& options,
                                         const std::function<void(LocalRank&)>& body) {
  return texts_of(run(world, options, body));
}

void run_on_ranks(const World& world,
                  const task::SchedulerOptions& options,
                  const std::function<void(LocalRank&)>& body) {
  throw_first(run(world, options, body));
}

}  // namespace plait::test
