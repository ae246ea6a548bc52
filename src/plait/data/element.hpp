// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/id.hpp"

namespace plait::data {

/// One element of a collection, wherever it lives; `Shape` says which place of the grid it is.
using ElementId = Id<struct ElementTag, std::uint64_t>;

}  // namespace plait::data
