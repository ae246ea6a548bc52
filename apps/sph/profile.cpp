// SPDX-License-Identifier: Apache-2.0
#include "sph/profile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string_view>

#include "sph/exact/sedov.hpp"

namespace sph {

namespace {

using exact::State;

constexpr double gamma_gas = 5.0 / 3;

/// Where along the problem's direction a particle is, and which way that is.
struct Along {
  double place;
  Vector direction;
};
Along along_tube(const Vector& at) {
  return {at.x, {1, 0, 0}};
}
Along around_axis(const Vector& at) {
  const double r = std::hypot(at.x, at.y);
  return {r, 1 / std::max(r, 1e-30) * Vector{-at.y, at.x, 0}};
}
Along outwards(const Vector& at) {
  const double r = length(at);
  return {r, 1 / std::max(r, 1e-30) * at};
}

State noh_at(double r, double time) {
  // The gas comes in with a speed of 1 and no pressure; the shock goes out with a third of it.
  return r < time / 3 ? State{64, 0, 64.0 / 3} : State{std::pow(1 + time / r, 2), -1, 0};
}

State plummer_at(double r) {
  const double scale = 3 * M_PI / 16;
  return {3 / (4 * M_PI * scale * scale * scale) * std::pow(1 + r * r / (scale * scale), -2.5), 0, 0};
}

/// The places of a kind of problem.
struct Axis {
  std::string_view problem;
  Along (*find)(const Vector& at);
  double low, high;
  bool is_gas = true;
};
constexpr Axis axes[] = {
    {"sod", along_tube, -0.5, 0.5},
    {"sedov", outwards, 0, 0.5},
    {"gresho", around_axis, 0, 0.5},
    {"noh", outwards, 0, 0.5},
    {"evrard", outwards, 0, 1},
    {"plummer", outwards, 0, 3, false},
};
constexpr std::size_t bins = 120;

const Axis* axis_of(const Problem& problem) {
  const auto* const found = std::ranges::find(axes, problem.name, &Axis::problem);
  return found == std::end(axes) ? nullptr : found;
}

std::function<State(double)> exact_of(const Problem& problem, double time) {
  if (problem.name == "sod") {
    return [time, flow = exact::Riemann{{1, 0, 1}, {0.125, 0, 0.1}, gamma_gas}](double x) { return flow.at(x / time); };
  }
  if (problem.name == "sedov") {
    return [time, blast = exact::Sedov{1, 1, gamma_gas}](double r) { return blast.at(r, time); };
  }
  if (problem.name == "gresho") {
    return [](double r) { return State{1, gresho_at(r).speed, gresho_at(r).pressure}; };
  }
  if (problem.name == "noh") {
    return [time](double r) { return noh_at(r, time); };
  }
  return problem.name == "plummer" ? plummer_at : std::function<State(double)>{};
}

/// What is added up for each bin.
struct Bin {
  double particles, place, mass, density, density2, speed, pressure;
};
constexpr std::size_t columns = sizeof(Bin) / sizeof(double);

}  // namespace

std::vector<double> profile_sums(const Problem& problem, const Gas& gas) {
  const Axis* const axis = axis_of(problem);
  if (axis == nullptr) {
    return {};
  }
  std::vector<double> sums(bins * columns);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const Along along = axis->find(gas.position[i] - problem.origin);
    if (along.place < axis->low || along.place >= axis->high) {
      continue;
    }
    const double part = (along.place - axis->low) / (axis->high - axis->low);
    const std::size_t first = std::min(static_cast<std::size_t>(part * bins), bins - 1) * columns;
    const double density = gas.density[i];
    const Bin mine{1,
                   along.place,
                   gas.mass[i],
                   density,
                   density * density,
                   dot(along.direction, gas.velocity_now[i]),
                   axis->is_gas ? (problem.scheme.gamma - 1.0) * density * gas.energy_now[i] : 0.0};
    const std::array<double, columns> row{
        mine.particles, mine.place, mine.mass, mine.density, mine.density2, mine.speed, mine.pressure};
    for (std::size_t column = 0; column < columns; ++column) {
      sums[first + column] += row[column];
    }
  }
  return sums;
}

std::vector<ProfileRow> make_profile(const Problem& problem, std::span<const double> sums, double time) {
  std::vector<ProfileRow> rows;
  const Axis* const axis = axis_of(problem);
  const std::function<State(double)> exact = exact_of(problem, time);
  const double width = axis == nullptr ? 0 : (axis->high - axis->low) / bins;
  for (std::size_t bin = 0; (bin + 1) * columns <= sums.size(); ++bin) {
    const auto of = sums.subspan(bin * columns, columns);
    const Bin sum{of[0], of[1], of[2], of[3], of[4], of[5], of[6]};
    if (sum.particles == 0) {
      continue;
    }
    const double count = sum.particles;
    ProfileRow& row = rows.emplace_back();
    row.place = sum.place / count;
    row.particles = count;
    row.mean = {sum.density / count, sum.speed / count, sum.pressure / count};
    row.density_scatter = std::sqrt(std::max(0.0, sum.density2 / count - row.mean.density * row.mean.density));
    if (!axis->is_gas) {  // stars have no density of their own
      const double low = width * static_cast<double>(bin);
      const double volume = 4 * M_PI / 3 * (std::pow(low + width, 3) - std::pow(low, 3));
      row.mean.density = sum.mass / volume;
      row.density_scatter = row.mean.density / std::sqrt(count);
    }
    if (exact) {
      row.exact = exact(row.place);
    }
  }
  return rows;
}

}  // namespace sph
