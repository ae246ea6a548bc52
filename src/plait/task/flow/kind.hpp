// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "plait/base/type_name.hpp"

namespace plait::task {

namespace detail {

/// A name, and a number that is the same on every rank. Lives as long as the program or its flow.
struct KindName {
  std::string_view name;
  std::uint64_t hash = 0;
};

/// FNV-1a; see http://www.isthe.com/chongo/tech/comp/fnv
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325U;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100'0000'01b3U;
  }
  return hash;
}

/// The last part, where a lambda's name has many.
[[nodiscard]] consteval std::string_view short_name(std::string_view name) {
  const std::size_t lambda = name.rfind("<lambda");
  return lambda == std::string_view::npos ? name : name.substr(lambda);
}

template <class Type>
inline constexpr KindName kind_of_type{.name = short_name(type_name<Type>()), .hash = hash_of(type_name<Type>())};

}  // namespace detail

/// What tasks of a flow are called: in errors, traces and pictures. From `Flow::kind`; valid while the flow lives.
class FlowKind {
 public:
  /// The kernel's type names the task.
  FlowKind() = default;
  explicit FlowKind(const detail::KindName& name) : name_{&name} {}

  explicit operator bool() const noexcept { return name_ != nullptr; }
  [[nodiscard]] const detail::KindName& name() const { return *name_; }

 private:
  const detail::KindName* name_ = nullptr;
};

}  // namespace plait::task
