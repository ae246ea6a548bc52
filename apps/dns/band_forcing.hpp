// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/plait.hpp"

#include "dns/modes.hpp"
#include "dns/physics.hpp"

namespace dns {

/// Forces the modes of low wave numbers after each step. Random numbers depend on seed, step and wave number only. Each
/// rank advances the random processes of all forced modes, which are few: results do not depend on the division among
/// ranks.
class BandForcing {
 public:
  /// Borrows `modes` and `group`. Throws: `plait::Error` with `bad_argument` for invalid settings.
  BandForcing(const Forcing& settings, const Modes& modes, plait::Group& group);

  [[nodiscard]] bool is_any() const noexcept { return settings_.kind != ForcingKind::none; }
  /// The next `begin` measures the energy to hold.
  void forget() noexcept;
  /// Must be called before a step. Collective if the energy to hold is unknown.
  void begin(const Fields& fields);
  /// Forces `fields` after step number `step`, of length `dt`. Returns the energy added. Collective.
  /// Throws: `plait::Error` with `bad_argument` on all ranks if a flow at rest is forced by constant power.
  double apply(Fields& fields, double dt, std::uint64_t step);
  /// The modes of this rank that `apply` may change: one per box.
  [[nodiscard]] const std::vector<Box>& boxes() const noexcept { return boxes_; }

  [[nodiscard]] const std::vector<double>& state() const noexcept { return state_; }
  /// Throws: `plait::Error` with `bad_input` if the state has a wrong length.
  void set_state(std::span<const double> state);

 private:
  struct Mode {
    std::size_t place = 0;
    std::array<double, 3> k{};
    double weight = 1;  ///< 2 for modes that represent their conjugates as well.
    std::size_t shell = 0;
    std::size_t process = 0;  ///< The number of its random process.
    bool is_conjugate = false;
  };

  [[nodiscard]] std::vector<double> energies(const Fields& fields) const;
  [[nodiscard]] std::vector<double> factors(const std::vector<double>& before, double dt) const;
  void accelerate(Fields& fields, double dt) const;
  void advance_processes(double keep, std::uint64_t step);

  Forcing settings_;
  plait::Group& group_;
  std::vector<Mode> modes_;  ///< Of this rank.
  std::vector<Box> boxes_;
  std::size_t shells_ = 0;
  std::vector<std::array<int, 3>> processes_;  ///< Their wave numbers.
  std::vector<double> state_;                  ///< Energies to hold by shell, or three complex accelerations a process.
};

}  // namespace dns
