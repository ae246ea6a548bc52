// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

#include "plait/base/bytes.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/packer.hpp"

namespace plait::data {

/// Types that can be sent: trivially copyable ones without pointers, standard containers of serialisable types, and
/// classes with a `serialize` function for cereal. [How to write
/// one](../../../docs/how-to/references.md#what-can-travel).
///
/// Containers that `packer.hpp` does not include need their <cereal/types/...> header. Pointers in a class are not
/// checked. A trivially copyable class is copied as memory unless it has a member function `serialize`, `save` or
/// `save_minimal`.
template <class T>
concept Serializable = detail::is_packable<T>();

namespace detail {

/// Calls `act`. Throws: its exceptions, as an `Error` that names the type and what to do.
void unpack_or_explain(void (*act)(void*, Unpacker&),
                       void* value,
                       std::span<const std::byte> from,
                       std::string_view type);

/// Throws the error of an accessor whose `size` and `pack` disagree.
[[noreturn]] void size_was_wrong(std::string_view accessor,
                                 std::string_view type,
                                 std::size_t announced,
                                 std::size_t written);

}  // namespace detail

/// Packs `value` as bytes, for `unpack` on a rank of the same program. Cost: one copy; a growing buffer unless the
/// type, or that of the elements of a vector, is trivially copyable.
template <class T>
[[nodiscard]] Bytes pack(const T& value) {
  Bytes packed;
  if constexpr (detail::must_be_packable<T>()) {
    if constexpr (detail::moves_as_bytes<T>) {
      packed.resize(sizeof value);
      Packer{std::span<std::byte>{packed}}(value);
    } else {
      if constexpr (detail::is_vector_of_bytes<T>) {
        packed.reserve(sizeof(std::uint64_t) + value.size() * sizeof(typename T::value_type));
      }
      Packer{packed}(value);
    }
  }
  return packed;
}

/// Unpacks `value`. Throws: `Error` with `bad_input` when `from` is not exactly a packed `T`; `value` is then valid,
/// but unspecified. Safe for any bytes; allocates memory in proportion to them.
template <class T>
void unpack(std::span<const std::byte> from, T& value) {
  if constexpr (detail::must_be_packable<T>()) {
    detail::unpack_or_explain(
        [](void* place, Unpacker& unpacker) { unpacker(*static_cast<T*>(place)); }, &value, from, type_name<T>());
  }
}

/// As above, into a new `T{}`.
template <class T>
  requires std::default_initializable<T>
[[nodiscard]] T unpack_as(std::span<const std::byte> from) {
  T value{};
  unpack(from, value);
  return value;
}

}  // namespace plait::data
