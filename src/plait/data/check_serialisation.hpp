// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "plait/base/bytes.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/collection.hpp"
#include "plait/data/element.hpp"
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
[[noreturn]] void serialisation_is_wrong(std::string_view type, ElementId id, const Difference& difference);

}  // namespace detail

/// Moves a value to itself: packs it, unpacks that into a new one, and compares the two: with operator== where the type
/// has one, else, as for values that are not equal to themselves (NaN), packed again.
///
/// Without operator== a member that `serialize` forgets is not found: what is not packed is not compared. Throws:
/// `Error` with `bad_argument` that names the type, the id and the first byte that differs; as `unpack`. Cost: as two
/// packs and one unpack.
template <Serializable T>
  requires std::default_initializable<T>
void check_serialisation(const T& value, ElementId id = {}) {
  const Bytes packed = pack(value);
  const T copy = unpack_as<T>(packed);
  if constexpr (std::equality_comparable<T>) {
    if (copy == value) {
      return;
    }
    if (value == value) {
      detail::serialisation_is_wrong(type_name<T>(), id, detail::compare(packed, pack(copy)));
    }
  }
  const detail::Difference difference = detail::compare(packed, pack(copy));
  if (difference.byte) {
    detail::serialisation_is_wrong(type_name<T>(), id, difference);
  }
}

/// As above, for every element of this rank; the collection stays as it is. For tests, and the first steps of a
/// program: it finds at once what would else show after a migration somewhere. Between phases; not collective. Returns
/// how many were checked.
template <class T>
std::size_t check_serialisation(const Collection<T>& collection) {
  for (const auto& [id, element] : collection.local()) {
    check_serialisation(element, id);
  }
  return collection.local_count();
}

}  // namespace plait::data
