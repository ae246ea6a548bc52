// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Sets `options` to `defaults`, and what a later version may have behind them to 0. Throws: `Error` with
/// `bad_argument` if `size` is smaller than the structure in its first version.
template <class Options>
void set_defaults(Options* options, std::size_t size, const Options& defaults) {
  require(options != nullptr && size >= sizeof(Options), "options have no valid size: give the sizeof of their type");
  std::memset(static_cast<void*>(options), 0, size);
  *options = defaults;
  options->size = size;
}

/// The settings that this version knows. Throws: as above.
template <class Options>
[[nodiscard]] Options known_options(const Options* options) {
  require(options != nullptr && options->size >= sizeof(Options),
          "options have no valid size: call their ..._init function before setting fields");
  return *options;
}

}  // namespace plait::c_particles::detail
