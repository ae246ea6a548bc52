// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/detail/runs.hpp"

#include <cstring>

namespace plait::fft::detail {

namespace {

/// Calls `move(run, element)` for each element of the sequences.
template <class Move>
void for_each_run(std::span<const Segment> segments, Index first, Move move) {
  Index element = 0;
  for (const Segment& segment : segments) {
    Complex* run = segment.base + first;
    for (Index plane = 0; plane < segment.count; ++plane, ++element, run += segment.plane_stride) {
      move(run, element);
    }
  }
}

}  // namespace

void gather(std::span<const Segment> from, const Strip& strip, Index stride, Complex* to) {
  const std::size_t bytes = static_cast<std::size_t>(strip.width) * sizeof(Complex);
  for_each_run(
      from, strip.first, [=](const Complex* run, Index element) { std::memcpy(to + element * stride, run, bytes); });
}

void scatter(const Complex* from, Index stride, const Strip& strip, std::span<const Segment> to) {
  const std::size_t bytes = static_cast<std::size_t>(strip.width) * sizeof(Complex);
  for_each_run(to, strip.first, [=](Complex* run, Index element) { std::memcpy(run, from + element * stride, bytes); });
}

void copy_scaled(const Complex* from, double scale, Index count, Complex* to) {
  if (scale == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(Complex));
    return;
  }
  const auto* const numbers = reinterpret_cast<const double*>(from);
  auto* const products = reinterpret_cast<double*>(to);
  for (Index i = 0; i < 2 * count; ++i) {
    products[i] = scale * numbers[i];
  }
}

}  // namespace plait::fft::detail
