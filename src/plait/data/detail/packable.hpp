// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cereal/cereal.hpp>
#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace plait::data {

class Packer;
class Unpacker;

namespace detail {

/// Wrappers that cereal puts around values.
template <class T>
inline constexpr bool is_wrapper = std::is_base_of_v<cereal::traits::detail::BaseCastBase, T>;
template <class T>
inline constexpr bool is_wrapper<cereal::NameValuePair<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::SizeTag<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::BinaryData<T>> = true;
template <class T>
inline constexpr bool is_wrapper<cereal::DeferredData<T>> = true;
template <class Key, class Value>
inline constexpr bool is_wrapper<cereal::MapItem<Key, Value>> = true;

/// Wrappers in cereal's headers for single types: serialisable in one direction only, and made of references.
template <class T>
inline constexpr bool passes_through = [] {
  if constexpr (is_wrapper<T>) {
    return true;
  } else if constexpr (std::is_class_v<T> && !std::is_copy_assignable_v<T> && std::is_trivially_copyable_v<T>) {
    return cereal::traits::is_output_serializable<T, Packer>::value ||
           cereal::traits::is_input_serializable<T, Unpacker>::value;
  } else {
    return false;
  }
}();

/// Types that point elsewhere: their memory is meaningless on another rank.
template <class T>
inline constexpr bool points_elsewhere =
    std::is_pointer_v<T> || std::is_member_pointer_v<T> || std::is_null_pointer_v<T>;
template <class T, std::size_t extent>
inline constexpr bool points_elsewhere<std::span<T, extent>> = true;
template <class Letter, class Traits>
inline constexpr bool points_elsewhere<std::basic_string_view<Letter, Traits>> = true;
template <class T>
inline constexpr bool points_elsewhere<std::reference_wrapper<T>> = true;
template <class T, std::size_t count>
inline constexpr bool points_elsewhere<std::array<T, count>> = points_elsewhere<T>;

/// Whether the class has member functions for archives. Free functions count only for types that are not trivially
/// copyable: otherwise the packed bytes would depend on included headers.
template <class T>
inline constexpr bool has_own_functions =
    cereal::traits::has_member_serialize<T, Packer>::value || cereal::traits::has_member_save<T, Packer>::value ||
    cereal::traits::has_member_save_minimal<T, Packer>::value ||
    cereal::traits::has_member_versioned_serialize<T, Packer>::value ||
    cereal::traits::has_member_versioned_save<T, Packer>::value;

/// Types that are packed by a copy of their memory. Types that cannot be assigned have references or constants.
template <class T>
inline constexpr bool moves_as_bytes = [] {
  if constexpr (!std::is_trivially_copyable_v<T> || !std::is_copy_assignable_v<T> || is_wrapper<T> ||
                points_elsewhere<T>) {
    return false;
  } else {
    return !has_own_functions<T>;
  }
}();

template <class T>
inline constexpr bool is_vector_of_bytes = false;
template <class T, class Allocator>
inline constexpr bool is_vector_of_bytes<std::vector<T, Allocator>> = !std::is_same_v<T, bool> && moves_as_bytes<T>;

template <class T>
concept HasParts = requires { std::tuple_size<T>::value; };
template <class T>
consteval bool is_packable();

/// Whether the elements of a container can be packed, which cereal does not check.
template <class T>
[[nodiscard]] consteval bool are_parts_packable() {
  if constexpr (requires { typename T::value_type; }) {
    return is_packable<std::remove_cv_t<typename T::value_type>>();
  } else if constexpr (requires { typename T::element_type; }) {
    return is_packable<std::remove_cv_t<typename T::element_type>>();
  } else if constexpr (HasParts<T>) {
    return []<std::size_t... part>(std::index_sequence<part...> /*parts*/) {
      return (is_packable<std::remove_cv_t<std::tuple_element_t<part, T>>>() && ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else {
    return true;
  }
}

/// Whether `T` can be packed and unpacked. Members of a class with member functions are checked when those are
/// instantiated.
template <class T>
[[nodiscard]] consteval bool is_packable() {
  if constexpr (points_elsewhere<T>) {
    return false;
  } else if constexpr (moves_as_bytes<T> || is_vector_of_bytes<T>) {
    return true;
  } else if constexpr (has_own_functions<T>) {
    return cereal::traits::is_output_serializable<T, Packer>::value &&
           cereal::traits::is_input_serializable<T, Unpacker>::value;
  } else if constexpr (cereal::traits::is_output_serializable<T, Packer>::value &&
                       cereal::traits::is_input_serializable<T, Unpacker>::value) {
    return are_parts_packable<T>();
  } else {
    return false;
  }
}

/// Fails to compile, with the reason, unless `T` can be packed.
template <class T>
[[nodiscard]] consteval bool must_be_packable() {
  static_assert(
      is_packable<T>(),
      "plait cannot pack this type (its name is at 'with T =' above or below): give it a member "
      "`template <class Archive> void serialize(Archive& archive) { archive(first, second); }` that names all "
      "its data, or make it trivially copyable without pointers; for a standard container or smart pointer "
      "include its <cereal/types/...> header, too");
  return is_packable<T>();
}

}  // namespace detail
}  // namespace plait::data
