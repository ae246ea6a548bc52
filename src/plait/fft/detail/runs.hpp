// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/fft/detail/lines.hpp"
#include "plait/fft/layout.hpp"

namespace plait::fft::detail {

/// A block of an exchange, or a part of an array: planes one after the other.
struct Segment {
  Index count = 0;          ///< Elements that it has of a sequence.
  Complex* base = nullptr;  ///< Of its first plane.
  Index plane_stride = 0;   ///< From each plane of axis 0 to the next, without a gap.
};

/// Some neighbouring sequences along axis 0, counted through a plane.
struct Strip {
  Index first = 0;
  Index width = 0;
};

/// Brings the sequences of a strip together, whose elements stand in planes of the blocks, one after the other: element
/// i of sequence s to `to[i * stride + s]`.
void gather(std::span<const Segment> from, const Strip& strip, Index stride, Complex* to);
/// The reverse.
void scatter(const Complex* from, Index stride, const Strip& strip, std::span<const Segment> to);

/// Copies `count` numbers times `scale`.
void copy_scaled(const Complex* from, double scale, Index count, Complex* to);

}  // namespace plait::fft::detail
