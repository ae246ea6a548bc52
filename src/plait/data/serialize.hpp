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

/// What can travel: trivially copyable types without pointers, standard containers of what can travel, and classes with
/// a `serialize` function as cereal knows them. [How to write one](../../../docs/how-to/references.md#what-can-travel).
///
/// Containers that `packer.hpp` does not include need their <cereal/types/...> header. What a class keeps behind raw
/// pointers is its own matter; a trivially copyable class is copied as memory unless it has a member function
/// `serialize`, `save` or `save_minimal`.
template <class T>
concept Serializable = detail::is_packable<T>();

namespace detail {

/// Calls `act(argument)`; what it throws becomes an `Error` that names the type and what to do.
void unpack_or_explain(void (*act)(void*, Unpacker&),
                       void* value,
                       std::span<const std::byte> from,
                       std::string_view type);

}  // namespace detail

/// `value` as bytes, for `unpack` on a rank of the same program. Cost: one copy; for what is no vector or trivially
/// copyable, a growing buffer.
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

/// Sets `value` to what was packed.
///
/// Throws: `Error` with `bad_input` when `from` is shorter or longer than a packed `T`, or cannot be one; `value` is
/// then some value of its type. Any bytes may be given; no more memory is taken than in proportion to them.
template <class T>
void unpack(std::span<const std::byte> from, T& value) {
  if constexpr (detail::must_be_packable<T>()) {
    detail::unpack_or_explain(
        [](void* place, Unpacker& unpacker) { unpacker(*static_cast<T*>(place)); }, &value, from, type_name<T>());
  }
}

/// As above, of a `T` that starts out empty.
template <class T>
  requires std::default_initializable<T>
[[nodiscard]] T unpack_as(std::span<const std::byte> from) {
  T value{};
  unpack(from, value);
  return value;
}

}  // namespace plait::data
