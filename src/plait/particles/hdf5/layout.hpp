// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/particles/store/particles.hpp"

namespace plait::particles::hdf5 {

/// Types of particles in files: 0 gas, 1 dark matter, 4 stars, 5 black holes, ... A particle's kind is the
/// number of its group, `PartType0` to `PartType6`.
inline constexpr std::uint32_t types_max = 7;
inline constexpr std::uint64_t all_kinds = (std::uint64_t{1} << types_max) - 1;
[[nodiscard]] constexpr std::uint64_t kind_bit(std::uint32_t kind) {
  return std::uint64_t{1} << kind;
}

/// One unit of length, mass, time and temperature, in centimetres, grams, seconds and kelvin.
struct Units {
  double length = 1;
  double mass = 1;
  double time = 1;
  double temperature = 1;
  friend bool operator==(const Units&, const Units&) = default;
};

/// Units in which the constant of gravity is 1.
[[nodiscard]] Units units_of_gravity(double length, double mass);

/// The unit of a field: mass^m length^l time^t temperature^T.
struct Dimension {
  double mass = 0;
  double length = 0;
  double time = 0;
  double temperature = 0;
};
inline constexpr Dimension no_dimension{};
inline constexpr Dimension length_dimension{.length = 1};
inline constexpr Dimension mass_dimension{.mass = 1};
inline constexpr Dimension time_dimension{.time = 1};
inline constexpr Dimension velocity_dimension{.length = 1, .time = -1};
inline constexpr Dimension acceleration_dimension{.length = 1, .time = -2};
inline constexpr Dimension specific_energy_dimension{.length = 2, .time = -2};
inline constexpr Dimension density_dimension{.mass = 1, .length = -3};
inline constexpr Dimension pressure_dimension{.mass = 1, .length = -1, .time = -2};

/// What one of `value` in `from` is in `to`.
[[nodiscard]] double conversion(const Units& from, const Units& to, const Dimension& dimension);

/// The type of a number in memory.
enum class Number : std::uint8_t { real64, real32, unsigned64, unsigned32, unsigned16, unsigned8, signed64, signed32 };

template <class T>
struct FieldNumbers {};  ///< Of a type that files cannot hold.
template <class T>
  requires std::is_arithmetic_v<T>
struct FieldNumbers<T> {
  static constexpr std::uint32_t width = 1;
  static constexpr Number number = std::is_floating_point_v<T> ? (sizeof(T) == 8 ? Number::real64 : Number::real32)
                                   : std::is_signed_v<T>       ? (sizeof(T) == 8 ? Number::signed64 : Number::signed32)
                                   : sizeof(T) == 8            ? Number::unsigned64
                                   : sizeof(T) == 4            ? Number::unsigned32
                                   : sizeof(T) == 2            ? Number::unsigned16
                                                               : Number::unsigned8;
  static_assert(!std::is_same_v<T, long double> && (!std::is_signed_v<T> || sizeof(T) >= 4), "a Number names it");
};
template <>
struct FieldNumbers<Vector> {
  static constexpr std::uint32_t width = 3;
  static constexpr Number number = Number::real64;
};
template <class T, std::size_t n>
struct FieldNumbers<std::array<T, n>> {
  static constexpr std::uint32_t width = static_cast<std::uint32_t>(n);
  static constexpr Number number = FieldNumbers<T>::number;
};

/// What reading does where a file has no such data set.
enum class Absent : std::uint8_t {
  refused,     ///< An error that names it.
  zero,        ///< The field stays zero.
  mass_table,  ///< The type's mass in the header's `MassTable`; an error where that is 0.
};
/// Which numbers reading takes; others are errors that name file, data set and row.
enum class Valid : std::uint8_t { finite, positive, any };

/// The properties of a data set. Outside `Dataset`, as clang needs it complete for a default argument there.
struct DatasetTraits {
  Dimension dimension{};
  std::string description{};
  std::uint64_t kinds = all_kinds;
  Absent absent = Absent::refused;
  Valid valid = Valid::finite;
  bool is_single = false;  ///< Reals are stored in single precision.
};

/// How a field is stored in files: one data set for each kind that has it.
struct Dataset {
  using Traits = DatasetTraits;

  template <class T>
  Dataset(std::string name_in_file, Field<T> of, Traits how = {})
      : name{std::move(name_in_file)},
        field{of},
        number{FieldNumbers<T>::number},
        width{FieldNumbers<T>::width},
        traits{std::move(how)} {}

  std::string name;
  AnyField field;
  Number number;
  std::uint32_t width;  ///< Numbers of a particle.
  Traits traits;
};

/// What a program's particles are in a file. `Coordinates` and `ParticleIDs` are always there.
struct SnapshotLayout {
  Units units{};  ///< Of the program; files in other units are converted to these.
  std::vector<Dataset> datasets;
  std::uint64_t kinds = all_kinds;  ///< Those that are read; others in a file are left.
};

}  // namespace plait::particles::hdf5
