// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "plait/base/bytes.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {

namespace detail {

[[noreturn]] void serialisation_is_wrong(std::string_view type,
                                         const std::string& which,
                                         std::span<const std::byte> packed,
                                         std::span<const std::byte> packed_again);
[[nodiscard]] std::string name_of(ElementId id, std::string_view collection);

/// `which` names the value in an error.
template <class T>
void compare_or_throw(const T& value, const MovedCopy<T>& moved, const std::string& which) {
  bool is_wrong = moved.packed != moved.packed_again;
  if constexpr (std::equality_comparable<T>) {
    if (value == value) {  // else it holds a NaN
      is_wrong = !(moved.copy == value);
    }
  }
  if (is_wrong) {
    serialisation_is_wrong(type_name<T>(), which, moved.packed, moved.packed_again);
  }
}

}  // namespace detail

/// Packs and unpacks a value, and compares the copy with it: by operator== if the type has one, else by packing the
/// copy again. The latter also holds for values that are not equal to themselves (NaN).
///
/// Without operator==, a member that `serialize` or an accessor omits is not found. Throws: `Error` with `bad_argument`
/// that names the type, the id and the first byte that differs; as `unpack`. Cost: two packs and one unpack.
template <Serializable T>
  requires std::default_initializable<T>
void check_serialisation(const T& value, ElementId id = {}) {
  MovedCopy<T> moved{.packed = pack(value), .packed_again = {}, .copy = {}};
  unpack(moved.packed, moved.copy);
  moved.packed_again = pack(moved.copy);
  detail::compare_or_throw(value, moved, detail::name_of(id, {}));
}

/// Checks every element of this rank as above, by the collection's accessor if it has one. Returns their number.
///
/// Finds at once what would otherwise show after a migration: for tests, and the first steps of a program. Between
/// phases; not collective. The collection is not changed.
template <class T>
std::size_t check_serialisation(const Collection<T>& collection) {
  for (const auto& [id, element] : collection.local()) {
    detail::compare_or_throw(element, collection.copy_by_moving(id), detail::name_of(id, collection.name()));
  }
  return collection.local_count();
}

}  // namespace plait::data
