// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
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

/// How a copy that was unpacked differs from what was packed.
struct Difference {
  std::optional<std::size_t> byte;  ///< Where the two, packed, differ first; nothing when they do not.
  std::size_t size = 0;             ///< Of the element, packed.
  std::size_t copy_size = 0;
};

[[nodiscard]] Difference compare(std::span<const std::byte> element, std::span<const std::byte> copy) noexcept;
[[noreturn]] void serialisation_is_wrong(std::string_view type, const std::string& which, const Difference& difference);
[[nodiscard]] std::string name_of(ElementId id, std::string_view collection);

/// `which`: the value, in an error.
template <class T>
void compare_or_throw(const T& value, const MovedCopy<T>& moved, const std::string& which) {
  if constexpr (std::equality_comparable<T>) {
    if (moved.copy == value) {
      return;
    }
    if (value == value) {
      serialisation_is_wrong(type_name<T>(), which, compare(moved.packed, moved.packed_again));
    }
  }
  const Difference difference = compare(moved.packed, moved.packed_again);
  if (difference.byte) {
    serialisation_is_wrong(type_name<T>(), which, difference);
  }
}

}  // namespace detail

/// Moves a value to itself: packs it, unpacks that into a new one, and compares the two: with operator== where the type
/// has one, else, as for values that are not equal to themselves (NaN), packed again.
///
/// Without operator== a member that `serialize` or an accessor forgets is not found: what is not packed is not
/// compared. Throws: `Error` with `bad_argument` that names the type, the id and the first byte that differs; as
/// `unpack`. Cost: as two packs and one unpack.
template <Serializable T>
  requires std::default_initializable<T>
void check_serialisation(const T& value, ElementId id = {}) {
  MovedCopy<T> moved{.packed = pack(value), .packed_again = {}, .copy = {}};
  unpack(moved.packed, moved.copy);
  moved.packed_again = pack(moved.copy);
  detail::compare_or_throw(value, moved, detail::name_of(id, {}));
}

/// As above, for every element of this rank, by the collection's accessor if it has one; the collection, which errors
/// name, stays as it is. For tests, and the first steps of a
/// program: it finds at once what would else show after a migration somewhere. Between phases; not collective. Returns
/// how many were checked.
template <class T>
std::size_t check_serialisation(const Collection<T>& collection) {
  for (const auto& [id, element] : collection.local()) {
    detail::compare_or_throw(element, collection.copy_by_moving(id), detail::name_of(id, collection.name()));
  }
  return collection.local_count();
}

}  // namespace plait::data
