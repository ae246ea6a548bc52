// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/groups/moments.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "plait/comm/collectives/all_gather.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/groups/detail/moment_sums.hpp"
#include "plait/particles/groups/detail/rows_for_ranks.hpp"

namespace plait::particles {

namespace {

using detail::MomentSums;
using Matrix = std::array<std::array<double, 3>, 3>;

/// Rotates by the angle that makes the element (p, q) of `a` zero, and so the columns of `vectors`.
void rotate(Matrix& a, Matrix& vectors, std::size_t p, std::size_t q) {
  if (a[p][q] == 0) {
    return;
  }
  const double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
  const double t = std::copysign(1 / (std::abs(theta) + std::sqrt(theta * theta + 1)), theta);
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  const auto turn = [c, s](double& x, double& y) { std::tie(x, y) = std::pair{c * x - s * y, s * x + c * y}; };
  for (std::size_t k = 0; k < 3; ++k) {
    turn(a[k][p], a[k][q]);
  }
  for (std::size_t k = 0; k < 3; ++k) {
    turn(a[p][k], a[q][k]);
    turn(vectors[k][p], vectors[k][q]);
  }
}

MomentSums sums_at(const Particles& particles,
                   const MomentsOptions& options,
                   Particles::Index place,
                   std::uint64_t id) {
  return detail::sums_of(id,
                         particles[options.mass][place],
                         particles.positions()[place],
                         options.velocity ? particles[*options.velocity][place] : Vector{});
}

}  // namespace

PrincipalAxes principal_axes(const SymmetricTensor& tensor) {
  constexpr int sweeps = 12;  // each squares the error; a few suffice
  Matrix a{{{tensor.xx, tensor.xy, tensor.xz}, {tensor.xy, tensor.yy, tensor.yz}, {tensor.xz, tensor.yz, tensor.zz}}};
  Matrix vectors{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    rotate(a, vectors, 0, 1);
    rotate(a, vectors, 0, 2);
    rotate(a, vectors, 1, 2);
  }
  std::array<std::size_t, 3> order{0, 1, 2};
  std::ranges::sort(order, [&](std::size_t i, std::size_t j) { return a[i][i] > a[j][j]; });
  PrincipalAxes axes;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t k = order[i];
    axes.values[i] = a[k][k];
    axes.directions[i] = {vectors[0][k], vectors[1][k], vectors[2][k]};
  }
  return axes;
}

double SelectionMoments::radius() const {
  return std::sqrt(extent.trace());
}

double SelectionMoments::speed() const {
  return std::sqrt(dispersion.trace());
}

SymmetricTensor SelectionMoments::inertia() const {
  return {.xx = mass * (extent.yy + extent.zz),
          .yy = mass * (extent.xx + extent.zz),
          .zz = mass * (extent.xx + extent.yy),
          .yz = -mass * extent.yz,
          .xz = -mass * extent.xz,
          .xy = -mass * extent.xy};
}

SelectionMoments measure_moments(comm::Endpoint& messages,
                                 const Particles& particles,
                                 const MomentsOptions& options,
                                 const Selection& selects) {
  MomentSums mine;
  for (Particles::Index i = 0; i < particles.size(); ++i) {
    if (selects(particles, i)) {
      mine.add(options.space, sums_at(particles, options, i, 0));
    }
  }
  std::vector<MomentSums> all(messages.rank_count());
  comm::all_gather(comm::Group{messages}, std::span<const MomentSums>{&mine, 1}, std::span{all}).wait();
  MomentSums sum;
  for (const MomentSums& one : all) {
    sum.add(options.space, one);
  }
  return sum.moments(options.space);
}

std::vector<LabelledMoments> measure_moments(comm::Endpoint& messages,
                                             const Particles& particles,
                                             const MomentsOptions& options,
                                             std::span<const std::uint64_t> labels) {
  detail::check_labels(messages, particles, labels);
  detail::SumsByLabel sums;
  for (Particles::Index i = 0; i < particles.size(); ++i) {
    if (labels[i] != no_label) {
      sums[labels[i]].add(options.space, sums_at(particles, options, i, labels[i]));
    }
  }
  const comm::Group group{messages};
  const auto rows = detail::exchange_rows(group, detail::rows_for_collectors(sums, group.size()));
  return detail::moments_of(detail::collected(rows, options.space), options.space, 1);
}

}  // namespace plait::particles
