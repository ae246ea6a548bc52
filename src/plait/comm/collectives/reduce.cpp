// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/reduce.hpp"

#include <fmt/format.h>

#include "plait/comm/collectives/detail/reduce.hpp"

namespace plait::comm {

namespace {

void throw_unless_whole(std::span<const std::byte> row, const Reduction& reduction) {
  if (!reduction.combine || reduction.element_bytes == 0) {
    throw Error{ErrorCode::bad_argument, "a reduction needs an operation on elements of 1 byte at least"};
  }
  if (row.size() % reduction.element_bytes != 0) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "a reduction of elements of {} bytes was given a row of {} bytes", reduction.element_bytes, row.size())};
  }
}

ReduceWay way_of(const Group& group, std::size_t bytes, ReduceWay way) {
  return way == ReduceWay::automatic ? choose_reduce(group.size(), bytes) : way;
}

}  // namespace

Request reduce(const Group& group,
               std::size_t root,
               std::span<const std::byte> mine,
               std::span<std::byte> result,
               const ReduceOptions& options) {
  throw_unless_whole(mine, options.reduction);
  if (root >= group.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("member {} is the root of a reduction of {} members", root, group.size())};
  }
  if (group.self() == root && result.size() != mine.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("a reduction of {} bytes was given a result of {} bytes", mine.size(), result.size())};
  }
  const ReduceWay way = way_of(group, mine.size(), options.way);
  detail::Reduce checked{detail::Call{group}, options.reduction, root, mine, result};
  return way == ReduceWay::tree ? detail::tree_reduce(std::move(checked)) : detail::halving_reduce(std::move(checked));
}

Request all_reduce(const Group& group, std::span<std::byte> data, const ReduceOptions& options) {
  throw_unless_whole(data, options.reduction);
  const ReduceWay way = way_of(group, data.size(), options.way);
  detail::Reduce checked{detail::Call{group}, options.reduction, 0, data, data};
  return way == ReduceWay::tree ? detail::doubling_all_reduce(std::move(checked))
                                : detail::halving_all_reduce(std::move(checked));
}

ReduceWay choose_reduce(std::size_t members, std::size_t bytes) noexcept {
  constexpr std::size_t halving_bytes_min = 2048;
  constexpr std::size_t halving_members_min = 4;
  return members >= halving_members_min && bytes >= halving_bytes_min ? ReduceWay::halving : ReduceWay::tree;
}

const char* to_string(ReduceWay way) noexcept {
  switch (way) {
    case ReduceWay::automatic:
      return "automatic";
    case ReduceWay::tree:
      return "tree";
    case ReduceWay::halving:
      return "halving";
  }
  return "unknown";
}

}  // namespace plait::comm
