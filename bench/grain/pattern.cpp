// SPDX-License-Identifier: Apache-2.0
#include "grain/pattern.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace grain {

namespace {

constexpr std::size_t radix = 5;

/// The existing points at most `distance` away.
std::vector<std::size_t> within(std::size_t distance, std::size_t width, std::size_t point) {
  const std::size_t first = point - std::min(point, distance);
  const std::size_t last = std::min(width - 1, point + distance);
  std::vector<std::size_t> points(last - first + 1);
  std::iota(points.begin(), points.end(), first);
  return points;
}

std::size_t step_count_of_fft(std::size_t width) {
  return std::max(1, std::countr_zero(width));
}

std::vector<std::size_t> at_distance(std::size_t distance, std::size_t width, std::size_t point) {
  std::vector<std::size_t> points;
  if (point >= distance) {
    points.push_back(point - distance);
  }
  points.push_back(point);
  if (point + distance < width) {
    points.push_back(point + distance);
  }
  return points;
}

std::vector<std::size_t> spread(std::size_t width, std::size_t step, std::size_t point) {
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < radix; ++i) {
    const std::size_t shift = i == 0 ? 0 : step % width;
    points.push_back((point + i * width / radix + shift) % width);
  }
  std::ranges::sort(points);
  points.erase(std::ranges::unique(points).begin(), points.end());
  return points;
}

}  // namespace

std::string name_of(Pattern pattern) {
  constexpr std::array names{"stencil", "nearest", "fft", "spread", "all-to-all"};
  return names[static_cast<std::size_t>(pattern)];
}

std::vector<std::size_t> inputs(Pattern pattern, std::size_t width, std::size_t step, std::size_t point) {
  switch (pattern) {
    case Pattern::stencil:
      return within(1, width, point);
    case Pattern::nearest:
      return within(radix / 2, width, point);
    case Pattern::fft:
      return at_distance(std::size_t{1} << (step % step_count_of_fft(width)), width, point);
    case Pattern::spread:
      return spread(width, step, point);
    case Pattern::all_to_all:
      break;
  }
  return within(width, width, point);
}

std::size_t period(std::size_t width) {
  return std::lcm(step_count_of_fft(width), width);
}

}  // namespace grain
