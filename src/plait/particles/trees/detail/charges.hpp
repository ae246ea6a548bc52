// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "plait/particles/trees/tree_options.hpp"

namespace plait::particles::detail {

/// The charges of the particles of a store as sources of a tree. Valid until the store changes its order or size.
class Charges {
 public:
  Charges(const Particles& store, const TreeOptions& options)
      : sources_{options.sources}, charges_{store[options.charge]}, kinds_{store[Particles::kind]} {}

  /// 0 if the kind of the particle is no source.
  [[nodiscard]] double operator[](std::size_t place) const {
    return sources_.are_all() || sources_.has(kinds_[place]) ? charges_[place] : 0.0;
  }

 private:
  Kinds sources_;
  std::span<const double> charges_;
  std::span<const std::uint8_t> kinds_;
};

}  // namespace plait::particles::detail
