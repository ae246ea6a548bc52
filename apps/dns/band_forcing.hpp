// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "dns/modes.hpp"
#include "dns/physics.hpp"
#include "dns/solver.hpp"

namespace dns {

/// Forces the modes of low wave numbers after each step. What is random depends on seed, step and wave number only, and
/// each rank follows the random processes of all forced modes, which are few: nothing depends on the division among
/// ranks.
class BandForcing {
 public:
  /// Throws: `plait::Error` with `bad_argument` for settings that make no sense. Borrows `modes` and `group`.
  BandForcing(const Forcing& settings, const Modes& modes, plait::Group& group);

  [[nodiscard]] bool is_any() const noexcept { return settings_.kind != ForcingKind::none; }
  /// The energy to hold is that of the next `begin`.
  void forget() noexcept;
  /// Before a step. Collective at the first one.
  void begin(const Fields& fields);
  /// After a step of `dt`, the one with this number; returns the energy that came in. Collective.
  /// Throws: `plait::Error` with `bad_argument` on all ranks, when a flow at rest is to be given power.
  double apply(Fields& fields, double dt, std::uint64_t step);
  /// The modes of this rank that `apply` may change: one each.
  [[nodiscard]] const std::vector<Box>& boxes() const noexcept { return boxes_; }

  [[nodiscard]] const std::vector<double>& state() const noexcept { return state_; }
  /// Throws: `plait::Error` with `bad_input` for one of another length.
  void set_state(std::span<const double> state);

 private:
  struct Mode {
    std::size_t place = 0;
    std::array<double, 3> k{};
    double weight = 1;  ///< 2 for modes that stand for their conjugates as well.
    std::size_t shell = 0;
    std::size_t process = 0;  ///< Which random process.
    bool is_conjugate = false;
  };

  [[nodiscard]] std::vector<double> energies(const Fields& fields) const;
  double hold(Fields& fields, const std::vector<double>& before) const;
  double give_power(Fields& fields, const std::vector<double>& before, double dt) const;
  void accelerate(Fields& fields, double dt) const;
  void advance_processes(double keep, std::uint64_t step);

  Forcing settings_;
  plait::Group& group_;
  std::vector<Mode> modes_;  ///< Of this rank.
  std::vector<Box> boxes_;
  std::size_t shells_ = 0;
  std::vector<std::array<int, 3>> processes_;  ///< Wave numbers of each.
  std::vector<double> state_;                  ///< Energies to hold by shell, or three complex accelerations a process.
};

}  // namespace dns
