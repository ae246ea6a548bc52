// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/fft/detail/lines.hpp"
#include "plait/fft/layout.hpp"

namespace plait::fft::detail {

/// A block of an exchange, or a part of an array: consecutive planes.
struct Segment {
  Index count = 0;          ///< Elements of each sequence.
  Complex* base = nullptr;  ///< Of its first plane.
  Index plane_stride = 0;   ///< From a plane of axis 0 to the next.
};

/// A batch of adjacent sequences along axis 0, counted through a plane.
struct Strip {
  Index first = 0;
  Index width = 0;
};

/// Gathers the sequences of a batch from the planes of the blocks: element i of sequence s to `to[i * stride + s]`.
void gather(std::span<const Segment> from, const Strip& strip, Index stride, Complex* to);
/// The reverse.
void scatter(const Complex* from, Index stride, const Strip& strip, std::span<const Segment> to);

/// Copies `count` numbers times `scale`.
void copy_scaled(const Complex* from, double scale, Index count, Complex* to);

}  // namespace plait::fft::detail
