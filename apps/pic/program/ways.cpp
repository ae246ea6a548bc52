// SPDX-License-Identifier: Apache-2.0
// The ways of running a problem: one line each.
#include "pic/program/ways.hpp"

#include <array>

#include "pic/parallel/collection_way.hpp"
#include "pic/parallel/plain_way.hpp"
#include "support/choice.hpp"

namespace pic {

namespace {

template <int D>
std::unique_ptr<GridWay<D>> make_static(Problem<D> problem, const RunSettings& settings, const WayContext& context) {
  return std::make_unique<PlainWay<D>>(
      std::move(problem), settings.balance_options(), context.ranks, settings.poisson_options());
}

template <int D>
std::unique_ptr<GridWay<D>> make_synchronous(Problem<D> problem,
                                             const RunSettings& settings,
                                             const WayContext& context) {
  BalanceOptions options = settings.balance_options();
  if (options.balancer.empty()) {
    options.balancer = "bisection";
  }
  return std::make_unique<PlainWay<D>>(std::move(problem), options, context.ranks, settings.poisson_options());
}

template <int D>
std::unique_ptr<GridWay<D>> make_collection(Problem<D> problem,
                                            const RunSettings& settings,
                                            const WayContext& context) {
  return std::make_unique<CollectionWay<D>>(
      std::move(problem), settings.balance_options(), *context.runtime, context.ranks, settings.poisson_options());
}

constexpr std::array<WayKind, 3> kinds{{
    {"static",
     "plain MPI: every rank keeps its part of the box, with all particles in it",
     false,
     false,
     &make_static<2>,
     &make_static<3>},
    {"synchronous",
     "plain MPI: all stop every so many steps to divide the patches anew, by bisection or --balancer",
     false,
     true,
     &make_synchronous<2>,
     &make_synchronous<3>},
    {"collection",
     "patches are elements of a collection, and move between ranks with --balancer",
     true,
     true,
     &make_collection<2>,
     &make_collection<3>},
}};

}  // namespace

std::span<const WayKind> way_kinds() noexcept {
  return kinds;
}

const WayKind& find_way(std::string_view name) {
  return app::find_named("--way", name, kinds);
}

}  // namespace pic
