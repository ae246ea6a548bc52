// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/trees/tree_sizes.hpp"

#include <algorithm>

namespace plait::particles {
namespace {

constexpr std::uint32_t groups_a_batch = 32;
constexpr std::size_t batches_a_worker = 8;

/// `lanes` is the pairs that an instruction of the direct kernel computes.
std::uint32_t group_for(std::size_t lanes) {
  return lanes >= 16 ? 160 : lanes >= 8 ? 80 : lanes >= 4 ? 48 : 32;
}

/// The group where most walks are saved. Direct pairs and cells are then most of the cost. Quadrupoles, at the angles
/// that they allow, have fewer of them beside the walk than monopoles.
std::uint32_t with_reused_lists(std::uint32_t group, Order order) {
  return order == Order::quadrupole ? group / 2 : group - group / 4;
}

}  // namespace

TreeSizes sizes_for(const TreeUse& use) {
  const bool is_mixed = use.precision == Precision::mixed;
  const std::size_t lanes = is_mixed ? use.kernels.lanes : use.kernels.lanes / 2;
  // A quadrupole costs as much as two direct pairs in single precision.
  const bool has_cheap_pairs = lanes >= 16 || (lanes >= 8 && is_mixed && use.order == Order::quadrupole);
  TreeSizes sizes{.leaf = has_cheap_pairs ? 16U : 8U, .group = group_for(lanes)};
  if (use.uses_of_lists > 1) {
    sizes.group = with_reused_lists(sizes.group, use.order);
  }
  sizes.batch = groups_a_batch * sizes.group;
  if (use.worker_count > 1) {
    const std::size_t share = use.body_count / (batches_a_worker * use.worker_count);
    sizes.batch = static_cast<std::uint32_t>(std::clamp<std::size_t>(share, sizes.group, sizes.batch));
  }
  return sizes;
}

}  // namespace plait::particles
