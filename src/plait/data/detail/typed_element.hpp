// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/data/detail/element.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::detail {

template <class T>
struct TypedElement : Element {
  explicit TypedElement(T&& its_object) : object{std::move(its_object)} { value = &object; }
  T object;
};

template <class T>
inline constexpr ElementKind kind_of{
    .destroy = [](Element* element) noexcept { delete static_cast<TypedElement<T>*>(element); },
    .pack = [](const Element& element) { return pack(static_cast<const TypedElement<T>&>(element).object); },
    .unpack = [](std::span<const std::byte> packed) -> Element* { return new TypedElement<T>{unpack_as<T>(packed)}; }};

}  // namespace plait::data::detail
