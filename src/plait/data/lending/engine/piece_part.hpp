// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace plait::data::detail {

/// An accessor for pieces whose type only `Lender` knows.
struct PiecePart {
  std::string_view accessor;
  std::string_view type;
  std::size_t (*size)(const void* piece);
  /// Returns how many bytes it had to write.
  std::size_t (*pack)(const void* piece, std::span<std::byte> place);
  void (*unpack)(std::span<const std::byte> from, void* piece);
};

}  // namespace plait::data::detail
