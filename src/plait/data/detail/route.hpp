// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/id.hpp"
#include "plait/data/detail/element.hpp"
#include "plait/data/element.hpp"

namespace plait::data::detail {

/// Where a message to an element goes.
struct Route {
  Element* local = nullptr;
  Rank rank;  ///< Names nothing when this rank is the home, and knows no such element.
  [[nodiscard]] bool is_elsewhere() const noexcept { return local == nullptr && rank; }
};

/// A message as it is sent to another rank.
struct Outgoing {
  ElementId from;
  ElementId to;
  std::uint64_t step = no_step;
  PackedCall call;
};

}  // namespace plait::data::detail
