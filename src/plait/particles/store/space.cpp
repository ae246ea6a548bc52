// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/space.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {
namespace {

struct Folded {
  double place = 0;
  double periods = 0;  ///< By which it has moved down.
};

Folded folded(double place, double low, double high) {
  if ((place >= low && place < high) || !std::isfinite(place)) {
    return {place};
  }
  const double periods = std::floor((place - low) / (high - low));
  const double moved = place - (high - low) * periods;
  if (moved >= high) {  // by rounding
    return {low, periods + 1};
  }
  return {std::max(moved, low), periods};
}

struct Wrapped {
  Vector position;
  double periods_x = 0;
};

Wrapped wrapped(const Space& space, const Slide& slide, Vector position) {
  double periods_x = 0;
  if (space.periodic[0]) {
    const Folded x = folded(position.x, space.root.low.x, space.root.high.x);
    position.x = x.place;
    position.y += x.periods * slide.displacement;
    periods_x = x.periods;
  }
  if (space.periodic[1]) {
    position.y = folded(position.y, space.root.low.y, space.root.high.y).place;
  }
  if (space.periodic[2]) {
    position.z = folded(position.z, space.root.low.z, space.root.high.z).place;
  }
  return {position, periods_x};
}

}  // namespace

void Space::check() const {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (periodic[axis] && !(root.high[axis] > root.low[axis] && std::isfinite(root.high[axis] - root.low[axis]))) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format(
              "the space is periodic along {} from {} to {}: the root box needs a positive, finite length there",
              "xyz"[axis],
              root.low[axis],
              root.high[axis])};
    }
  }
  if (coordinates == Coordinates::cylindrical && (periodic[0] || periodic[1])) {
    throw Error{ErrorCode::bad_argument,
                "a space with cylindrical coordinates cannot be periodic along x or y, only along z"};
  }
  if (!std::isfinite(shear.rate) || !std::isfinite(shear.time) || !std::isfinite(shear.rate * shear.time)) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("the space has a shear of rate {} at time {}: give finite numbers", shear.rate, shear.time)};
  }
  if (has_shear() && !(periodic[0] && periodic[1])) {
    throw Error{ErrorCode::bad_argument,
                "a space with a shear has images along x that move along y: make both axes periodic"};
  }
}

void Space::check_reach(std::string_view what, double distance) const {
  const Vector lengths = period();
  for (const double edge : {lengths.x, lengths.y, lengths.z}) {
    if (has_shear() && edge > 0 && distance > edge / 2) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("the {} {} is more than half of the shearing box, {} along an axis, where one image of each "
                      "source acts: give a larger box, or a smaller {}",
                      what,
                      distance,
                      edge,
                      what)};
    }
  }
}

Lattice Space::lattice() const {
  const Vector lengths = period();
  if (!has_shear()) {
    return {lengths};
  }
  const double speed = shear.rate * lengths.x;
  const double displacement = std::fmod(speed * shear.time, lengths.y);
  const double positive = displacement < 0 ? displacement + lengths.y : displacement;
  return {lengths, {.displacement = positive < lengths.y ? positive : 0, .speed = speed}};
}

Vector Space::nearest_in_shear(const Vector& difference) const {
  const Lattice images = lattice();
  const Vector first = images.in_box(difference).offset;
  Vector shortest = first;
  // Of boxes in another row, one may be nearer.
  for (const double row : {-1.0, 1.0}) {
    Vector other = first + row * Vector{images.period.x, -images.slide.displacement, 0};
    other.y -= images.period.y * std::nearbyint(other.y / images.period.y);
    shortest = dot(other, other) < dot(shortest, shortest) ? other : shortest;
  }
  return shortest;
}

Vector Space::wrap(const Vector& position) const {
  return wrapped(*this, has_shear() ? lattice().slide : Slide{}, position).position;
}

void Space::wrap(Particles& store, std::size_t first, std::size_t last) const {
  const Slide slide = lattice().slide;
  const std::span<Vector> positions = store.positions();
  for (std::size_t i = first; i < last; ++i) {
    const Wrapped now = wrapped(*this, slide, positions[i]);
    positions[i] = now.position;
    if (now.periods_x != 0 && shear.velocity) {
      store[*shear.velocity][i].y += now.periods_x * slide.speed;
    }
  }
}

Vector Space::place(const Vector& position) const {
  if (coordinates == Coordinates::cartesian) {
    return position;
  }
  // On the axis: a finite logarithm, in the innermost domain.
  const double r2 = position.x * position.x + position.y * position.y;
  return {
      std::atan2(position.y, position.x), 0.5 * std::log(std::max(r2, std::numeric_limits<double>::min())), position.z};
}

}  // namespace plait::particles
