// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/data/element.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::detail {

/// What some elements come to together; `count` is 0 for none.
template <class V>
struct Partial {
  V value{};
  std::uint64_t count = 0;
};

template <class V, class Op>
[[nodiscard]] Partial<V> combine(const Partial<V>& left, const Partial<V>& right, const Op& op) {
  if (left.count == 0 || right.count == 0) {
    return left.count == 0 ? right : left;
  }
  return {op(left.value, right.value), left.count + right.count};
}

/// What each rank has packed of its elements, in order of id.
template <class V>
[[nodiscard]] std::vector<std::pair<ElementId, V>> in_order(const std::vector<Bytes>& packed) {
  std::vector<std::pair<ElementId, V>> all;
  for (const Bytes& bytes : packed) {
    auto some = unpack_as<std::vector<std::pair<ElementId, V>>>(bytes);
    std::ranges::move(some, std::back_inserter(all));
  }
  std::ranges::sort(all, {}, &std::pair<ElementId, V>::first);
  return all;
}

}  // namespace plait::data::detail
