// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/c_particles/handles.hpp"
#include "plait/plait_particles.h"

/// What the arguments of C functions mean in C++.
namespace plait::c_particles::detail {

/// Throws: `Error` with `bad_argument` if `store` has no field `field`.
[[nodiscard]] const plait_store::Type& type_of(const plait_store& store, int field);

/// Fields of one double, of three, and of one float. `role` is their part in the call, for errors.
/// Throws: `Error` with `bad_argument` for other fields.
[[nodiscard]] particles::Field<double> number_field(const plait_store& store, int field, std::string_view role);
[[nodiscard]] particles::Field<particles::Vector> vector_field(const plait_store& store,
                                                               int field,
                                                               std::string_view role);
[[nodiscard]] particles::Field<float> float_field(const plait_store& store, int field, std::string_view role);
/// A field of any type. Throws: as `type_of`.
[[nodiscard]] particles::AnyField any_field(const plait_store& store, int field);

/// A list of a caller. `role` is its part in the call, for errors. Throws: `Error` with `bad_argument` if `first` is
/// NULL and the list is not empty.
[[nodiscard]] std::span<const int> listed_fields(const int* first, std::size_t count, std::string_view role);
/// A list of fields of any type. Throws: as `listed_fields` and `type_of`.
[[nodiscard]] std::vector<particles::AnyField> any_fields(const plait_store& store,
                                                          const int* first,
                                                          std::size_t count,
                                                          std::string_view role);
/// Describes a field of the store that is no caller's, so that fields keep their numbers.
void note_fields(plait_store& store);

/// The size of a structure of options in its first version. Later ones add fields behind these: a program that was
/// compiled with an earlier version has a smaller structure than this library.
template <class Options>
inline constexpr std::size_t first_size = 0;
template <>
inline constexpr std::size_t first_size<plait_system_options> =
    offsetof(plait_system_options, limited_kinds) + sizeof(plait_system_options::limited_kinds);
template <>
inline constexpr std::size_t first_size<plait_long_range_options> =
    offsetof(plait_long_range_options, velocity) + sizeof(plait_long_range_options::velocity);
template <>
inline constexpr std::size_t first_size<plait_short_range_options> =
    offsetof(plait_short_range_options, argument) + sizeof(plait_short_range_options::argument);
template <>
inline constexpr std::size_t first_size<plait_neighbour_options> =
    offsetof(plait_neighbour_options, travels) + sizeof(plait_neighbour_options::travels);
template <>
inline constexpr std::size_t first_size<plait_integrator> =
    offsetof(plait_integrator, argument) + sizeof(plait_integrator::argument);
template <>
inline constexpr std::size_t first_size<plait_time_steps> =
    offsetof(plait_time_steps, step_min) + sizeof(plait_time_steps::step_min);
template <>
inline constexpr std::size_t first_size<plait_stage_options> =
    offsetof(plait_stage_options, argument) + sizeof(plait_stage_options::argument);

/// Whether a structure of this size may have been initialised by any version.
template <class Options>
[[nodiscard]] bool is_size_of(std::size_t size) {
  static_assert(first_size<Options> > sizeof(Options::size), "each structure has an entry above");
  return size >= first_size<Options>;
}

/// Sets the first `size` bytes of `options` to `defaults`, and what a later version may have behind them to 0. Throws:
/// `Error` with `bad_argument` if `size` is smaller than the structure was in its first version.
template <class Options>
void set_defaults(Options* options, std::size_t size, const Options& defaults) {
  require(options != nullptr && is_size_of<Options>(size), "options have no valid size: give the sizeof of their type");
  std::memset(static_cast<void*>(options), 0, size);
  std::memcpy(static_cast<void*>(options), &defaults, std::min(size, sizeof(Options)));
  options->size = size;
}

/// The settings of a caller that this version knows; those that the caller's version lacks are `defaults`. Throws: as
/// above.
template <class Options>
[[nodiscard]] Options known_options(const Options* options, const Options& defaults) {
  require(options != nullptr && is_size_of<Options>(options->size),
          "options have no valid size: call their ..._init function before setting fields");
  Options known = defaults;
  std::memcpy(&known, options, std::min(options->size, sizeof(Options)));
  return known;
}

}  // namespace plait::c_particles::detail
