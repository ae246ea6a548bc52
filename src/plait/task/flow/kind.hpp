// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string_view>

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

/// What the compiler calls `Type`, without what stands around it in a function's name.
template <class Type>
[[nodiscard]] consteval std::string_view type_name() {
  const std::string_view whole = std::source_location::current().function_name();
  constexpr std::string_view before = "Type = ";
  const std::size_t begin = whole.find(before);
  if (begin == std::string_view::npos) {
    return whole;
  }
  const std::size_t end = whole.find(';', begin);
  return whole.substr(begin + before.size(),
                      (end == std::string_view::npos ? whole.size() - 1 : end) - begin - before.size());
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
