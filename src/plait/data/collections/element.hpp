// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/id.hpp"

namespace plait::data {

/// Identifies an element of a collection on all ranks. `Shape` maps it to an index.
using ElementId = Id<struct ElementTag, std::uint64_t>;

}  // namespace plait::data
