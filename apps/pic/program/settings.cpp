// SPDX-License-Identifier: Apache-2.0
#include "pic/program/settings.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "plait/data/balance/zoltan/entries.hpp"
#include "plait/plait.hpp"

#include "support/choice.hpp"

namespace pic {

ProblemOptions RunSettings::problem_options() const {
  ProblemOptions options = problem;
  if (!solver.empty()) {
    options.solve = app::choose<Solve>(
        "--solver", solver, {{"electromagnetic", Solve::electromagnetic}, {"electrostatic", Solve::electrostatic}});
  }
  using Distribution = KernelProblem::Distribution;
  options.kernel.distribution = app::choose<Distribution>("--distribution",
                                                          distribution,
                                                          {{"geometric", Distribution::geometric},
                                                           {"sinusoidal", Distribution::sinusoidal},
                                                           {"linear", Distribution::linear},
                                                           {"patch", Distribution::patch}});
  if (!linear.empty()) {
    options.kernel.alpha = linear[0];
    options.kernel.beta = linear[1];
  }
  if (!patch.empty()) {
    options.kernel.patch = {{patch[0], patch[2]}, {patch[1] + 1, patch[3] + 1}};
  }
  if (!plate.empty()) {
    options.plate = {plate[0], plate[1]};
  }
  return options;
}

PoissonOptions RunSettings::poisson_options() const {
  if (!(tolerance > 0 && tolerance < 1)) {
    throw plait::Error{plait::ErrorCode::bad_argument, "--tolerance must be above 0 and below 1"};
  }
  return {app::choose<PoissonMethod>(
              "--poisson", poisson, {{"cg", PoissonMethod::conjugate_gradients}, {"fourier", PoissonMethod::fourier}}),
          tolerance};
}

BalanceOptions RunSettings::balance_options() const {
  BalanceOptions options{.patches_per_rank = patches_per_rank,
                         .balancer = balancer,
                         .balancers = plait::data::balance::entries_with_zoltan(),
                         .statistics = balance_loads};
  if (!balancer.empty()) {
    (void)plait::data::balance::make_balancer(balancer, options.balancers);
  }
  if (balance_every == "auto") {
    options.balance_steps = 10;
    options.horizon_steps = 50;
    options.must_pay = true;
    return options;
  }
  const char* const end = balance_every.data() + balance_every.size();
  const auto [parsed, error] = std::from_chars(balance_every.data(), end, options.balance_steps);
  if (error != std::errc{} || parsed != end || options.balance_steps == 0) {
    throw plait::Error{plait::ErrorCode::bad_argument,
                       fmt::format("--balance-every {}: a number of steps above 0, or auto; leave out --balancer to "
                                   "balance never",
                                   balance_every)};
  }
  options.horizon_steps = options.balance_steps;
  return options;
}

}  // namespace pic
