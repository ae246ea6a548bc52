// SPDX-License-Identifier: Apache-2.0
#include "plait/particle_mesh/force_split.hpp"

#include <cmath>
#include <numbers>
#include <type_traits>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::particles {

namespace {

constexpr std::size_t split_terms = ForceSplit::degree + 1;
using SplitTerms = std::array<double, split_terms>;

/// erf(u) / u.
double erf_over(double u) {
  return u < 1e-8 ? 2 * std::numbers::inv_sqrtpi : std::erf(u) / u;
}

/// The coefficients of Chebyshev polynomials that interpolate erf(u) / u, u^2 = square_max (x + 1) / 2, in their zeros.
SplitTerms chebyshev_terms(double square_max) {
  SplitTerms terms{};
  for (std::size_t k = 0; k < split_terms; ++k) {
    const double angle = std::numbers::pi * (static_cast<double>(k) + 0.5) / split_terms;
    const double value = erf_over(std::sqrt(square_max * (std::cos(angle) + 1) / 2));
    for (std::size_t n = 0; n < split_terms; ++n) {
      terms[n] += (n == 0 ? 1.0 : 2.0) / split_terms * value * std::cos(static_cast<double>(n) * angle);
    }
  }
  return terms;
}

/// The first polynomials, up to `degree`, by powers of x, from T(n + 1) = 2 x T(n) - T(n - 1).
SplitTerms powers_of(const SplitTerms& terms, std::size_t degree) {
  SplitTerms sum{};
  SplitTerms before{};
  SplitTerms present{};
  before[0] = 1;
  present[1] = 1;
  sum[0] = terms[0];
  for (std::size_t n = 1; n <= degree; ++n) {
    SplitTerms next{};
    for (std::size_t power = 0; power < split_terms; ++power) {
      sum[power] += terms[n] * present[power];
      next[power] = (power > 0 ? 2 * present[power - 1] : 0) - before[power];
    }
    before = present;
    present = next;
  }
  return sum;
}

}  // namespace

ForceSplit::ForceSplit(double scale, double cutoff) : scale_{scale}, cutoff_{cutoff} {
  if (!(scale > 0) || !(cutoff > 0) || cutoff > cutoff_max * scale * (1 + 1e-12)) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a force is split at length {} with a cut-off of {}: give a positive length, and a cut-off "
                            "of at most {} times as much",
                            scale,
                            cutoff,
                            cutoff_max)};
  }
  const double u_max = cutoff / (2 * scale);
  const SplitTerms terms = chebyshev_terms(u_max * u_max);
  const auto set = [&](auto& potential, auto& force_over_r) {
    using T = std::remove_reference_t<decltype(potential[0])>;
    const SplitTerms powers = powers_of(terms, potential.size() - 1);
    for (std::size_t power = 0; power < potential.size(); ++power) {
      potential[power] = static_cast<T>(powers[power] / (2 * scale));
    }
    // The force is -d/dr, and x changes by 4 r / cutoff^2.
    for (std::size_t power = 0; power < force_over_r.size(); ++power) {
      const double slope = static_cast<double>(power + 1) * powers[power + 1] / (2 * scale);
      force_over_r[power] = static_cast<T>(-4 / (cutoff * cutoff) * slope);
    }
  };
  set(potential_, force_over_r_);
  set(single_potential_, single_force_over_r_);
}

}  // namespace plait::particles
