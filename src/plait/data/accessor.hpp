// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>

#include "plait/base/bytes.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {

/// Packs a part of a `T`, and unpacks it into another one: for an exchange that does not need the whole element.
///
///     struct FieldsOnly {
///       static std::size_t size(const Patch& patch) { return patch.fields.size() * sizeof(double); }
///       static void pack(const Patch& patch, Packer& packer) { packer.bytes(std::as_bytes(std::span{patch.fields})); }
///       static void unpack(Patch& patch, Unpacker& unpacker) {
///         unpacker.bytes(std::as_writable_bytes(std::span{patch.fields}));
///       }
///     };
template <class A, class T>
concept Accessor = requires(const T& from, T& to, Packer& packer, Unpacker& unpacker) {
  { A::size(from) } -> std::convertible_to<std::size_t>;
  A::pack(from, packer);
  A::unpack(to, unpacker);
};

/// Packs `value` by `A`. Throws: `Error` with `bad_argument` when `A::pack` writes more or fewer bytes than `A::size`
/// returned; bytes beyond that size are not written.
template <class A, class T>
  requires Accessor<A, T>
[[nodiscard]] Bytes pack_with(const T& value) {
  Bytes packed(A::size(value));
  Packer packer{std::span<std::byte>{packed}};
  A::pack(value, packer);
  if (packer.count() != packed.size()) {
    detail::size_was_wrong(type_name<A>(), type_name<T>(), packed.size(), packer.count());
  }
  return packed;
}

/// Unpacks the bytes of `pack_with<A>` into `value`. Throws: as `unpack`.
template <class A, class T>
  requires Accessor<A, T>
void unpack_with(std::span<const std::byte> from, T& value) {
  detail::unpack_or_explain([](void* place, Unpacker& unpacker) { A::unpack(*static_cast<T*>(place), unpacker); },
                            &value,
                            from,
                            type_name<A>());
}

}  // namespace plait::data
