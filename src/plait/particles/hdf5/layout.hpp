// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/particles/store/particles.hpp"

namespace plait::particles::hdf5 {

/// The number of particle types in files: 0 gas, 1 dark matter, 4 stars, 5 black holes, ... A particle's kind is the
/// number of its group, `PartType0` to `PartType6`.
inline constexpr std::uint32_t types_max = 7;
inline constexpr std::uint64_t all_kinds = (std::uint64_t{1} << types_max) - 1;
[[nodiscard]] constexpr std::uint64_t kind_bit(std::uint32_t kind) {
  return std::uint64_t{1} << kind;
}

/// The units of length, mass, time and temperature, in centimetres, grams, seconds and kelvin.
struct Units {
  double length = 1;
  double mass = 1;
  double time = 1;
  double temperature = 1;
  friend bool operator==(const Units&, const Units&) = default;
};

/// Units in which the gravitational constant is 1.
[[nodiscard]] inline Units units_of_gravity(double length, double mass) {
  constexpr double gravity = 6.6743e-8;  // CODATA 2018, in cgs
  return {.length = length, .mass = mass, .time = std::sqrt(length * length * length / (gravity * mass))};
}

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

/// The factor that converts a value from units `from` to units `to`; exactly 1 if these are equal.
[[nodiscard]] inline double conversion(const Units& from, const Units& to, const Dimension& dimension) {
  return from == to
             ? 1
             : std::pow(from.mass / to.mass, dimension.mass) * std::pow(from.length / to.length, dimension.length) *
                   std::pow(from.time / to.time, dimension.time) *
                   std::pow(from.temperature / to.temperature, dimension.temperature);
}

/// The type of a number in memory.
enum class Number : std::uint8_t { real64, real32, unsigned64, unsigned32, unsigned16, unsigned8, signed64, signed32 };

template <class T>
struct FieldNumbers {};  ///< Of a type that files do not support.
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

/// The result of reading if a file lacks the data set.
enum class Absent : std::uint8_t {
  refused,     ///< An error that names the data set.
  zero,        ///< The field is zero.
  mass_table,  ///< The field is the type's mass in the header's `MassTable`; an error if that is 0.
};
/// The values that reading accepts; others are errors that name file, data set and row.
enum class Valid : std::uint8_t { finite, positive, any };

/// The properties of a data set. Outside `Dataset`, as clang needs a complete type for a default argument.
struct DatasetTraits {
  Dimension dimension{};
  std::string description{};
  std::uint64_t kinds = all_kinds;
  Absent absent = Absent::refused;
  Valid valid = Valid::finite;
  bool is_single = false;  ///< Reals are stored in single precision.
  /// In files of an expanding universe, values times the scale factor to this power are physical.
  double scale_exponent = 0;
};

/// The storage of a field in files: one data set for each kind that has the field.
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
  std::uint32_t width;  ///< The numbers for one particle.
  Traits traits;
};

/// The layout of a program's particles in files, in addition to `Coordinates` and `ParticleIDs`.
struct SnapshotLayout {
  Units units{};  ///< Of the program; reading converts other units to these.
  std::vector<Dataset> datasets;
  std::uint64_t kinds = all_kinds;  ///< The kinds to read.
  /// The program integrates in comoving coordinates, and accepts files of an expanding universe.
  bool is_comoving = false;
  std::optional<Units> file_units;  ///< Of files that do not name theirs; absent: the program's.
};

}  // namespace plait::particles::hdf5
