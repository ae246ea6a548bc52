// SPDX-License-Identifier: Apache-2.0
#include "pic/patch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "plait/base/error.hpp"

#include "pic/detail/deposit.hpp"
#include "pic/detail/push.hpp"
#include "pic/hash.hpp"
#include "pic/kernel_problem.hpp"

namespace pic {

namespace {

template <int D>
using Position = std::array<double, static_cast<std::size_t>(D)>;

/// Reflects a coordinate at the ends of its axis where the borders reflect; an absorbed one stays outside.
double reflected(double x, double cells, const std::array<ParticleBorder, 2>& borders) {
  while (true) {
    if (x < 0 && borders[0] == ParticleBorder::reflecting) {
      x = -x;
    } else if (x >= cells && borders[1] == ParticleBorder::reflecting) {
      // A particle exactly on the high wall belongs to the last cell.
      x = std::min(2 * cells - x, std::nextafter(cells, 0.0));
    } else {
      return x;
    }
  }
}

double wrapped(double x, double cells) {
  x -= cells * std::floor(x / cells);
  return x >= cells || x < 0 ? 0 : x;
}

/// One step of the particles of one species in a patch.
template <int D, int Order>
class Advance {
 public:
  Advance(Patch<D>& patch, const Physics<D>& physics, std::size_t species, std::vector<Migrant<D>>& leavers)
      : patch_{patch},
        physics_{physics},
        species_{species},
        particles_{patch.species[species]},
        leavers_{leavers},
        charge_{physics.species[species].charge / physics.quantum} {
    factors_ = {.half_kick = physics.species[species].charge_to_mass * physics.time_step * 0.5,
                .magnetic = physics.magnetic_field,
                .time_step = physics.time_step};
    for (int d = 0; d < D; ++d) {
      factors_.cells[d] = physics.time_step / physics.grid.spacing[d];
      low_[d] = patch.cells.low[d];
      high_[d] = patch.cells.high[d];
    }
  }

  void operator()() {
    for (std::size_t first = 0; first < particles_.size(); first += detail::chunk_max) {
      const std::size_t count = std::min(detail::chunk_max, particles_.size() - first);
      if (physics_.forces == Forces::fixed_charges) {
        move_among_columns(first, count);
      } else {
        detail::gather<D, Order>(patch_.fields, particles_, first, count, chunk_);
        detail::push<D>(particles_, first, count, factors_, chunk_);
      }
      check_moves(first, count);
      add_moves(first, count);
      treat_borders(first, count);
      if (physics_.solve == Solve::electromagnetic) {
        deposit(first, count);
      }
      for (int d = 0; d < D; ++d) {
        std::copy_n(chunk_.to[d].begin(), count, particles_.position[d].begin() + static_cast<std::ptrdiff_t>(first));
      }
    }
    take_out();
  }

 private:
  /// Moves under a force that is constant during the step, as the Parallel Research Kernel is defined.
  void move_among_columns(std::size_t first, std::size_t count) {
    const double step = physics_.time_step;
    for (std::size_t p = 0; p < count; ++p) {
      const std::size_t i = first + p;
      const std::int32_t column = detail::floor_to_int(particles_.position[0][i]);
      const double x = particles_.position[0][i] - column;
      const double y = particles_.position[1][i] - detail::floor_to_int(particles_.position[1][i]);
      const CornerForce force = corner_force(x, y);
      const double strength = physics_.species[species_].charge_to_mass * column_charge(column);
      const double ax = strength * force.x;
      const double ay = strength * force.y;
      chunk_.to[0][p] = particles_.momentum[0][i] * step + 0.5 * ax * step * step;
      chunk_.to[1][p] = particles_.momentum[1][i] * step + 0.5 * ay * step * step;
      particles_.momentum[0][i] += ax * step;
      particles_.momentum[1][i] += ay * step;
      if constexpr (D == 3) {
        chunk_.to[2][p] = particles_.momentum[2][i] * step;
      }
    }
  }

  /// Throws for a move that is a NaN, or longer than the deposit can follow.
  void check_moves(std::size_t first, std::size_t count) const {
    const double limit = physics_.solve == Solve::electromagnetic ? 1.0 : 0x1p24;
    bool is_good = true;
    for (int d = 0; d < D; ++d) {
      for (std::size_t p = 0; p < count; ++p) {
        is_good &= std::abs(chunk_.to[d][p]) < limit;
      }
    }
    if (is_good) {
      return;
    }
    for (std::size_t p = 0; p < count; ++p) {
      for (int d = 0; d < D; ++d) {
        if (!(std::abs(chunk_.to[d][p]) < limit)) {
          Position<D> position{};
          for (int e = 0; e < D; ++e) {
            position[e] = particles_.position[e][first + p];
          }
          throw plait::Error{
              plait::ErrorCode::bad_input,
              fmt::format("particle {} of species {} in cell ({}) would move by {} cells along {}: is the "
                          "time step too long, or a field not a number?",
                          particles_.id[first + p],
                          physics_.species[species_].name,
                          fmt::join(cell_of<D>(position), ", "),
                          chunk_.to[d][p],
                          "xyz"[d])};
        }
      }
    }
  }

  void add_moves(std::size_t first, std::size_t count) {
    for (int d = 0; d < D; ++d) {
      const double* const from = particles_.position[d].data() + first;
      double* const to = chunk_.to[d].data();
      for (std::size_t p = 0; p < count; ++p) {
        to[p] += from[p];
      }
    }
  }

  /// Notes the particles that are outside the patch now, and reverses those that were reflected.
  void treat_borders(std::size_t first, std::size_t count) {
    for (std::size_t p = 0; p < count; ++p) {
      bool is_inside = true;
      for (int d = 0; d < D; ++d) {
        is_inside &= chunk_.to[d][p] >= low_[d] && chunk_.to[d][p] < high_[d];
      }
      if (is_inside) [[likely]] {
        continue;
      }
      for (int d = 0; d < D; ++d) {
        const double cells = physics_.grid.cells[d];
        const double before = chunk_.to[d][p];
        if (before >= 0 && before < cells) {
          continue;
        }
        const double after = reflected(before, cells, physics_.grid.particles[d]);
        if (after != before) {
          // Each reflection reverses the velocity.
          const auto turns = static_cast<std::int64_t>(std::abs(std::floor(before / cells)));
          particles_.momentum[d][first + p] *= turns % 2 != 0 ? -1 : 1;
          chunk_.to[d][p] = after;
        }
      }
      outside_.push_back(first + p);
    }
  }

  void deposit(std::size_t first, std::size_t count) {
    for (std::size_t p = 0; p < count; ++p) {
      detail::Move<D> move{.charge = charge_, .along_z = chunk_.along_z[p]};
      for (int d = 0; d < D; ++d) {
        move.from[d] = particles_.position[d][first + p];
        move.to[d] = chunk_.to[d][p];
      }
      detail::deposit_current<Order>(patch_.current, move);
    }
  }

  /// A quadratic shape reaches half a cell out of the wall that absorbed its particle. Moves it that much further, so
  /// that no charge vanishes from the nodes before the wall without a current.
  void sink_into_wall(std::size_t i) {
    detail::Move<D> move{.charge = charge_};
    for (int d = 0; d < D; ++d) {
      const double x = particles_.position[d][i];
      const double cells = physics_.grid.cells[d];
      move.from[d] = x;
      move.to[d] = x;
      if (!physics_.grid.is_periodic(d)) {
        move.to[d] = x < 0 ? std::min(x, -0.5) : x >= cells ? std::max(x, cells + 0.5) : x;
      }
    }
    detail::deposit_current<Order>(patch_.current, move);
  }

  /// Makes the particles outside leavers, or counts them as absorbed; those that came back through a border stay.
  void take_out() {
    for (std::size_t n = outside_.size(); n-- > 0;) {  // from the last: removing moves only later ones
      const std::size_t i = outside_[n];
      bool is_absorbed = false;
      bool is_inside = true;
      for (int d = 0; d < D; ++d) {
        const double cells = physics_.grid.cells[d];
        is_absorbed |=
            !physics_.grid.is_periodic(d) && (particles_.position[d][i] < 0 || particles_.position[d][i] >= cells);
      }
      if (is_absorbed && Order == 2 && physics_.solve == Solve::electromagnetic) {
        sink_into_wall(i);
      }
      for (int d = 0; d < D; ++d) {
        const double cells = physics_.grid.cells[d];
        double& x = particles_.position[d][i];
        if (physics_.grid.is_periodic(d) && (x < 0 || x >= cells)) {
          x = wrapped(x, cells);
        }
        is_inside &= x >= low_[d] && x < high_[d];
      }
      if (is_absorbed) {
        ++patch_.absorbed;
        particles_.remove(i);
      } else if (!is_inside) {
        leavers_.push_back(particles_.get(i, species_));
        particles_.remove(i);
      }
    }
  }

  Patch<D>& patch_;
  const Physics<D>& physics_;
  std::size_t species_;
  Particles<D>& particles_;
  std::vector<Migrant<D>>& leavers_;
  double charge_;  ///< In quanta.
  detail::PushFactors<D> factors_;
  Position<D> low_{};
  Position<D> high_{};
  detail::Chunk<D> chunk_;
  std::vector<std::size_t> outside_;
};

template <int D, int Order>
void advance_all(Patch<D>& patch, const Physics<D>& physics, std::vector<Migrant<D>>& leavers) {
  for (std::size_t species = 0; species < patch.species.size(); ++species) {
    Advance<D, Order>{patch, physics, species, leavers}();
  }
}

template <int D, int Order>
void deposit_all(Patch<D>& patch, const Physics<D>& physics) {
  for (std::size_t species = 0; species < patch.species.size(); ++species) {
    const Particles<D>& particles = patch.species[species];
    const double charge = physics.species[species].charge / physics.quantum;
    for (std::size_t i = 0; i < particles.size(); ++i) {
      Position<D> position{};
      for (int d = 0; d < D; ++d) {
        position[d] = particles.position[d][i];
      }
      detail::deposit_charge_of<Order, D>(patch.charge, position, charge);
    }
  }
}

template <class T>
void reorder(std::vector<T>& values, const std::vector<std::uint32_t>& place, std::vector<T>& spare) {
  spare.resize(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    spare[place[i]] = values[i];
  }
  values.swap(spare);
}

}  // namespace

template <int D>
Patch<D>::Patch(const Box<D>& box, const Physics<D>& physics)
    : cells{box}, species(physics.species.size()), fields{box.grown(physics.field_guard(), physics.field_guard() + 1)} {
  const Box<D> deposit_box = box.grown(physics.current_guard(), physics.current_guard() + 1);
  if (physics.solve == Solve::electromagnetic) {
    current = Tile<D, NodeCurrent>{deposit_box};
  }
  if (physics.solve != Solve::nothing) {
    charge = Tile<D, Quanta>{deposit_box};
  }
}

template <int D>
std::uint64_t Patch<D>::particle_count() const {
  std::uint64_t count = 0;
  for (const Particles<D>& one : species) {
    count += one.size();
  }
  return count;
}

template <int D>
void Patch<D>::advance(const Physics<D>& physics, std::vector<Migrant<D>>& leavers) {
  physics.order == 1 ? advance_all<D, 1>(*this, physics, leavers) : advance_all<D, 2>(*this, physics, leavers);
}

template <int D>
void Patch<D>::take(std::span<const Migrant<D>> arrivals) {
  for (const Migrant<D>& particle : arrivals) {
    plait::expect(cells.contains(cell_of<D>(particle.position)), "particles are given to the patch they are in");
    species[particle.species].add(particle);
  }
}

template <int D>
void Patch<D>::deposit_charge(const Physics<D>& physics) {
  charge.fill(0);
  physics.order == 1 ? deposit_all<D, 1>(*this, physics) : deposit_all<D, 2>(*this, physics);
}

template <int D>
void Patch<D>::sort_by_cell() {
  const Tile<D, char> numbering{cells};
  std::vector<std::uint32_t> begin;
  std::vector<std::uint32_t> place;
  std::vector<double> spare;
  std::vector<std::uint64_t> spare_ids;
  for (Particles<D>& particles : species) {
    begin.assign(numbering.size() + 1, 0);
    place.resize(particles.size());
    for (std::size_t i = 0; i < particles.size(); ++i) {
      Place<D> cell{};
      for (int d = 0; d < D; ++d) {
        cell[d] = static_cast<std::int32_t>(particles.position[d][i]);
      }
      place[i] = static_cast<std::uint32_t>(numbering.index(cell));
      ++begin[place[i] + 1];
    }
    for (std::size_t cell = 0; cell < numbering.size(); ++cell) {
      begin[cell + 1] += begin[cell];
    }
    for (std::uint32_t& p : place) {
      p = begin[p]++;
    }
    for (auto& x : particles.position) {
      reorder(x, place, spare);
    }
    for (auto& u : particles.momentum) {
      reorder(u, place, spare);
    }
    reorder(particles.id, place, spare_ids);
  }
}

template <int D>
std::vector<Departure<D>> by_part(std::span<const Migrant<D>> leavers, const Division<D>& patches) {
  std::vector<Departure<D>> departures;
  for (const Migrant<D>& particle : leavers) {
    const std::int32_t part = patches.part_of_cell(cell_of<D>(particle.position));
    // A patch has few neighbours, and the last one is the likeliest.
    auto found = std::find_if(departures.rbegin(), departures.rend(), [&](const auto& d) { return d.part == part; });
    Departure<D>& departure = found != departures.rend() ? *found : departures.emplace_back(Departure<D>{part, {}});
    departure.particles.push_back(particle);
  }
  return departures;
}

template <int D>
std::uint64_t Patch<D>::checksum() const {
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < species.size(); ++kind) {
    const Particles<D>& particles = species[kind];
    for (std::size_t i = 0; i < particles.size(); ++i) {
      std::uint64_t hash = mixed(particles.id[i] + (kind << 56U));
      for (int d = 0; d < D; ++d) {
        hash = mixed(hash ^ std::bit_cast<std::uint64_t>(particles.position[d][i]));
      }
      for (const auto& u : particles.momentum) {
        hash = mixed(hash ^ std::bit_cast<std::uint64_t>(u[i] + 0.0));  // -0 is 0
      }
      sum += hash;
    }
  }
  return sum;
}

template struct Patch<2>;
template struct Patch<3>;
template std::vector<Departure<2>> by_part<2>(std::span<const Migrant<2>>, const Division<2>&);
template std::vector<Departure<3>> by_part<3>(std::span<const Migrant<3>>, const Division<3>&);

}  // namespace pic
