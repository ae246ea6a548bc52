// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/base/type_name.hpp"
#include "plait/data/collections/engine/element.hpp"
#include "plait/data/packer.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data {
class ElementContext;
}

namespace plait::data::detail {

/// Appends the arguments of a call.
template <class... Values>
void pack_arguments(const std::tuple<Values...>& arguments, Bytes& to) {
  std::apply([packer = Packer{to}](const Values&... each) mutable { packer(each...); }, arguments);
}

/// The number of bytes that `pack_arguments` appends.
template <class... Values>
std::size_t packed_bytes(const std::tuple<Values...>& arguments) {
  Packer counter{std::span<std::byte>{}};
  std::apply([&](const Values&... each) { counter(each...); }, arguments);
  return counter.count();
}

/// Throws: as `unpack`.
template <class... Values>
void unpack_arguments(std::span<const std::byte> from, std::tuple<Values...>& arguments) {
  unpack_or_explain(
      [](void* place, Unpacker& unpacker) {
        std::apply([&](Values&... each) { unpacker(each...); }, *static_cast<std::tuple<Values...>*>(place));
      },
      &arguments,
      from,
      type_name<std::tuple<Values...>>());
}

template <class T, class... Parameters>
struct MethodOf {
  using Object = T;
  static constexpr bool takes_context = false;
  using Arguments = std::tuple<std::remove_cvref_t<Parameters>...>;
};
template <class T, class... Rest>
struct MethodOf<T, ElementContext&, Rest...> : MethodOf<T, Rest...> {
  static constexpr bool takes_context = true;
};
template <class T, class... Rest>
struct MethodOf<T, const ElementContext&, Rest...> : MethodOf<T, ElementContext&, Rest...> {};

template <class T, class Result, class... Parameters>
MethodOf<T, Parameters...> method_of(Result (T::*)(Parameters...));
template <class T, class Result, class... Parameters>
MethodOf<T, Parameters...> method_of(Result (T::*)(Parameters...) const);

/// Calls a method of an element for a message.
template <auto method>
struct Method {
  using Described = decltype(method_of(method));
  using Object = typename Described::Object;
  using Arguments = typename Described::Arguments;

  static void call(Arguments& arguments, void* object, ElementContext& context) {
    std::apply(
        [&](auto&... each) {
          if constexpr (Described::takes_context) {
            (static_cast<Object*>(object)->*method)(context, std::move(each)...);
          } else {
            (static_cast<Object*>(object)->*method)(std::move(each)...);
          }
        },
        arguments);
  }
  static void call_packed(std::span<const std::byte> packed, void* object, ElementContext& context) {
    Arguments arguments;
    unpack_arguments(packed, arguments);
    call(arguments, object, context);
  }
};

/// A message within the rank, not packed.
template <auto method>
struct LocalMail : Mail {
  typename Method<method>::Arguments arguments;
};

template <auto method>
inline constexpr MailKind local_mail{.call =
                                         [](Mail& mail, void* object, ElementContext& context) {
                                           Method<method>::call(
                                               static_cast<LocalMail<method>&>(mail).arguments, object, context);
                                         },
                                     .drop = [](Mail* mail) noexcept { delete static_cast<LocalMail<method>*>(mail); },
                                     .pack = [](const Mail& mail, Bytes& to) -> PackedCall {
                                       pack_arguments(static_cast<const LocalMail<method>&>(mail).arguments, to);
                                       return &Method<method>::call_packed;
                                     }};

template <auto method>
[[nodiscard]] LocalMail<method>& new_mail(ElementId from,
                                          std::uint64_t step,
                                          typename Method<method>::Arguments&& arguments) {
  return *new LocalMail<method>{{.kind = &local_mail<method>, .from = from, .step = step}, std::move(arguments)};
}

}  // namespace plait::data::detail
