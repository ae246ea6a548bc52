// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace plait {

/// An index with a type of its own, which `Kind`, an undefined struct, distinguishes.
///
/// A default-constructed id is invalid and converts to false. Ids compare like integers but have no arithmetic.
template <class Kind, class Rep = std::uint32_t>
class Id {
  static_assert(std::is_unsigned_v<Rep>, "the largest value is reserved for 'nothing'");

 public:
  using Value = Rep;

  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_{value} {}

  constexpr explicit operator bool() const { return value_ != nothing; }
  [[nodiscard]] constexpr Rep value() const { return value_; }

  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  static constexpr Rep nothing = static_cast<Rep>(-1);
  Rep value_ = nothing;
};

/// A process of the parallel program, from 0.
using Rank = Id<struct RankTag>;
/// A message tag: any 64-bit value but the largest.
using Tag = Id<struct TagTag, std::uint64_t>;
/// A computing thread of one rank, from 0.
using WorkerId = Id<struct WorkerTag, std::uint16_t>;

/// Wildcards of a receive.
inline constexpr Rank any_source{};
inline constexpr Tag any_tag{};

static_assert(sizeof(Rank) == 4 && std::is_trivially_copyable_v<Rank>, "travels in headers");

}  // namespace plait

template <class Kind, class Rep>
struct std::hash<plait::Id<Kind, Rep>> {
  std::size_t operator()(plait::Id<Kind, Rep> id) const noexcept { return std::hash<Rep>{}(id.value()); }
};
