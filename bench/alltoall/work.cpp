// SPDX-License-Identifier: Apache-2.0
#include "alltoall/work.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "support/stopwatch.hpp"

namespace alltoall {

namespace {

constexpr std::uint64_t sincos_period = 125;                    // of the inner loop of PSDNS's harness
constexpr std::size_t stream_unit = 64;                         // elements
constexpr std::size_t stream_elements = std::size_t{4} << 20U;  // 32 MiB an array: goes through most caches

}  // namespace

Units part_of(std::uint64_t units, std::uint64_t index, std::uint64_t count) {
  // units * index may overflow for very much work; quotient and remainder do not.
  const std::uint64_t whole = units / count;
  const std::uint64_t over = units % count;
  const auto before = [&](std::uint64_t part) { return whole * part + over * part / count; };
  return {before(index), before(index + 1)};
}

std::uint64_t units_that_take(double seconds, double seconds_a_unit) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::llround(seconds / seconds_a_unit)));
}

Work::Work(WorkKind kind) : kind_{kind} {
  if (kind == WorkKind::stream) {
    a_.assign(stream_elements, 0);
    b_.assign(stream_elements, 1);
    c_.assign(stream_elements, 2);
  }
}

void Work::run_part(std::uint64_t index, std::uint64_t count) {
  const bench::Stopwatch watch;
  const Units units = part_of(units_, index, count);
  if (kind_ == WorkKind::sincos) {
    run_sincos(units);
  } else {
    run_stream(units);
  }
  seconds_ += watch.seconds();
}

double Work::take_seconds() noexcept {
  return std::exchange(seconds_, 0);
}

void Work::run_sincos(Units units) {
  double sum = 0;
  for (std::uint64_t unit = units.first; unit < units.last; ++unit) {
    const auto k = static_cast<double>(1 + unit % sincos_period);
    const auto j = static_cast<double>(1 + unit / sincos_period % 16);
    sum += std::sin(j * (std::numbers::pi / k)) + std::cos(k * (std::numbers::pi / j));
  }
  result_ += sum;
}

void Work::run_stream(Units units) {
  for (std::uint64_t unit = units.first; unit < units.last; ++unit) {
    for (std::size_t i = place_; i < place_ + stream_unit; ++i) {
      a_[i] = b_[i] + 0.5 * c_[i];
    }
    result_ += a_[place_];
    place_ = (place_ + stream_unit) % stream_elements;
  }
}

}  // namespace alltoall
