// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dns/modes.hpp"
#include "dns/physics.hpp"

namespace dns {

using Complex = std::complex<double>;
using Array = std::vector<Complex>;

/// What a right-hand side N is used for. With a = exp(-nu k^2 dt / 2) in a step of fourth order and exp(-nu k^2 dt) in
/// one of second; u is the state, v what the next stage starts from, s a sum that is kept between stages.
enum class Update : std::uint8_t {
  none,        ///< v = u: before the first step.
  keep,        ///< N of the first of two grids is kept, v stays: N becomes the mean of both afterwards.
  rk2_first,   ///< v = a (u + dt N), u = a (u + dt/2 N)
  rk2_last,    ///< v = u = u + dt/2 N
  rk4_first,   ///< v = a (u + dt/2 N), s = a^2 (u + dt/6 N)
  rk4_second,  ///< v = a u + dt/2 N, s += dt/3 a N
  rk4_third,   ///< v = a^2 u + dt a N, s += dt/3 a N
  rk4_last,    ///< v = u = s + dt/6 N
};

/// Arrays of modes that belong to one variable: a component of velocity, or a scalar.
struct VariableArrays {
  Array* state = nullptr;
  Array* sum = nullptr;    ///< Fourth order only.
  Array* kept = nullptr;   ///< With two grids only.
  Array* input = nullptr;  ///< What is transformed to points: v, shifted.
};

/// Factors exp(i k d) of a shift by d, by axis: one for each of this rank's wave numbers.
class Shift {
 public:
  Shift() = default;
  /// Nothing when all of `distance` is 0.
  Shift(const Modes& modes, const std::array<double, 3>& distance);

  [[nodiscard]] bool is_any() const noexcept { return !factor_[0].empty(); }
  [[nodiscard]] Complex of_line(std::size_t i0, std::size_t i1) const noexcept {
    return factor_[0][i0] * factor_[1][i1];
  }
  [[nodiscard]] const Complex* along_line() const noexcept { return factor_[2].data(); }

 private:
  std::array<std::vector<Complex>, 3> factor_;
};

/// exp(-nu k^2 t) as a product of factors by axis, so that no mode needs an exponential.
class Decay {
 public:
  Decay() = default;
  Decay(const Modes& modes, double viscosity, double time);

  [[nodiscard]] double of_line(std::size_t i0, std::size_t i1) const noexcept {
    return factor_[0][i0] * factor_[1][i1];
  }
  /// Each twice: beside real and imaginary parts.
  [[nodiscard]] const double* along_line() const noexcept { return factor_[2].data(); }

 private:
  std::array<std::vector<double>, 3> factor_;
};

/// What one stage of a step does to modes.
struct StageWork {
  Update update = Update::none;
  double dt = 0;
  bool is_mean = false;  ///< N is the mean with what was kept.
  Shift shift;           ///< Of the grid on which products were made.
  Shift next;            ///< Of the grid on which they will be made next, beyond that of `input` if it stays.
};

/// The work on modes, part by part: the end of one right-hand side and the beginning of the next in one pass through
/// memory. Threads: any number at once, on parts that have no mode in common; not while a member is changed.
class ModeWork {
 public:
  /// The arrays of a variable. `transformed`: u x omega after a transform, and i k x v before one. Of a scalar: its
  /// fluxes after a transform; one of these may be its input.
  struct Arrays {
    std::array<VariableArrays, 3> velocity;
    std::array<Array*, 3> transformed{};
    struct Scalar {
      VariableArrays variable;
      std::array<Array*, 3> flux{};
    };
    std::vector<Scalar> scalars;
  };

  ModeWork(const Modes& modes, const Physics& physics, Arrays arrays);

  /// Must be called before `update_*` when the time step changes.
  void set_decay(double time);
  StageWork& stage() noexcept { return stage_; }

  /// The pressure takes what has divergence; then the stage's update; then i k x v. Also zeroes what is not kept.
  void update_velocity(const Box& box) const noexcept;
  /// Before `update_velocity` of the same modes where there is a mean gradient.
  void update_scalar(std::size_t number, const Box& box) const noexcept;
  /// Puts zeros into all modes of `box` of the state that are not kept, and of every other array.
  void cut_off(const Box& box) const noexcept;
  /// Of the state: subtracts what has divergence.
  void project(const Box& box) const noexcept;
  /// Leaves N in `transformed` instead of an update, for measuring. Velocity only.
  void leave_right_side(const Box& box) const noexcept;
  /// d u_a / d x_a of the state into `transformed`, for measuring.
  void leave_gradients(const Box& box) const noexcept;

 private:
  struct Piece;
  /// Modes that are worked on at once: all that a loop needs of them stays in the first cache.
  static constexpr Index piece_max = 128;
  using RightSide = std::array<std::array<double, 2 * piece_max>, 3>;

  template <class Work>
  void for_pieces(const Box& box, Work work) const noexcept;
  void clear_beyond(const Box& box, Array& array) const noexcept;
  void load_right_side(const Piece& piece, RightSide& right) const noexcept;
  static void load_divergence(const Piece& piece, const Arrays::Scalar& scalar, double* out) noexcept;
  static void remove_divergence(const Piece& piece, const std::array<double*, 3>& values) noexcept;
  void apply(const Piece& piece, const VariableArrays& variable, double* right, const Decay& decay) const noexcept;
  void shift_and_curl(const Piece& piece) const noexcept;
  void shift_on(const Piece& piece, double* values) const noexcept;
  void shift_back(const Piece& piece, double* values) const noexcept;

  const Modes& modes_;
  const Physics& physics_;
  Arrays arrays_;
  Decay decay_;
  std::vector<Decay> scalar_decays_;
  StageWork stage_;
};

}  // namespace dns
