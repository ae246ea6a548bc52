// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/engine/all_ranks.hpp"
#include "plait/data/collections/engine/element.hpp"
#include "plait/data/serialize.hpp"

namespace plait::data::detail {

/// The combined value of `count` elements.
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

/// Unpacks the values of all ranks, and sorts them by id.
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

/// Divides the ids of all elements into as many ranges of equal length as there are ranks.
class Stretches {
 public:
  /// Collective. `here`: the elements of this rank, in order of id.
  Stretches(const comm::Group& group, std::span<Element* const> here) : count_{group.size()} {
    std::array<std::uint64_t, 2> ends{~std::uint64_t{0}, ~std::uint64_t{0}};  // the lowest, and the highest negated
    if (!here.empty()) {
      ends = {here.front()->id.value(), ~here.back()->id.value()};
    }
    settle(group, comm::all_reduce(group, std::span{ends}, comm::Minimum{}));
    lowest_ = ends[0];
    length_ = (~ends[1] - lowest_) / count_ + 1;
  }

  [[nodiscard]] std::size_t of(ElementId id) const noexcept { return (id.value() - lowest_) / length_; }

 private:
  std::size_t count_;
  std::uint64_t lowest_ = 0;
  std::uint64_t length_ = 1;
};

/// Returns the inclusive scan at each of `values`, which are those of this rank by range and in order of id.
template <class V, class Op>
[[nodiscard]] std::vector<V> scan_stretches(const comm::Group& group,
                                            const std::vector<std::vector<std::pair<ElementId, V>>>& values,
                                            const Op& op) {
  std::vector<Bytes> packed;
  for (const auto& stretch : values) {
    packed.push_back(pack(stretch));
  }
  struct Value {
    ElementId id;
    std::size_t from;
    V sum;
  };
  std::vector<Value> mine;  // this rank's range
  packed = exchange_any(group, packed);
  for (std::size_t from = 0; from < packed.size(); ++from) {
    for (auto& [id, value] : unpack_as<std::vector<std::pair<ElementId, V>>>(packed[from])) {
      mine.push_back({id, from, std::move(value)});
    }
  }
  std::ranges::sort(mine, {}, &Value::id);
  for (std::size_t i = 1; i < mine.size(); ++i) {
    mine[i].sum = op(mine[i - 1].sum, mine[i].sum);
  }
  std::vector<V> whole;  // of this range, if it has elements
  if (!mine.empty()) {
    whole.push_back(mine.back().sum);
  }
  const std::vector<Bytes> wholes = all_gather_any(group, pack(whole));
  std::vector<V> before;
  for (std::size_t stretch = 0; stretch < group.self(); ++stretch) {
    for (const V& value : unpack_as<std::vector<V>>(wholes[stretch])) {
      before.assign(1, before.empty() ? value : op(before.front(), value));
    }
  }
  std::vector<std::vector<V>> sums(group.size());
  for (const Value& value : mine) {
    sums[value.from].push_back(before.empty() ? value.sum : op(before.front(), value.sum));
  }
  packed.clear();
  for (const std::vector<V>& part : sums) {
    packed.push_back(pack(part));
  }
  std::vector<V> results;
  for (const Bytes& part : exchange_any(group, packed)) {  // stretches follow one another
    std::ranges::move(unpack_as<std::vector<V>>(part), std::back_inserter(results));
  }
  return results;
}

}  // namespace plait::data::detail
