// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/execution.hpp"

#include <algorithm>
#include <functional>
#include <ranges>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/fft/detail/transform.hpp"
#include "plait/task/scheduler.hpp"

namespace plait::fft {

namespace {

using detail::Arrays;
using detail::PlanState;
using detail::Transform;

void throw_unless_fits(const char* name, std::size_t size, const ArrayLayout& layout) {
  if (size != static_cast<std::size_t>(layout.size())) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the {} array has {} elements on this rank, and must have {}: {} x {} x {} of {}",
                            name,
                            size,
                            layout.size(),
                            layout.box.extent(0),
                            layout.box.extent(1),
                            layout.box.extent(2),
                            fmt::join(layout.lengths, " x "))};
  }
}

/// Casts constness away: a transform does not write to its input.
template <class Physical>
std::shared_ptr<Transform> make(const std::shared_ptr<PlanState>& plan,
                                Direction direction,
                                std::span<const Physical> physical,
                                std::span<const std::complex<double>> spectral,
                                double scale) {
  if ((plan->geometry.kind == Kind::real) != std::is_same_v<Physical, double>) {
    throw Error{ErrorCode::bad_argument,
                plan->geometry.kind == Kind::complex
                    ? "real arrays need a plan of the real kind, and this one is of the complex kind"
                    : "complex arrays need a plan of the complex kind, and this one is of the real kind"};
  }
  throw_unless_fits("physical", physical.size(), plan->physical);
  throw_unless_fits("spectral", spectral.size(), plan->spectral);
  const Arrays arrays{reinterpret_cast<std::byte*>(const_cast<Physical*>(physical.data())),
                      const_cast<std::complex<double>*>(spectral.data())};
  return std::make_shared<Transform>(plan, direction, arrays, scale);
}

using Transforms = std::vector<std::shared_ptr<Transform>>;

/// The number of graphs that a transform keeps, for lists that begin with it.
constexpr std::size_t kept_max = 8;

task::Graph& graph_of(const Transforms& transforms) {
  std::vector<Transform::Kept>& all = transforms.front()->kept();
  const auto found = std::ranges::find_if(all, [&](const Transform::Kept& kept) {
    return std::ranges::equal(kept.members, transforms, {}, [](const auto& member) { return member.lock(); });
  });
  if (found != all.end()) {
    return *found->graph;
  }
  if (all.size() == kept_max) {
    all.erase(all.begin());
  }
  Transform::Kept kept{{transforms.begin(), transforms.end()}, std::make_unique<task::Graph>()};
  for (const std::shared_ptr<Transform>& transform : transforms) {
    (void)transform->add_to(*kept.graph);
  }
  all.push_back(std::move(kept));
  return *all.back().graph;
}

/// In order: one transform exchanges while the next computes.
void run_in_order(const Transforms& transforms) {
  const std::function<void()> pulse = [&] {
    for (const std::shared_ptr<Transform>& transform : transforms) {
      transform->advance();
    }
  };
  const auto count_of = [](const std::shared_ptr<Transform>& transform) { return transform->step_count(); };
  const std::size_t steps = std::ranges::max(transforms | std::views::transform(count_of));
  for (std::size_t step = 0; step < steps; ++step) {
    for (const std::shared_ptr<Transform>& transform : transforms) {
      if (step < transform->step_count()) {
        transform->carry_out(step, pulse);
      }
    }
  }
}

}  // namespace

Execution::Execution(const Plan& plan,
                     std::span<const double> physical,
                     std::span<std::complex<double>> spectral,
                     double scale)
    : transform_{make<double>(plan.state_, Direction::forward, physical, spectral, scale)} {}

Execution::Execution(const Plan& plan,
                     std::span<const std::complex<double>> spectral,
                     std::span<double> physical,
                     double scale)
    : transform_{make<double>(plan.state_, Direction::backward, physical, spectral, scale)} {}

Execution::Execution(const Plan& plan,
                     Direction direction,
                     std::span<const std::complex<double>> from,
                     std::span<std::complex<double>> to,
                     double scale) {
  const bool is_forward = direction == Direction::forward;
  transform_ =
      make<std::complex<double>>(plan.state_, direction, is_forward ? from : to, is_forward ? to : from, scale);
}

Execution::~Execution() {
  try {
    // After a failed run messages are in flight, into buffers that must live as long as the endpoint.
    if (transform_ && transform_->plan().endpoint.failure()) {
      transform_->plan().endpoint.keep(transform_);
    }
  } catch (...) {  // out of memory
  }
}

Tasks Execution::add_to(task::Graph& graph) {
  return transform_->add_to(graph);
}

void Execution::run() {
  Execution* const self = this;
  fft::run({&self, 1});
}

void run(std::span<Execution* const> executions) {
  if (executions.empty()) {
    return;
  }
  Transforms transforms;
  for (const Execution* execution : executions) {
    transforms.push_back(execution->transform_);
  }
  const PlanState& plan = transforms.front()->plan();
  if (plan.runs_as_tasks()) {
    plan.scheduler.run(graph_of(transforms));
  } else {
    run_in_order(transforms);
  }
}

}  // namespace plait::fft
