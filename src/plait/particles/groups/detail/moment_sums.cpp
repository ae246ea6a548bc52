// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/detail/moment_sums.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles::detail {

namespace {

/// Adds `weight` times the symmetric part of 2 a b^T.
void add_product(SymmetricTensor& to, double weight, const Vector& a, const Vector& b) {
  to.xx += weight * 2 * a.x * b.x;
  to.yy += weight * 2 * a.y * b.y;
  to.zz += weight * 2 * a.z * b.z;
  to.yz += weight * (a.y * b.z + a.z * b.y);
  to.xz += weight * (a.x * b.z + a.z * b.x);
  to.xy += weight * (a.x * b.y + a.y * b.x);
}

void add(SymmetricTensor& to, const SymmetricTensor& other) {
  to.xx += other.xx;
  to.yy += other.yy;
  to.zz += other.zz;
  to.yz += other.yz;
  to.xz += other.xz;
  to.xy += other.xy;
}

/// The mean about the mean `offset`, from the sum about a reference. Never negative on the diagonal.
SymmetricTensor central(SymmetricTensor sum, double mass, const Vector& offset) {
  add_product(sum, -mass / 2, offset, offset);
  for (double* const square : {&sum.xx, &sum.yy, &sum.zz}) {
    *square = std::max(*square / mass, 0.0);
  }
  for (double* const product : {&sum.yz, &sum.xz, &sum.xy}) {
    *product /= mass;
  }
  return sum;
}

}  // namespace

void MomentSums::add(const Space& space, const MomentSums& other) {
  if (other.members == 0) {
    return;
  }
  if (members == 0) {
    *this = other;
    return;
  }
  const Vector shift = space.nearest(other.place - place);
  const Vector faster = other.velocity - velocity;
  members += other.members;
  mass += other.mass;
  detail::add(second, other.second);
  add_product(second, 1, shift, other.first);
  add_product(second, other.mass / 2, shift, shift);
  detail::add(kinetic, other.kinetic);
  add_product(kinetic, 1, faster, other.momentum);
  add_product(kinetic, other.mass / 2, faster, faster);
  angular += other.angular + cross(other.first, faster) + cross(shift, other.momentum + other.mass * faster);
  first += other.first + other.mass * shift;
  momentum += other.momentum + other.mass * faster;
}

SelectionMoments MomentSums::moments(const Space& space) const {
  if (members == 0 || !(mass > 0)) {
    return {.members = members};
  }
  const Vector offset = (1 / mass) * first;
  const Vector drift = (1 / mass) * momentum;
  return {.members = members,
          .mass = mass,
          .centre = space.wrap(place + offset),
          .velocity = velocity + drift,
          .angular_momentum = angular - mass * cross(offset, drift),
          .extent = central(second, mass, offset),
          .dispersion = central(kinetic, mass, drift)};
}

std::size_t collector_of(std::uint64_t id, std::size_t ranks) {
  return static_cast<std::size_t>((id * 0x9E3779B97F4A7C15ULL >> 32U) % ranks);
}

void check_labels(comm::Endpoint& messages, const Particles& particles, std::span<const std::uint64_t> labels) {
  if (labels.size() != particles.size()) {
    const Error error{ErrorCode::bad_argument,
                      fmt::format("{} labels for {} particles: give one for each, `no_label` for those in no selection",
                                  labels.size(),
                                  particles.size())};
    messages.stop_all(error);  // the others wait for this one
    throw error;
  }
}

std::vector<std::vector<MomentSums>> rows_for_collectors(const SumsByLabel& sums, std::size_t ranks) {
  std::vector<std::vector<MomentSums>> to(ranks);
  for (const auto& [id, sum] : sums) {
    to[collector_of(id, ranks)].push_back(sum);
  }
  for (std::vector<MomentSums>& rows : to) {  // not in the order of a hash table
    std::ranges::sort(rows, {}, &MomentSums::id);
  }
  return to;
}

SumsByLabel collected(const std::vector<std::vector<MomentSums>>& rows, const Space& space) {
  SumsByLabel sums;
  for (const std::vector<MomentSums>& of_rank : rows) {
    for (const MomentSums& row : of_rank) {
      sums[row.id].add(space, row);
    }
  }
  return sums;
}

std::vector<LabelledMoments> moments_of(const SumsByLabel& sums, const Space& space, std::uint64_t members_min) {
  std::vector<LabelledMoments> all;
  for (const auto& [id, sum] : sums) {
    if (sum.members >= members_min) {
      all.push_back({sum.moments(space), id});
    }
  }
  std::ranges::sort(all, [](const LabelledMoments& one, const LabelledMoments& other) {
    return std::pair{-one.mass, one.id} < std::pair{-other.mass, other.id};
  });
  return all;
}

}  // namespace plait::particles::detail
