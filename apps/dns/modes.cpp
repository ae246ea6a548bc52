// SPDX-License-Identifier: Apache-2.0
#include "dns/modes.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ranges>

namespace dns {

namespace {

/// The part, of `parts`, that contains each index of `length`.
std::vector<std::uint32_t> parts_of(Index length, std::uint32_t parts) {
  std::vector<std::uint32_t> part(static_cast<std::size_t>(length));
  for (std::uint32_t i = 0; i < parts; ++i) {
    const plait::fft::Range range = plait::fft::part_of(length, parts, i);
    std::fill(part.begin() + range.low, part.begin() + range.high, i);
  }
  return part;
}

}  // namespace

LineOwners::LineOwners(const std::array<Index, 3>& spectral_lengths, const plait::fft::TransformGrid& grid)
    : grid_{grid}, column_{parts_of(spectral_lengths[1], grid.column)}, row_{parts_of(spectral_lengths[2], grid.row)} {}

Modes::Modes(const std::array<Index, 3>& lengths, const Layout& spectral, Dealiasing dealiasing)
    : lengths_{lengths}, layout_{spectral}, dealiasing_{dealiasing} {
  const Box& box = layout_.box;
  for (int axis = 0; axis < 3; ++axis) {
    for (Index i = box.low[axis]; i < box.high[axis]; ++i) {
      k_[axis].push_back(static_cast<double>(wave_number(i, lengths[axis])));
    }
  }
  for (const double k : k_[2]) {
    k2_twice_.push_back(k);
    k2_twice_.push_back(k);
  }
  const auto line = std::views::iota(0, static_cast<int>(lengths[2] / 2 + 1));
  for (const double k0 : k_[0]) {
    for (const double k1 : k_[1]) {
      const Index kept =
          std::ranges::partition_point(
              line, [&](int k2) { return is_kept({static_cast<Index>(k0), static_cast<Index>(k1), k2}); }) -
          line.begin();
      kept_.push_back(static_cast<std::int32_t>(std::clamp(kept - box.low[2], Index{0}, box.extent(2))));
    }
  }

  double largest = 0;
  k_max_ = static_cast<double>(*std::max_element(lengths.begin(), lengths.end()));
  for (int axis = 0; axis < 3; ++axis) {
    std::array<Index, 3> k{};
    while (k[axis] < lengths[axis] && is_kept(k)) {
      ++k[axis];
    }
    const auto last = static_cast<double>(k[axis] - 1);
    largest = is_spherical() ? std::max(largest, last * last) : largest + last * last;
    if (lengths[axis] > 1) {
      k_max_ = std::min(k_max_, last);
    }
  }
  // A mode between two axes may lie slightly outside those on the axes.
  shells_ = static_cast<std::size_t>(std::sqrt(largest) + (is_spherical() ? 1.5 : 0.5)) + 1;
}

std::array<double, 3> Modes::inverse_step() const noexcept {
  const auto of = [](Index length) { return static_cast<double>(length) / (2 * std::numbers::pi); };
  return {of(lengths_[0]), of(lengths_[1]), of(lengths_[2])};
}

bool Modes::is_kept(const std::array<Index, 3>& k) const noexcept {
  const Index factor = dealiasing_ == Dealiasing::truncation ? 3 : 2;
  double square = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (factor * std::abs(k[axis]) >= lengths_[axis] && k[axis] != 0) {
      return false;
    }
    const double part = static_cast<double>(k[axis]) / static_cast<double>(lengths_[axis]);
    square += part * part;
  }
  // Aliasing along two axes brings in only modes from outside the sphere of radius sqrt(2) / 3 along each axis.
  return !is_spherical() || 9 * square < 2 - 1e-9;
}

}  // namespace dns
