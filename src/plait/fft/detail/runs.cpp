// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/runs.hpp"

#include <cstring>

namespace plait::fft::detail {

namespace {

/// Calls `move(run, place in the batch)` for each element of the sequences.
template <class Move>
void for_each_run(const Runs& runs, const Batch& batch, Move move) {
  Index element = 0;
  for (const Segment& segment : runs.segments) {
    Complex* run = segment.base + batch.plane * segment.plane_stride + batch.first;
    for (Index i = 0; i < segment.count; ++i, ++element, run += runs.stride) {
      move(run, element * batch.width);
    }
  }
}

void multiply(const Complex* from, double scale, Index width, Complex* to) {
  const auto* const numbers = reinterpret_cast<const double*>(from);
  auto* const products = reinterpret_cast<double*>(to);
  for (Index i = 0; i < 2 * width; ++i) {
    products[i] = scale * numbers[i];
  }
}

}  // namespace

void gather(const Runs& from, const Batch& batch, Complex* to) {
  if (batch.width == batch_width) {
    for_each_run(from, batch, [to](const Complex* run, Index place) {
      std::memcpy(to + place, run, batch_width * sizeof(Complex));  // a constant size: a few moves of vectors
    });
  } else {
    for_each_run(from, batch, [to, &batch](const Complex* run, Index place) {
      std::memcpy(to + place, run, static_cast<std::size_t>(batch.width) * sizeof(Complex));
    });
  }
}

void scatter(const Complex* from, double scale, const Batch& batch, const Runs& to) {
  if (scale != 1) {
    for_each_run(to, batch, [=, &batch](Complex* run, Index place) {
      if (batch.width == batch_width) {
        multiply(from + place, scale, batch_width, run);
      } else {
        multiply(from + place, scale, batch.width, run);
      }
    });
  } else if (batch.width == batch_width) {
    for_each_run(to, batch, [from](Complex* run, Index place) {
      std::memcpy(run, from + place, batch_width * sizeof(Complex));
    });
  } else {
    for_each_run(to, batch, [from, &batch](Complex* run, Index place) {
      std::memcpy(run, from + place, static_cast<std::size_t>(batch.width) * sizeof(Complex));
    });
  }
}

}  // namespace plait::fft::detail
