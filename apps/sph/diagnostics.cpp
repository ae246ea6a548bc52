// SPDX-License-Identifier: Apache-2.0
#include "sph/diagnostics.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <iterator>
#include <string_view>

#include "sph/exact/collapse.hpp"
#include "sph/exact/sedov.hpp"
#include "sph/exact/shear/shear_layer.hpp"
#include "support/hash.hpp"

namespace sph {

namespace {

using exact::State;

constexpr double gamma_gas = 5.0 / 3;
constexpr double plummer_scale = 3 * M_PI / 16;

// ---- exact solutions ----

/// The gas at a place along the problem's direction.
using Solution = std::function<State(double place)>;

const exact::Sedov& sedov_blast() {
  static const exact::Sedov blast{1, 1, gamma_gas};
  return blast;
}

Solution sod_at(double time) {
  const exact::Riemann flow{{1, 0, 1}, {0.125, 0, 0.1}, gamma_gas};
  return [=](double x) { return flow.at(x / time); };
}

Solution sedov_at(double time) {
  return [=](double r) { return sedov_blast().at(r, time); };
}

Solution vortex_at(double /*time*/) {
  return [](double r) { return State{1, gresho_at(r).speed, gresho_at(r).pressure}; };
}

Solution noh_at(double time) {
  // The gas comes in with a speed of 1 and no pressure; the shock goes out with a third of it.
  return [=](double r) { return r < time / 3 ? State{64, 0, 64.0 / 3} : State{std::pow(1 + time / r, 2), -1, 0}; };
}

Solution collapse_at(double time) {
  return [flow = exact::Collapse{time}](double r) { return flow.at(r); };
}

Solution plummer_at(double /*time*/) {
  return [](double r) {
    const double density = 3 / (4 * M_PI * std::pow(plummer_scale, 3));
    return State{density * std::pow(1 + std::pow(r / plummer_scale, 2), -2.5), 0, 0};
  };
}

// ---- errors ----

/// Spherical shells of equal thickness around a point.
struct Shells {
  static constexpr std::size_t count = 400;
  double radius_max;

  /// The number of the shell at `r`; `count` beyond the last.
  [[nodiscard]] std::size_t find(double r) const {
    return std::min(static_cast<std::size_t>(r / radius_max * count), count);
  }
  [[nodiscard]] double middle(std::size_t shell) const {
    return (static_cast<double>(shell) + 0.5) * radius_max / count;
  }
};

struct Ring {
  double radius;
  double density;
};
/// Mean radii and densities, outwards, over groups of shells with at least `particles_min` particles.
std::vector<Ring> profile_of(const Shells& shells, std::span<const double> sums, double particles_min) {
  std::vector<Ring> rings;
  double particles = 0;
  double density = 0;
  double radius = 0;
  for (std::size_t shell = 0; shell < Shells::count; ++shell) {
    particles += sums[2 * shell];
    density += sums[2 * shell + 1];
    radius += sums[2 * shell] * shells.middle(shell);
    if (particles >= particles_min) {
      rings.push_back({radius / particles, density / particles});
      particles = density = radius = 0;
    }
  }
  return rings;
}

/// The outermost radius at which the profile reaches `density`.
double outer_radius_of(const std::vector<Ring>& rings, double density) {
  for (std::size_t k = rings.size(); k-- > 1;) {
    const Ring& outer = rings[k];
    const Ring& inner = rings[k - 1];
    if (inner.density >= density && outer.density < density) {
      return outer.radius + (inner.radius - outer.radius) * (density - outer.density) / (inner.density - outer.density);
    }
  }
  return 0;
}

/// The waves from the tube's ends do not reach this part.
constexpr double sod_part = 0.5;

std::vector<double> sod_sums(const Problem& problem, const Gas& gas, double time) {
  const Solution solution = sod_at(time);
  std::vector<double> sums(4);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const double x = gas.position[i].x - problem.origin.x;
    if (std::abs(x) < sod_part) {
      const State exact = solution(x);
      const double volume = gas.mass[i] / static_cast<double>(gas.density[i]);
      sums[0] += volume * std::abs(static_cast<double>(gas.density[i]) - exact.density);
      sums[1] += volume * exact.density;
      sums[2] += volume * std::abs(gas.velocity_now[i].x - exact.speed);
      sums[3] += volume;
    }
  }
  return sums;
}

std::vector<double> gresho_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const Vector at = gas.position[i] - problem.origin;
    const double r = std::hypot(at.x, at.y);
    if (r < 0.5 && r > 0) {
      sums[0] += std::abs((at.x * gas.velocity_now[i].y - at.y * gas.velocity_now[i].x) / r - gresho_at(r).speed);
      sums[1] += 1;
    }
  }
  return sums;
}

std::vector<double> shear_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  exact::ShearMode mode;
  for (std::size_t i = 0; i < gas.count; ++i) {
    const Vector at = gas.position[i] - problem.origin;
    mode.add(at.x, at.y, gas.velocity_now[i].y, gas.mass[i] / static_cast<double>(gas.density[i]));
  }
  return {mode.sine, mode.cosine, mode.weight};
}

std::vector<double> square_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(3);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const State exact = square_at(gas.position[i] - problem.origin);
    const double density = gas.density[i];
    const double pressure = (problem.scheme.gamma - 1.0) * density * gas.energy_now[i];
    const double volume = gas.mass[i] / density;
    sums[0] += volume * std::abs(density - exact.density);
    sums[1] += volume * std::abs(pressure - exact.pressure) / exact.pressure;
    sums[2] += volume;
  }
  return sums;
}

/// The mass that still belongs to the cloud.
std::vector<double> blob_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  const double gamma = problem.scheme.gamma;
  const double energy_max = 0.9 / (gamma * (gamma - 1));
  double mass = 0;
  for (std::size_t i = 0; i < gas.count; ++i) {
    mass += gas.density[i] > blob.density_min() && gas.energy_now[i] < energy_max ? gas.mass[i] : 0;
  }
  return {mass};
}

/// The energies of motion and heat.
std::vector<double> collapse_sums(const Problem& /*problem*/, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    sums[0] += gas.mass[i] * dot(gas.velocity_now[i], gas.velocity_now[i]) / 2;
    sums[1] += gas.mass[i] * static_cast<double>(gas.energy_now[i]);
  }
  return sums;
}

/// The mean radius weighted by kinetic energy.
std::vector<double> sedov_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const double energy = gas.mass[i] * dot(gas.velocity_now[i], gas.velocity_now[i]);
    sums[0] += energy * length(gas.position[i] - problem.origin);
    sums[1] += energy;
  }
  return sums;
}

const Shells noh_shells{0.4};
const Shells plummer_shells{8};

/// For each shell: particles, and the sum of their densities.
std::vector<double> noh_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(2 * Shells::count);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const std::size_t shell = noh_shells.find(length(gas.position[i] - problem.origin));
    if (shell < Shells::count) {
      sums[2 * shell] += 1;
      sums[2 * shell + 1] += gas.density[i];
    }
  }
  return sums;
}

std::vector<double> plummer_sums(const Problem& problem, const Gas& gas, double /*time*/) {
  std::vector<double> sums(Shells::count + 1);
  for (std::size_t i = 0; i < gas.count; ++i) {
    sums[plummer_shells.find(length(gas.position[i] - problem.origin))] += gas.mass[i];
  }
  return sums;
}

std::vector<Finding> judge_plummer(std::span<const double> sums, double /*time*/) {
  std::vector<Finding> findings;
  for (const double part : {0.1, 0.5, 0.9}) {
    const double exact = plummer_scale / std::sqrt(std::pow(0.999 * part, -2.0 / 3) - 1);
    double within = 0;
    std::size_t shell = 0;
    while (shell < Shells::count && within + sums[shell] < part) {
      within += sums[shell++];
    }
    const double step = plummer_shells.radius_max / Shells::count;
    const double radius = step * (static_cast<double>(shell) + (part - within) / std::max(sums[shell], 1e-30));
    findings.push_back({"radius that holds " + std::to_string(static_cast<int>(100 * part)) + " % of the mass",
                        std::abs(radius - exact) / exact,
                        0.03});
  }
  return findings;
}

/// From the first star to the second, at a time after they were farthest apart (Kepler's equation).
Vector two_bodies_apart(double time) {
  const double e = 0.5;
  const double mean = time + M_PI;
  double angle = mean;
  for (int i = 0; i < 50; ++i) {
    angle -= (angle - e * std::sin(angle) - mean) / (1 - e * std::cos(angle));
  }
  return {std::cos(angle) - e, std::sqrt(1 - e * e) * std::sin(angle), 0};
}

std::vector<double> body_sums(const Problem& /*problem*/, const Gas& gas, double /*time*/) {
  std::vector<double> sums(6);
  for (std::size_t i = 0; i < gas.count; ++i) {
    const std::size_t body = gas.id[i] == 1 ? 0 : 3;
    sums[body] += gas.position[i].x;
    sums[body + 1] += gas.position[i].y;
    sums[body + 2] += gas.position[i].z;
  }
  return sums;
}

std::vector<double> ring_sums(const Problem& problem, const Gas& gas, double time) {
  double bodies = -1;  // without the one in the centre
  problem.visit([&](const Sample&) { bodies += 1; });
  std::vector<double> sums(2);
  for (std::size_t i = 0; i < gas.count; ++i) {
    if (gas.id[i] > 1) {
      const double phi = 2 * M_PI * static_cast<double>(gas.id[i] - 2) / bodies + time;
      sums[0] += length(gas.position[i] - problem.origin - Vector{std::cos(phi), std::sin(phi), 0});
      sums[1] += 1;
    }
  }
  return sums;
}

std::vector<Finding> judge_sedov(std::span<const double> sums, double time) {
  const double radius = sedov_blast().shock_radius(time);
  // Smoothing flattens the thin shell of dense gas, but hardly moves its kinetic energy.
  const double measured = sums[0] / std::max(sums[1], 1e-30) / sedov_blast().kinetic_radius();
  return {{"radius of the shock", std::abs(measured - radius) / radius, 0.02}};
}

std::vector<Finding> judge_noh(std::span<const double> sums, double time) {
  const double radius = time / 3;
  const std::vector<Ring> rings = profile_of(noh_shells, sums, 20);
  double density = 0;
  double count = 0;
  for (const Ring& ring : rings) {
    if (ring.radius > 0.4 * radius && ring.radius < 0.8 * radius) {
      density += ring.density;
      count += 1;
    }
  }
  density /= std::max(count, 1.0);
  const double ahead = noh_at(time)(radius).density;
  const double measured = outer_radius_of(rings, (64 + ahead) / 2);
  return {{"density behind the shock", std::abs(density - 64) / 64, 0.1},
          {"radius of the shock", std::abs(measured - radius) / radius, 0.05}};
}

std::vector<Finding> judge_sod(std::span<const double> sums, double /*time*/) {
  return {{"L1 error of the density", sums[0] / sums[1], 0.03}, {"L1 error of the speed", sums[2] / sums[3], 0.05}};
}

std::vector<Finding> judge_gresho(std::span<const double> sums, double /*time*/) {
  return {{"L1 error of the speed around the axis", sums[0] / sums[1], 0.1}};
}

std::vector<Finding> judge_shear(std::span<const double> sums, double time) {
  const double exact = exact::shear_amplitude_at(time);
  const double amplitude = exact::ShearMode{.sine = sums[0], .cosine = sums[1], .weight = sums[2]}.amplitude();
  return {{"amplitude of the wave", std::abs(amplitude - exact) / exact, 0.1}};
}

std::vector<Finding> judge_square(std::span<const double> sums, double /*time*/) {
  return {{"L1 error of the density", sums[0] / sums[2], 0.3}, {"L1 error of the pressure", sums[1] / sums[2], 0.03}};
}

std::vector<Finding> judge_blob(std::span<const double> sums, double /*time*/) {
  return {{"share of the cloud that is left", sums[0] / blob.mass(), 0.3}};
}

std::vector<Finding> judge_collapse(std::span<const double> sums, double time) {
  const exact::Collapse flow{time};
  const double scale = std::abs(flow.potential());
  return {{"energy of motion, by the potential's", std::abs(sums[0] - flow.kinetic()) / scale, 0.03},
          {"thermal energy, by the potential's", std::abs(sums[1] - flow.thermal()) / scale, 0.03}};
}

std::vector<Finding> judge_ring(std::span<const double> sums, double /*time*/) {
  return {{"distance from where each body should be", sums[0] / sums[1], 1e-3}};
}

std::vector<Finding> judge_two_bodies(std::span<const double> sums, double time) {
  const Vector apart{sums[3] - sums[0], sums[4] - sums[1], sums[5] - sums[2]};
  return {{"distance from where the bodies should be", length(apart - two_bodies_apart(time)), 1e-3}};
}

// ---- profiles ----

/// A particle's coordinate along the problem's direction, and that direction.
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

/// The profile of a problem: its coordinate, range and exact solution.
struct Axis {
  Along (*find)(const Vector& at);
  double low, high;
  Solution (*exact)(double time) = nullptr;
  bool is_gas = true;
};
constexpr std::size_t bins = 120;

/// The measurements of a kind of problem; none without a profile or a known answer.
struct Measures {
  std::string_view problem;
  std::optional<Axis> axis;
  std::vector<double> (*sum)(const Problem& problem, const Gas& gas, double time) = nullptr;
  std::vector<Finding> (*judge)(std::span<const double> sums, double time) = nullptr;
};
constexpr Measures measures[] = {
    {"sod", Axis{along_tube, -0.5, 0.5, sod_at}, sod_sums, judge_sod},
    {"sedov", Axis{outwards, 0, 0.5, sedov_at}, sedov_sums, judge_sedov},
    {"gresho", Axis{around_axis, 0, 0.5, vortex_at}, gresho_sums, judge_gresho},
    {"noh", Axis{outwards, 0, 0.5, noh_at}, noh_sums, judge_noh},
    {"kelvin-helmholtz", {}, shear_sums, judge_shear},
    {"square", {}, square_sums, judge_square},
    {"blob", {}, blob_sums, judge_blob},
    {"evrard", Axis{outwards, 0, 1, collapse_at}, collapse_sums, judge_collapse},
    {"plummer", Axis{outwards, 0, 3, plummer_at, false}, plummer_sums, judge_plummer},
    {"kepler-ring", {}, ring_sums, judge_ring},
    {"two-bodies", {}, body_sums, judge_two_bodies},
};

const Measures& measures_of(const Problem& problem) {
  static constexpr Measures none{};
  const auto* const found = std::ranges::find(measures, problem.name, &Measures::problem);
  return found == std::end(measures) ? none : *found;
}

/// Sums over the particles of a bin.
struct Bin {
  double particles, place, mass, density, density2, speed, pressure;
};
using BinSums = std::array<double, sizeof(Bin) / sizeof(double)>;
constexpr std::size_t columns = std::tuple_size_v<BinSums>;

}  // namespace

Totals totals_of(const Particles& store, const GasFields& fields) {
  Totals totals{.kept = plait::particles::conserved(
                    store, {.mass = fields.mass, .velocity = fields.velocity_now, .potential = fields.potential})};
  const auto mass = store[fields.mass];
  const auto velocity = store[fields.velocity_now];
  const auto energy = store[fields.energy_now];
  const auto kind = store[Particles::kind];
  for (std::size_t i = 0; i < store.size(); ++i) {
    totals.thermal += kind[i] == gas_kind ? mass[i] * static_cast<double>(energy[i]) : 0;
    totals.speed_sum += mass[i] * length(velocity[i]);
  }
  return totals;
}

std::uint64_t checksum_of(const Particles& store, const GasFields& fields) {
  const auto id = store[Particles::id];
  const auto position = store.positions();
  const auto velocity = store[fields.velocity_now];
  const auto energy = store[fields.energy_now];
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < store.size(); ++i) {
    std::uint64_t hash = app::mixed(id[i]);
    for (const auto& vector : {position[i], velocity[i]}) {
      for (const double value : {vector.x, vector.y, vector.z}) {
        hash = app::mixed(hash ^ std::bit_cast<std::uint64_t>(value + 0.0));  // -0 is 0
      }
    }
    sum += app::mixed(hash ^ std::bit_cast<std::uint64_t>(static_cast<double>(energy[i]) + 0.0));
  }
  return sum;
}

std::vector<double> answer_sums(const Problem& problem, const Gas& gas, double time) {
  const Measures& known = measures_of(problem);
  return known.sum == nullptr ? std::vector<double>{} : known.sum(problem, gas, time);
}

std::vector<Finding> judge(const Problem& problem, std::span<const double> sums, double time) {
  const Measures& known = measures_of(problem);
  return known.judge == nullptr ? std::vector<Finding>{} : known.judge(sums, time);
}

std::vector<Finding> judge_totals(const Problem& problem, const Totals& begin, const Totals& now) {
  // Cold gas that falls has almost no total energy to compare with: its kinetic energy is used.
  const double energy = std::max(std::abs(begin.energy()), begin.kept.kinetic);
  const double limit = problem.name == "evrard" ? 0.02 : 0.01;
  // With individual steps and with trees, forces between two particles are not exactly opposite.
  const double momentum = length(now.kept.momentum - begin.kept.momentum) / std::max(now.speed_sum, 1e-30);
  return {{"energy", std::abs(now.energy() - begin.energy()) / std::max(energy, 1e-30), limit},
          {"momentum", momentum, 1e-2}};
}

std::vector<double> profile_sums(const Problem& problem, const Gas& gas) {
  const std::optional<Axis>& axis = measures_of(problem).axis;
  if (!axis) {
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
    const auto row = std::bit_cast<BinSums>(mine);
    for (std::size_t column = 0; column < columns; ++column) {
      sums[first + column] += row[column];
    }
  }
  return sums;
}

std::vector<ProfileRow> make_profile(const Problem& problem, std::span<const double> sums, double time) {
  std::vector<ProfileRow> rows;
  const std::optional<Axis>& axis = measures_of(problem).axis;
  const Solution exact = axis && axis->exact != nullptr ? axis->exact(time) : Solution{};
  const double width = axis ? (axis->high - axis->low) / bins : 0;
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
