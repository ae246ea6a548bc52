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

}  // namespace

TreeSizes sizes_for(
    const Kernels& kernels, Precision precision, Order order, std::size_t count, std::uint32_t workers) {
  const std::size_t lanes = precision == Precision::mixed ? kernels.lanes : kernels.lanes / 2;
  // A quadrupole costs as much as two direct pairs in single precision.
  const bool has_cheap_pairs =
      lanes >= 16 || (lanes >= 8 && precision == Precision::mixed && order == Order::quadrupole);
  TreeSizes sizes{.leaf = has_cheap_pairs ? 16U : 8U, .group = group_for(lanes)};
  sizes.batch = groups_a_batch * sizes.group;
  if (workers > 1) {
    const std::size_t share = count / (batches_a_worker * workers);
    sizes.batch = static_cast<std::uint32_t>(std::clamp<std::size_t>(share, sizes.group, sizes.batch));
  }
  return sizes;
}

}  // namespace plait::particles
