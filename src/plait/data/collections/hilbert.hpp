// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

namespace plait::data {

/// The place of a cell on the Hilbert curve through a square or cube of 2^bits cells a side: 0 at its beginning. Cells
/// that follow one another on the curve are neighbours in space, so that a stretch of it is compact.
///
/// `cell`: one to three coordinates, each below 2^bits. Expects: bits of all coordinates together at most 64. Cost:
/// some 10 ns a bit. Source: Skilling, "Programming the Hilbert curve", AIP Conference Proceedings 707 (2004).
[[nodiscard]] std::uint64_t hilbert_place(std::span<const std::uint32_t> cell, unsigned bits);

}  // namespace plait::data
