// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cholesky/layout.hpp"

namespace cholesky {

/// Expects the numbers of a tile to be those of its mirror image, given as it should be, but for rounding.
/// Throws: `plait::Error` with `bad_input` that names `file` and the first two places that differ.
void expect_symmetric(const std::string& file, const Layout& layout, const PlacedTile& placed, ConstTile mirror);

}  // namespace cholesky
