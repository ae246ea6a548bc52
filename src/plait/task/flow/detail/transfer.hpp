// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/id.hpp"

namespace plait::task::detail {

/// Identifies a version of a datum in messages.
[[nodiscard]] constexpr Tag tag_of_version(std::uint32_t datum, std::uint32_t version) noexcept {
  return Tag{std::uint64_t{datum} << 32U | version};
}

/// A value that another rank sends to this one, or gets from it.
struct Transfer {
  Rank peer;
  Tag value;  ///< As from `tag_of_version`.
};

}  // namespace plait::task::detail
