// SPDX-License-Identifier: Apache-2.0
#include "sph/plain_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sph {

namespace {

using plait::particles::Box;

Vector centre_of(const Box& box) {
  return 0.5 * (box.low + box.high);
}

}  // namespace

PlainModel::PlainModel(Particles& store, const GasFields& fields, const Problem& problem)
    : gas_{store, fields}, scheme_{problem.scheme}, space_{problem.space} {
  find_forces();
  step_wanted_ = shortest_step(0);
}

double PlainModel::step(double until) {
  double dt = std::min(step_wanted_, until - time_);
  if (until - time_ < 1.5 * dt) {
    dt = until - time_;  // rather than a tiny last step
    dt = dt > step_wanted_ ? dt / 2 : dt;
  }
  for (std::size_t i = 0; i < gas_.count; ++i) {
    kick(gas_, i, scheme_, dt / 2);
    drift(gas_, i, scheme_, dt);
    gas_.position[i] = space_.wrap(gas_.position[i]);
  }
  time_ = std::abs(until - time_ - dt) < 1e-12 * dt ? until : time_ + dt;
  find_forces();
  for (std::size_t i = 0; i < gas_.count; ++i) {
    kick(gas_, i, scheme_, dt / 2);
    settle(gas_, i);
  }
  step_wanted_ = std::min(until, shortest_step(1e-12 * until));
  return dt;
}

double PlainModel::shortest_step(double allowed) const {
  double shortest = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i < gas_.count; ++i) {
    shortest = std::min(shortest, time_step(gas_, i, scheme_, allowed));
  }
  return shortest;
}

void PlainModel::find_forces() {
  sort_into_cells();
  for (Cell& cell : cells_) {
    find_density(cell);
  }
  for (const Cell& cell : cells_) {
    find_flow_forces(cell);
  }
  if (scheme_.gravity.constant != 0) {
    find_gravity();
  }
}

void PlainModel::sort_into_cells() {
  Box all;
  std::size_t flowing = 0;
  for (std::size_t i = 0; i < gas_.count; ++i) {
    if (gas_.kind[i] == gas_kind) {
      all.include(gas_.position[i]);
      ++flowing;
    }
  }
  cells_.clear();
  if (flowing == 0) {
    return;
  }
  // About 64 evenly spread particles per cell, and at most 40 cells along an axis.
  const Vector size = all.high - all.low;
  const double volume = std::max(size.x, 1e-30) * std::max(size.y, 1e-30) * std::max(size.z, 1e-30);
  const double edge =
      std::max(std::cbrt(64 * volume / static_cast<double>(flowing)), std::max({size.x, size.y, size.z}) / 40);
  std::array<std::size_t, 3> counts{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    counts[axis] = static_cast<std::size_t>(size[axis] / edge) + 1;
  }
  cells_.resize(counts[0] * counts[1] * counts[2]);
  for (std::size_t i = 0; i < gas_.count; ++i) {
    if (gas_.kind[i] != gas_kind) {
      continue;
    }
    std::size_t place = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double from = gas_.position[i][axis] - all.low[axis];
      place = place * counts[axis] + static_cast<std::size_t>(from / edge);
    }
    Cell& cell = cells_[place];
    cell.members.push_back(static_cast<std::uint32_t>(i));
    cell.box.include(gas_.position[i]);
    cell.reach = std::max(cell.reach, support_ratio(scheme_.kernel) * gas_.smoothing[i]);
  }
  std::erase_if(cells_, [](const Cell& cell) { return cell.members.empty(); });
}

void PlainModel::gather(const Cell& cell, double reach, Properties properties) {
  for (auto& column : gathered_) {
    column.clear();
  }
  const Vector origin = centre_of(cell.box);
  for (const Cell& other : cells_) {
    const double within = properties == Properties::forces ? std::max<double>(reach, other.reach) : reach;
    if (distance2(cell.box, other.box, space_.period()) >= within * within) {
      continue;
    }
    for (const std::uint32_t j : other.members) {
      const Vector at = space_.nearest(gas_.position[j] - origin);
      const Vector& flow = gas_.velocity_now[j];
      const Vector& along = gas_.strain_along[j];
      const Vector& across = gas_.strain_across[j];
      const std::array<double, 19> row{at.x,
                                       at.y,
                                       at.z,
                                       flow.x,
                                       flow.y,
                                       flow.z,
                                       gas_.mass[j],
                                       gas_.smoothing[j],
                                       gas_.density[j],
                                       gas_.grad_h[j],
                                       gas_.energy_now[j],
                                       gas_.viscosity[j],
                                       gas_.conduction[j],
                                       along.x,
                                       along.y,
                                       along.z,
                                       across.x,
                                       across.y,
                                       across.z};
      for (std::size_t c = 0; c < row.size(); ++c) {
        gathered_[c].push_back(static_cast<float>(row[c]));
      }
    }
  }
  const std::size_t padded = (gathered_[0].size() + source_padding - 1) / source_padding * source_padding;
  for (std::size_t c = 0; c < gathered_.size(); ++c) {
    gathered_[c].resize(padded, c == 6 ? 0.0F : c > 6 ? 1e-6F : 1e18F);
  }
}

ForceSources PlainModel::sources() const {
  const auto at = [&](std::size_t c) { return gathered_[c].data(); };
  ForceSources all;
  all.count = gathered_[0].size();
  all.x = at(0), all.y = at(1), all.z = at(2);
  all.velocity_x = at(3), all.velocity_y = at(4), all.velocity_z = at(5);
  all.mass = at(6);
  all.smoothing = at(7), all.density = at(8), all.grad_h = at(9), all.energy = at(10);
  all.viscosity = at(11), all.conduction = at(12);
  all.strain_xx = at(13), all.strain_yy = at(14), all.strain_zz = at(15);
  all.strain_yz = at(16), all.strain_xz = at(17), all.strain_xy = at(18);
  return all;
}

void PlainModel::find_density(Cell& cell) {
  const Vector origin = centre_of(cell.box);
  std::vector<std::uint32_t> left = cell.members;
  std::vector<SmoothingSearch> searches(left.size());
  std::vector<DensityTarget> targets;
  std::vector<DensitySums> sums;
  double reach = 0;
  while (!left.empty()) {
    float wanted = 0;
    targets.clear();
    for (const std::uint32_t i : left) {
      targets.push_back(density_target(gas_, i, origin));
      wanted = std::max(wanted, support_ratio(scheme_.kernel) * gas_.smoothing[i]);
    }
    if (wanted > reach) {
      reach = 1.1 * static_cast<double>(wanted);
      gather(cell, reach, Properties::density);
    }
    sums.resize(left.size());
    sum_density(scheme_.kernel, targets, sources(), sums);
    std::size_t kept = 0;
    for (std::size_t k = 0; k < left.size(); ++k) {
      const std::uint32_t i = left[k];
      if (improve_smoothing(gas_, i, sums[k], scheme_, searches[k]) == Smoothing::found) {
        finish_density(gas_, i, sums[k], scheme_);
      } else {
        searches[kept] = searches[k];
        left[kept++] = i;
      }
    }
    left.resize(kept);
  }
  cell.reach = 0;
  for (const std::uint32_t i : cell.members) {
    cell.reach = std::max(cell.reach, support_ratio(scheme_.kernel) * gas_.smoothing[i]);
  }
}

void PlainModel::find_flow_forces(const Cell& cell) {
  const Vector origin = centre_of(cell.box);
  gather(cell, cell.reach, Properties::forces);
  std::vector<ForceTarget> targets;
  for (const std::uint32_t i : cell.members) {
    targets.push_back(force_target(gas_, i, origin));
  }
  std::vector<ForceSums> sums(targets.size());
  sum_forces(scheme_, targets, sources(), sums);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    finish_forces(gas_, cell.members[k], sums[k]);
  }
}

void PlainModel::find_gravity() {
  const std::size_t n = gas_.count;
  std::vector<double> x(n), y(n), z(n);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] = gas_.position[i].x, y[i] = gas_.position[i].y, z[i] = gas_.position[i].z;
  }
  const double softening2 = scheme_.gravity.softening * scheme_.gravity.softening;
  for (std::size_t i = 0; i < n; ++i) {
    Vector pull;
    double potential = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double dx = x[j] - x[i];
      const double dy = y[j] - y[i];
      const double dz = z[j] - z[i];
      const double r2 = dx * dx + dy * dy + dz * dz + softening2;
      const double inverse = i == j ? 0 : 1 / std::sqrt(r2);
      const double strength = gas_.mass[j] * inverse;
      const double force = strength * inverse * inverse;
      pull.x += force * dx;
      pull.y += force * dy;
      pull.z += force * dz;
      potential -= strength;
    }
    gas_.gravity[i] = scheme_.gravity.constant * pull;
    gas_.potential[i] = scheme_.gravity.constant * potential;
  }
}

}  // namespace sph
