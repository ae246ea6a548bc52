// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "ring/vector.hpp"

namespace ring {

/// A body of the ring, as it is integrated and as it moves between ranks. Units: G = 1, central mass 1.
struct Body {
  Vector position;
  Vector velocity;
  Vector acceleration;  ///< Total at `position`: centre, self-gravity, contacts.
  double mass = 0;
  double potential = 0;  ///< Of the other bodies' gravity at `position`; neither centre nor springs.
  std::uint64_t id = 0;
  double cost = 0;  ///< Interactions that its last force took; the weight in the decomposition.
};
static_assert(sizeof(Body) == 104 && std::is_trivially_copyable_v<Body>, "travels in messages");

}  // namespace ring
