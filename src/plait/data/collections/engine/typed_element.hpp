// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/data/accessor.hpp"
#include "plait/data/collections/engine/element.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::detail {

template <class T>
struct TypedElement : Element {
  explicit TypedElement(T&& its_object) : object{std::move(its_object)} { value = &object; }
  T object;
};

/// The operations on elements of type `T` that move by `serialize.hpp`, or by accessor `A`.
template <class T, class A = void>
inline constexpr ElementKind kind_of{
    .destroy = [](Element* element) noexcept { delete static_cast<TypedElement<T>*>(element); },
    .pack =
        [](const Element& element) {
          const T& object = static_cast<const TypedElement<T>&>(element).object;
          if constexpr (std::is_void_v<A>) {
            return pack(object);
          } else {
            return pack_with<A>(object);
          }
        },
    .unpack = [](std::span<const std::byte> packed) -> Element* {
      T object{};
      if constexpr (std::is_void_v<A>) {
        unpack(packed, object);
      } else {
        unpack_with<A>(packed, object);
      }
      return new TypedElement<T>{std::move(object)};
    }};

}  // namespace plait::data::detail
