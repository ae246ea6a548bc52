// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plait/fft/detail/lines.hpp"
#include "plait/fft/layout.hpp"

namespace plait::fft::detail {

/// Some consecutive elements of all sequences along an axis: a part of a block, or of an array.
struct Segment {
  Index count = 0;          ///< Elements of each sequence.
  Complex* base = nullptr;  ///< Of the first element of the first sequence.
  Index plane_stride = 0;   ///< To the same of the next plane of axis 0; 0 when there is only one.
};

/// Where sequences along an axis stand: neighbouring ones side by side, their elements `stride` apart in each segment.
struct Runs {
  std::span<const Segment> segments;
  Index stride = 0;
};

/// Which sequences: `width` of them, from `first` on, of plane `plane`.
struct Batch {
  Index plane = 0;
  Index first = 0;
  Index width = 0;
};

/// Brings the sequences of a batch together: element i of sequence s to `to[i * batch.width + s]`.
void gather(const Runs& from, const Batch& batch, Complex* to);
/// The reverse, times `scale`.
void scatter(const Complex* from, double scale, const Batch& batch, const Runs& to);

}  // namespace plait::fft::detail
