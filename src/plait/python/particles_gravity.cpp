// SPDX-License-Identifier: Apache-2.0
#include "plait/python/particles_gravity.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/python/particles_input.hpp"

namespace plait::python {

using particles::Field;
using particles::Particles;
using particles::Vector;

namespace {

/// The sums of one body, on their way to where it came from.
struct Sums {
  std::uint64_t place = 0;
  Vector acceleration;
  double potential = 0;
};

void check_masses(std::span<const double> masses, Rank self) {
  for (std::size_t i = 0; i < masses.size(); ++i) {
    if (!(masses[i] >= 0) || !std::isfinite(masses[i])) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format(
              "masses[{}] on rank {} is {}: masses must be finite and not negative", i, self.value(), masses[i])};
    }
  }
}

}  // namespace

Forces sum_gravity(Runtime& runtime,
                   const comm::Group& group,
                   std::span<const double> positions,
                   std::span<const double> masses,
                   const GravitySettings& settings) {
  check_masses(masses, runtime.self());
  Particles store;
  const Field<double> mass = store.add_field<double>("mass");
  const Field<Vector> acceleration = store.add_field<Vector>("acceleration");
  const Field<double> potential = store.add_field<double>("potential");
  add_particles(store, positions, runtime.self());
  std::ranges::copy(masses, store[mass].begin());
  particles::System system{runtime.messages(), runtime.scheduler(), store, {.space = settings.space}};
  system.add_long_range({.charge = mass,
                         .acceleration = acceleration,
                         .potential = potential,
                         .theta = settings.theta,
                         .order = settings.is_quadrupole ? particles::Order::quadrupole : particles::Order::monopole,
                         .precision = settings.is_mixed ? particles::Precision::mixed : particles::Precision::full,
                         .softening = settings.softening,
                         .coupling = settings.coupling});
  system.update();

  Forces forces{std::vector<double>(positions.size()), std::vector<double>(masses.size())};
  const auto take = [&forces](const Sums& sums) {
    std::memcpy(&forces.accelerations[3 * sums.place], &sums.acceleration, sizeof sums.acceleration);
    forces.potentials[sums.place] = sums.potential;
  };
  std::vector<Bytes> back(group.size());
  for (std::size_t i = 0; i < store.size(); ++i) {
    const InputPlace origin = InputPlace::of(store.ids()[i]);
    const Sums sums{origin.place, store[acceleration][i], store[potential][i]};
    if (origin.rank == runtime.self().value()) {
      take(sums);
    } else {
      const auto bytes = std::as_bytes(std::span{&sums, 1});
      back[origin.rank].insert(back[origin.rank].end(), bytes.begin(), bytes.end());
    }
  }
  for (const Bytes& message : data::detail::exchange_any(group, back)) {
    for (std::size_t first = 0; first < message.size(); first += sizeof(Sums)) {
      Sums sums;
      std::memcpy(&sums, message.data() + first, sizeof sums);
      take(sums);
    }
  }
  return forces;
}

}  // namespace plait::python
