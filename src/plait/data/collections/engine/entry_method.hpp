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

template <class First, class... Rest>
struct TakesContext {
  static constexpr bool value = std::is_same_v<std::remove_cvref_t<First>, ElementContext>;
  using Arguments = std::conditional_t<value,
                                       std::tuple<std::remove_cvref_t<Rest>...>,
                                       std::tuple<std::remove_cvref_t<First>, std::remove_cvref_t<Rest>...>>;
};

template <class T, class... Parameters>
struct MethodOf {
  using Object = T;
  static constexpr bool takes_context = false;
  using Arguments = std::tuple<>;
};
template <class T, class First, class... Rest>
struct MethodOf<T, First, Rest...> {
  using Object = T;
  static constexpr bool takes_context = TakesContext<First, Rest...>::value;
  using Arguments = typename TakesContext<First, Rest...>::Arguments;
};

template <class T, class Result, class... Parameters>
MethodOf<T, Parameters...> method_of(Result (T::*)(Parameters...));
template <class T, class Result, class... Parameters>
MethodOf<T, Parameters...> method_of(Result (T::*)(Parameters...) const);

/// A method of an element as a message calls it.
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

/// A message that was sent on this rank, not packed.
template <auto method>
struct LocalMail : Mail {
  using Arguments = typename Method<method>::Arguments;

  LocalMail(ElementId sender, std::uint64_t its_step, Arguments&& its_arguments);

  Arguments arguments;
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
LocalMail<method>::LocalMail(ElementId sender, std::uint64_t its_step, Arguments&& its_arguments)
    : Mail{.kind = &local_mail<method>, .from = sender, .step = its_step}, arguments{std::move(its_arguments)} {}

/// A message that has come from another rank.
struct PackedMail : Mail {
  PackedMail(ElementId sender, std::uint64_t its_step, PackedCall its_call, std::span<const std::byte> packed);

  PackedCall call;
  Bytes bytes;
};

inline constexpr MailKind packed_mail{.call =
                                          [](Mail& mail, void* object, ElementContext& context) {
                                            const auto& packed = static_cast<const PackedMail&>(mail);
                                            packed.call(packed.bytes, object, context);
                                          },
                                      .drop = [](Mail* mail) noexcept { delete static_cast<PackedMail*>(mail); },
                                      .pack = [](const Mail& mail, Bytes& to) -> PackedCall {
                                        const auto& packed = static_cast<const PackedMail&>(mail);
                                        to.insert(to.end(), packed.bytes.begin(), packed.bytes.end());
                                        return packed.call;
                                      }};

inline PackedMail::PackedMail(ElementId sender,
                              std::uint64_t its_step,
                              PackedCall its_call,
                              std::span<const std::byte> packed)
    : Mail{.kind = &packed_mail, .from = sender, .step = its_step},
      call{its_call},
      bytes{packed.begin(), packed.end()} {}

}  // namespace plait::data::detail
