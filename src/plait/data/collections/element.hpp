// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/id.hpp"

namespace plait::data {

/// One element of a collection, wherever it lives; `Shape` has its place in the grid.
using ElementId = Id<struct ElementTag, std::uint64_t>;

}  // namespace plait::data
