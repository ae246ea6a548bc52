// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/execution.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/fft/detail/together.hpp"
#include "plait/fft/detail/transform.hpp"

namespace plait::fft {

namespace {

using detail::Arrays;
using detail::PlanState;
using detail::Transform;

void throw_unless(Kind wanted, const PlanState& plan) {
  if (plan.geometry.kind != wanted) {
    throw Error{ErrorCode::bad_argument,
                wanted == Kind::real
                    ? "real arrays need a plan of the real kind, and this one is of the complex kind"
                    : "complex arrays need a plan of the complex kind, and this one is of the real kind"};
  }
}

void throw_unless_fits(const char* name, std::size_t size, const Layout& layout) {
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

/// Input is not written to, though the type allows it.
template <class To, class From>
To* writable(std::span<const From> data) {
  return reinterpret_cast<To*>(const_cast<From*>(data.data()));
}

std::shared_ptr<Transform> make(const std::shared_ptr<PlanState>& plan,
                                Direction direction,
                                const Arrays& arrays,
                                double scale) {
  return std::make_shared<Transform>(plan, direction, arrays, scale);
}

/// A failed run leaves with messages under way, into buffers that must stay as long as the endpoint.
void keep_if_failed(const std::shared_ptr<Transform>& transform) noexcept {
  try {
    comm::Endpoint& endpoint = transform->plan().endpoint;
    if (endpoint.failure()) {
      endpoint.keep(transform);
    }
  } catch (...) {  // no memory to note it: nothing better than to let it go
  }
}

}  // namespace

Execution::Execution(const Plan& plan,
                     std::span<const double> physical,
                     std::span<std::complex<double>> spectral,
                     double scale) {
  throw_unless(Kind::real, *plan.state_);
  throw_unless_fits("physical", physical.size(), plan.physical());
  throw_unless_fits("spectral", spectral.size(), plan.spectral());
  transform_ = make(plan.state_, Direction::forward, {writable<std::byte>(physical), spectral.data()}, scale);
}

Execution::Execution(const Plan& plan,
                     std::span<const std::complex<double>> spectral,
                     std::span<double> physical,
                     double scale) {
  throw_unless(Kind::real, *plan.state_);
  throw_unless_fits("spectral", spectral.size(), plan.spectral());
  throw_unless_fits("physical", physical.size(), plan.physical());
  transform_ = make(plan.state_,
                    Direction::backward,
                    {reinterpret_cast<std::byte*>(physical.data()), writable<std::complex<double>>(spectral)},
                    scale);
}

Execution::Execution(const Plan& plan,
                     Direction direction,
                     std::span<const std::complex<double>> from,
                     std::span<std::complex<double>> to,
                     double scale) {
  throw_unless(Kind::complex, *plan.state_);
  const bool is_forward = direction == Direction::forward;
  throw_unless_fits(is_forward ? "physical" : "spectral", from.size(), is_forward ? plan.physical() : plan.spectral());
  throw_unless_fits(is_forward ? "spectral" : "physical", to.size(), is_forward ? plan.spectral() : plan.physical());
  const Arrays arrays = is_forward
                            ? Arrays{writable<std::byte>(from), to.data()}
                            : Arrays{reinterpret_cast<std::byte*>(to.data()), writable<std::complex<double>>(from)};
  transform_ = make(plan.state_, direction, arrays, scale);
}

Execution::Execution(Execution&&) noexcept = default;
Execution& Execution::operator=(Execution&&) noexcept = default;

Execution::~Execution() {
  if (transform_) {
    keep_if_failed(transform_);
  }
}

Tasks Execution::add_to(task::Graph& graph) {
  return transform_->add_to(graph);
}

void Execution::run() {
  Execution* const self = this;
  fft::run({&self, 1});
}

Direction Execution::direction() const noexcept {
  return transform_->direction();
}

void run(std::span<Execution* const> executions) {
  if (executions.empty()) {
    return;
  }
  std::vector<std::shared_ptr<Transform>> transforms;
  for (const Execution* execution : executions) {
    transforms.push_back(execution->transform_);
  }
  detail::run_together(transforms);
}

}  // namespace plait::fft
