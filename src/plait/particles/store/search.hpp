// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plait::particles {

/// The sources with which a target interacts.
enum class Search : std::uint8_t {
  gather,     ///< Sources within the target's reach.
  scatter,    ///< Sources within whose reach the target is.
  symmetric,  ///< Sources within the larger reach: both particles of a pair see it.
};

}  // namespace plait::particles
