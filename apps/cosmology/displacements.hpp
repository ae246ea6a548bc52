// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "plait/fft.hpp"
#include "plait/plait.hpp"

#include "cosmology/universe.hpp"

namespace cosmology {

/// The order of perturbation theory in displacements.
enum class Order : std::uint8_t { zeldovich = 1, second = 2 };

/// The coefficient of a wave exp(i k x) in the density contrast of linear theory; `wave` is k in units of that of the
/// box. Those of opposite waves are conjugates.
using Contrast = std::function<std::complex<double>(const std::array<int, 3>& wave)>;

/// The displacements of a lattice's points on this rank, by Lagrangian perturbation theory.
///
/// A point q is at q + D first + D^2 (3/7) second, D the factor of linear growth, 3/7 that of a universe of matter
/// alone (`second_growth` has it for others). Sources: Zel'dovich, Astron. Astrophys. 5, 1970; Scoccimarro, Mon. Not.
/// R. Astron. Soc. 299, 1998, appendix D. Waves along an axis that have two points each are left out, as they have no
/// opposite. Memory: 3 real arrays of the lattice for each order, while they are computed 2 more.
class Displacements {
 public:
  /// Collective. Throws: as the transforms.
  Displacements(plait::Runtime& runtime, std::uint32_t points, double box, const Contrast& contrast, Order order);

  /// Of this rank's part of the lattice.
  [[nodiscard]] const plait::fft::ArrayLayout& layout() const { return plan_.physical(); }
  [[nodiscard]] Vector first(std::size_t offset) const { return at(first_, offset); }
  /// 0 in first order.
  [[nodiscard]] Vector second(std::size_t offset) const {
    return order_ == Order::second ? at(second_, offset) : Vector{};
  }

 private:
  using Complex = std::complex<double>;
  using Axes = std::array<std::vector<double>, 3>;

  [[nodiscard]] static Vector at(const Axes& along, std::size_t offset) {
    return {along[0][offset], along[1][offset], along[2][offset]};
  }
  /// Calls `use(wave, value)` for each wave of this rank that is not left out, and sets the others to 0.
  template <class Use>
  void for_waves(std::vector<Complex>& spectrum, Use use) const;
  /// The gradient of the inverse Laplacian of `source`, with a minus.
  [[nodiscard]] Axes displacements_of(const std::vector<Complex>& source);
  /// The second derivative of the potential, whose Laplacian is `source`.
  [[nodiscard]] std::vector<double> derivative(const std::vector<Complex>& source, std::size_t i, std::size_t j);
  [[nodiscard]] std::vector<Complex> second_source(const std::vector<Complex>& contrast);

  std::uint32_t points_;
  double unit_;  ///< The wave number of the longest wave.
  Order order_;
  plait::fft::Plan plan_;
  Axes first_;
  Axes second_;
};

/// The factor by which second-order displacements grow, over 3/7 of the square of linear growth, and the logarithmic
/// derivative of the displacement by the scale factor, in a flat universe with this share of matter at that time.
/// Fits of Bouchet, Colombi, Hivon, Juszkiewicz, Astron. Astrophys. 296, 1995.
struct SecondGrowth {
  double factor = 1;
  double rate = 2;
};
[[nodiscard]] SecondGrowth second_growth(double matter);

}  // namespace cosmology
