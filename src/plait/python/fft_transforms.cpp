// SPDX-License-Identifier: Apache-2.0
#include "plait/python/fft_transforms.hpp"

#include <algorithm>
#include <complex>
#include <cstddef>
#include <map>
#include <span>

#include <fmt/format.h>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/fft/mpi/variants.hpp"

namespace plait::python {

namespace nb = nanobind;

namespace {

using Complex = std::complex<double>;

/// Sets of executions that a plan keeps, each with its message buffers.
constexpr std::size_t cached_max = 4;

template <class T>
std::span<T> numbers(const Buffer& buffer) {
  const std::span<std::byte> bytes = buffer.contiguous();
  return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
}

fft::Effort effort_of(const std::string& name) {
  static const std::map<std::string, fft::Effort> efforts{
      {"estimate", fft::Effort::estimate}, {"measure", fft::Effort::measure}, {"patient", fft::Effort::patient}};
  const auto found = efforts.find(name);
  if (found == efforts.end()) {
    throw nb::value_error(
        fmt::format("effort={:?} is unknown: use \"estimate\", \"measure\" or \"patient\"", name).c_str());
  }
  return found->second;
}

fft::PlanOptions options_of(const TransformSettings& settings, MPI_Comm communicator) {
  return {.kind = settings.is_real ? fft::Kind::real : fft::Kind::complex,
          .grid = {settings.row, settings.column},
          .effort = effort_of(settings.effort),
          .pieces = settings.pieces,
          .variant = settings.variant,
          .more = fft::mpi::variants(communicator)};
}

}  // namespace

/// What identifies executions: the direction, the factor, and where the arrays are.
struct Transforms::Call {
  bool is_forward = true;
  double scale = 1;
  std::vector<const void*> places;

  friend bool operator==(const Call&, const Call&) = default;
};

struct Transforms::State {
  struct Cached {
    Call call;
    std::vector<fft::Execution> executions;
  };

  State(Runtime& runtime, const std::array<fft::Index, 3>& lengths, const fft::PlanOptions& options)
      : plan{runtime.messages(), runtime.scheduler(), lengths, options} {}

  [[nodiscard]] fft::Execution make(const Call& call, const Buffer& from, const Buffer& to) const {
    const bool is_real = plan.kind() == fft::Kind::real;
    if (is_real && call.is_forward) {
      return {plan, numbers<const double>(from), numbers<Complex>(to), call.scale};
    }
    if (is_real) {
      return {plan, numbers<const Complex>(from), numbers<double>(to), call.scale};
    }
    return {plan,
            call.is_forward ? fft::Direction::forward : fft::Direction::backward,
            numbers<const Complex>(from),
            numbers<Complex>(to),
            call.scale};
  }

  /// The executions of the place in the list on which all ranks agree, or new ones: ranks must create the same.
  Cached& find(const comm::Group& group,
               const Call& call,
               const std::vector<Buffer>& from,
               const std::vector<Buffer>& to) {
    const auto mine = std::ranges::find(cached, call, &Cached::call);
    std::vector<std::int64_t> places(group.size());
    const std::int64_t place = mine == cached.end() ? -1 : mine - cached.begin();
    comm::all_gather(group, std::span{&place, 1}, std::span{places}).wait();
    if (place >= 0 && std::ranges::all_of(places, [&](std::int64_t other) { return other == place; })) {
      std::rotate(cached.begin(), mine, mine + 1);
      return cached.front();
    }
    if (cached.size() == cached_max) {
      cached.pop_back();
    }
    Cached made{call, {}};
    for (std::size_t i = 0; i < from.size(); ++i) {
      made.executions.push_back(make(call, from[i], to[i]));
    }
    // Another rank may keep others under these places: the front is the one that the next equal call finds here.
    return *cached.insert(cached.begin(), std::move(made));
  }

  fft::Plan plan;
  std::vector<Cached> cached;  ///< The last used first, on all ranks.
};

Transforms::Transforms(std::shared_ptr<Engine> engine, const TransformSettings& settings) : engine_{std::move(engine)} {
  Runtime& runtime = engine_->runtime();
  const std::shared_ptr<State> made = engine_->run([&] {
    return std::make_shared<State>(runtime, settings.lengths, options_of(settings, engine_->communicator()));
  });
  engine_->keep(made);
  state_ = made;
}

Transforms::State& Transforms::state() const {
  const std::shared_ptr<State> found = state_.lock();
  if (!found) {
    throw nb::value_error("the plan is closed, or its runtime is");
  }
  return *found;  // the engine owns it
}

std::pair<std::array<fft::Index, 3>, std::array<fft::Index, 3>> Transforms::box(bool is_spectral) const {
  const fft::Plan& plan = state().plan;
  const fft::IndexBox& box = (is_spectral ? plan.spectral() : plan.physical()).box;
  return {box.low, box.high};
}

std::pair<std::uint32_t, std::uint32_t> Transforms::grid() const {
  const fft::TransformGrid grid = state().plan.grid();
  return {grid.row, grid.column};
}

std::string Transforms::variant() const {
  return state().plan.variant();
}

std::string Transforms::describe() const {
  return state().plan.describe();
}

void Transforms::run(bool is_forward,
                     const std::vector<nb::object>& from,
                     const std::vector<nb::object>& to,
                     double scale) {
  State& state = this->state();
  std::vector<Buffer> sources;
  std::vector<Buffer> targets;
  Call call{is_forward, scale, {}};
  for (std::size_t i = 0; i < from.size(); ++i) {
    sources.emplace_back(from[i], Buffer::Access::read, "the array to transform");
    targets.emplace_back(to[i], Buffer::Access::write, "out");
    call.places.push_back(sources.back().contiguous().data());
    call.places.push_back(targets.back().contiguous().data());
  }
  engine_->run([&] {
    std::vector<fft::Execution*> all;
    for (fft::Execution& execution : state.find(engine_->group(), call, sources, targets).executions) {
      all.push_back(&execution);
    }
    fft::run(all);
  });
}

void Transforms::close() {
  if (const std::shared_ptr<State> found = state_.lock()) {
    engine_->forget(found);
    state_.reset();
  }
}

}  // namespace plait::python
