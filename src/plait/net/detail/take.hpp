// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace plait::net::detail {

/// Moves up to `out.size()` elements of `from`, those from index `next` on, into `out`; returns how
/// many. `next` moves along; a list that has been taken to its end is emptied.
template <class T>
std::size_t take(std::vector<T>& from, std::size_t& next, std::span<T> out) {
  const std::size_t count = std::min(out.size(), from.size() - next);
  std::move(from.begin() + static_cast<std::ptrdiff_t>(next),
            from.begin() + static_cast<std::ptrdiff_t>(next + count),
            out.begin());
  next += count;
  if (next == from.size()) {
    from.clear();
    next = 0;
  }
  return count;
}

}  // namespace plait::net::detail
