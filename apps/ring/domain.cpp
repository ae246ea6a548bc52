// SPDX-License-Identifier: Apache-2.0
#include "ring/domain.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace ring {
namespace {

using plait::Error;
using plait::ErrorCode;
using Samples = std::span<Sample>;

/// A number in [0, 1) that looks random in `k`: multiples of the golden section, scrambled.
double fraction(std::uint32_t k) {
  std::uint64_t z = (k + 1) * std::uint64_t{0x9e3779b97f4a7c15};
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

/// Sorts `samples` along `axis` and cuts them into parts of equal weight: writes the inner bounds, calls
/// `visit(part, samples of it)`.
template <class Visit>
void cut(Samples samples, int axis, std::span<double> bounds, Visit visit) {
  std::ranges::sort(samples, {}, [axis](const Sample& sample) { return sample.place[axis]; });
  double total = 0;
  for (const Sample& sample : samples) {
    total += sample.weight;
  }
  const std::size_t parts = bounds.size() + 1;
  std::size_t begin = 0;
  std::size_t end = 0;
  double weight = 0;
  for (std::size_t part = 0; part < parts; ++part) {
    const double goal = total * static_cast<double>(part + 1) / static_cast<double>(parts);
    while (end < samples.size() && (part + 1 == parts || weight + samples[end].weight / 2 < goal)) {
      weight += samples[end].weight;
      ++end;
    }
    if (part + 1 < parts) {
      const std::size_t after = std::min(end, samples.size() - 1);
      const std::size_t before = end > 0 ? std::min(end, samples.size()) - 1 : 0;
      bounds[part] = std::midpoint(samples[before].place[axis], samples[after].place[axis]);
    }
    visit(part, samples.subspan(begin, end - begin));
    begin = end;
  }
}

std::uint32_t part_of(std::span<const double> bounds, double place) {
  return static_cast<std::uint32_t>(std::ranges::upper_bound(bounds, place) - bounds.begin());
}

/// One step from `from` towards `to`, both below `n`, the short way round.
std::uint32_t periodic_step(std::uint32_t from, std::uint32_t to, std::uint32_t n) {
  const std::uint32_t ahead = (to + n - from) % n;
  if (ahead == 0) {
    return from;
  }
  return ahead <= n / 2 ? (from + 1) % n : (from + n - 1) % n;
}

std::uint32_t step(std::uint32_t from, std::uint32_t to) {
  return from < to ? from + 1 : from > to ? from - 1 : from;
}

/// `i` and its neighbours below `n`, which are one axis' ends or, when periodic, each other's neighbours.
std::vector<std::uint32_t> around(std::uint32_t i, std::uint32_t n, bool periodic) {
  std::vector<std::uint32_t> result{i};
  if (i > 0 || periodic) {
    result.push_back((i + n - 1) % n);
  }
  if (i + 1 < n || periodic) {
    result.push_back((i + 1) % n);
  }
  return result;
}

}  // namespace

DomainGrid make_grid(std::uint32_t ranks, std::uint32_t radial, std::uint32_t vertical) {
  const std::uint64_t sector = std::uint64_t{radial} * vertical;
  if (ranks == 0 || sector == 0 || ranks % sector != 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} ranks cannot be sectors of {} parts in radius times {} in height; choose divisors",
                            ranks,
                            radial,
                            vertical)};
  }
  return {static_cast<std::uint32_t>(ranks / sector), radial, vertical};
}

std::array<double, 3> place_of(const Vector& position) {
  const double r2 = position.x * position.x + position.y * position.y;
  return {
      std::atan2(position.y, position.x), 0.5 * std::log(std::max(r2, std::numeric_limits<double>::min())), position.z};
}

std::vector<Sample> choose_samples(std::span<const Body> bodies, std::uint32_t count) {
  double total = 0;
  std::size_t measured = 0;
  for (const Body& body : bodies) {
    total += body.cost;
    measured += body.cost > 0 ? 1 : 0;
  }
  const double otherwise = measured > 0 ? total / static_cast<double>(measured) : 1;
  total += otherwise * static_cast<double>(bodies.size() - measured);
  std::vector<Sample> samples;
  // One sample somewhere in each share: evenly spaced ones would fall in step with the rows of a regular ring.
  const double share = total / count;
  std::uint32_t k = 0;
  double next = share * fraction(k);
  double sum = 0;
  for (const Body& body : bodies) {
    sum += body.cost > 0 ? body.cost : otherwise;
    double weight = 0;
    while (k < count && sum >= next) {
      weight += share;
      ++k;
      next = share * (k + fraction(k));
    }
    if (weight > 0) {
      samples.push_back({place_of(body.position), weight});
    }
  }
  return samples;
}

Domains::Domains(const DomainGrid& grid) : grid_{grid} {
  plait::expect(grid.ranks() > 0, "there is at least one rank");
  bounds_.assign(vertical_begin(grid.phi, 0), std::numeric_limits<double>::max());
  for (std::uint32_t i = 0; i + 1 < grid.phi; ++i) {
    bounds_[i] = std::numbers::pi * (2.0 * (i + 1) / grid.phi - 1);
  }
}

Domains::Domains(const DomainGrid& grid, std::vector<Sample> samples) : Domains{grid} {
  if (samples.empty()) {
    return;
  }
  const std::span<double> bounds = bounds_;
  cut(samples, 0, bounds.first(grid_.phi - 1), [&](std::size_t i, Samples sector) {
    const auto phi = static_cast<std::uint32_t>(i);
    if (sector.empty()) {
      return;
    }
    cut(sector, 1, bounds.subspan(radial_begin(phi), grid_.r - 1), [&](std::size_t j, Samples part) {
      if (!part.empty()) {
        const std::size_t begin = vertical_begin(phi, static_cast<std::uint32_t>(j));
        cut(part, 2, bounds.subspan(begin, grid_.z - 1), [](std::size_t, Samples) {});
      }
    });
  });
}

Domains::Domains(const DomainGrid& grid, std::span<const double> bounds) : Domains{grid} {
  const auto ascends = [](std::span<const double> part) { return std::ranges::is_sorted(part); };
  bool good = bounds.size() == bounds_.size() &&
              std::ranges::none_of(bounds, [](double bound) { return std::isnan(bound); }) &&
              ascends(bounds.first(grid.phi - 1));
  for (std::uint32_t phi = 0; good && phi < grid.phi; ++phi) {
    good = ascends(bounds.subspan(radial_begin(phi), grid.r - 1));
    for (std::uint32_t r = 0; good && r < grid.r; ++r) {
      good = ascends(bounds.subspan(vertical_begin(phi, r), grid.z - 1));
    }
  }
  if (!good) {
    throw Error{
        ErrorCode::bad_input,
        fmt::format("{} bounds do not describe domains of {} x {} x {} ranks, which takes {} in ascending order",
                    bounds.size(),
                    grid.phi,
                    grid.r,
                    grid.z,
                    bounds_.size())};
  }
  bounds_.assign(bounds.begin(), bounds.end());
}

void Domains::blend(const Domains& old, double share) {
  plait::expect(old.grid_ == grid_, "only bounds of the same grid have a mean");
  plait::expect(share >= 0 && share < 1, "some of the new must remain");
  for (std::size_t i = 0; i < bounds_.size(); ++i) {
    if (old.bounds_[i] < std::numeric_limits<double>::max() && bounds_[i] < std::numeric_limits<double>::max()) {
      bounds_[i] = share * old.bounds_[i] + (1 - share) * bounds_[i];
    }
  }
}

std::size_t Domains::radial_begin(std::uint32_t phi) const {
  return grid_.phi - 1 + std::size_t{phi} * (grid_.r - 1);
}

std::size_t Domains::vertical_begin(std::uint32_t phi, std::uint32_t r) const {
  return radial_begin(grid_.phi) + (std::size_t{phi} * grid_.r + r) * (grid_.z - 1);
}

std::uint32_t Domains::rank_of(const Vector& position) const {
  const std::array<double, 3> place = place_of(position);
  const std::span<const double> bounds = bounds_;
  const std::uint32_t phi = part_of(bounds.first(grid_.phi - 1), place[0]);
  const std::uint32_t r = part_of(bounds.subspan(radial_begin(phi), grid_.r - 1), place[1]);
  const std::uint32_t z = part_of(bounds.subspan(vertical_begin(phi, r), grid_.z - 1), place[2]);
  return (phi * grid_.r + r) * grid_.z + z;
}

std::vector<std::uint32_t> Domains::neighbors(std::uint32_t rank) const {
  std::vector<std::uint32_t> result;
  const std::uint32_t sector = rank / grid_.z;
  for (const std::uint32_t phi : around(sector / grid_.r, grid_.phi, true)) {
    for (const std::uint32_t r : around(sector % grid_.r, grid_.r, false)) {
      for (const std::uint32_t z : around(rank % grid_.z, grid_.z, false)) {
        result.push_back((phi * grid_.r + r) * grid_.z + z);
      }
    }
  }
  std::ranges::sort(result);
  const auto doubles = std::ranges::unique(result);
  result.erase(doubles.begin(), doubles.end());
  std::erase(result, rank);
  return result;
}

std::uint32_t Domains::next_hop(std::uint32_t from, std::uint32_t goal) const {
  plait::expect(from < grid_.ranks() && goal < grid_.ranks(), "both are ranks of the grid");
  const std::uint32_t from_sector = from / grid_.z;
  const std::uint32_t goal_sector = goal / grid_.z;
  const std::uint32_t phi = periodic_step(from_sector / grid_.r, goal_sector / grid_.r, grid_.phi);
  const std::uint32_t r = step(from_sector % grid_.r, goal_sector % grid_.r);
  const std::uint32_t z = step(from % grid_.z, goal % grid_.z);
  return (phi * grid_.r + r) * grid_.z + z;
}

}  // namespace ring
