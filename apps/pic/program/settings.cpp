// SPDX-License-Identifier: Apache-2.0
#include "pic/program/settings.hpp"

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/plait.hpp"

namespace pic {

namespace {

/// What a name stands for. Throws: `plait::Error` that lists the names.
template <class T, std::size_t N>
T choice(const std::array<std::pair<std::string_view, T>, N>& names, std::string_view name, const char* option) {
  std::string known;
  for (const auto& [one, value] : names) {
    if (one == name) {
      return value;
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one);
  }
  throw plait::Error{plait::ErrorCode::bad_argument, fmt::format("{} {}: choose one of {}", option, name, known)};
}

constexpr std::array<std::pair<std::string_view, Solve>, 2> solvers{
    {{"electromagnetic", Solve::electromagnetic}, {"electrostatic", Solve::electrostatic}}};

constexpr std::array<std::pair<std::string_view, PoissonMethod>, 2> poisson_methods{
    {{"cg", PoissonMethod::conjugate_gradients}, {"fourier", PoissonMethod::fourier}}};

constexpr std::array<std::pair<std::string_view, KernelProblem::Distribution>, 4> distributions{{
    {"geometric", KernelProblem::Distribution::geometric},
    {"sinusoidal", KernelProblem::Distribution::sinusoidal},
    {"linear", KernelProblem::Distribution::linear},
    {"patch", KernelProblem::Distribution::patch},
}};

}  // namespace

ProblemOptions RunSettings::problem_options() const {
  ProblemOptions options = problem;
  if (!solver.empty()) {
    options.solve = choice(solvers, solver, "--solver");
  }
  options.kernel.distribution = choice(distributions, distribution, "--distribution");
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
  return {choice(poisson_methods, poisson, "--poisson"), tolerance};
}

BalanceOptions RunSettings::balance_options() const {
  if (!balancer.empty()) {
    (void)plait::data::balance::make_balancer(balancer);
  }
  BalanceOptions options{.patches_per_rank = patches_per_rank, .balancer = balancer, .statistics = balance_loads};
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
