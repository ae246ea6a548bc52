// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/rounds.hpp"

#include <algorithm>
#include <bit>

namespace plait::replay::detail {
namespace {

constexpr std::uint64_t long_broadcast = 512 * 1024;
constexpr std::uint64_t long_reduction = 10 * 1024;
constexpr std::uint64_t long_gathering = 80 * 1024;

}  // namespace

Rounds::Rounds(const Part& part) : part_{part}, steps_{static_cast<std::uint32_t>(std::bit_width(part.members - 1))} {
  const std::uint32_t ring = part.members - 1;
  const bool is_power = std::has_single_bit(part.members);
  switch (part.kind) {
    case Collective::none:
      break;
    case Collective::barrier:
    case Collective::reduce:
    case Collective::gather:
    case Collective::scatter:
    case Collective::scan:
      count_ = steps_;
      break;
    case Collective::broadcast:
      is_long_ = part.has_rings && std::max(part.given, part.got) >= long_broadcast && part.members > 2;
      count_ = is_long_ ? steps_ + ring : steps_;
      break;
    case Collective::all_reduce:
      is_long_ = part.has_rings && part.got >= long_reduction && part.members > 2;
      count_ = is_long_ ? 2 * ring : (is_power ? steps_ : steps_ + 1);
      break;
    case Collective::all_gather:
      is_long_ = part.has_rings && part.got >= long_gathering;
      count_ = is_long_ ? ring : steps_;
      break;
    case Collective::all_to_all:
    case Collective::reduce_scatter:
      count_ = ring;
      break;
  }
}

Round Rounds::round(std::uint32_t index) const {
  const std::uint32_t members = part_.members;
  const std::uint32_t member = part_.member;
  const std::uint32_t distance = index < steps_ ? 1U << index : 1;
  const std::uint32_t ahead = (member + distance) % members;
  const std::uint32_t behind = (member + members - distance) % members;
  switch (part_.kind) {
    case Collective::none:
      return {};
    case Collective::barrier:
      return {.to = ahead, .from = behind};
    case Collective::broadcast:
      return broadcast(index);
    case Collective::reduce:
    case Collective::gather:
      return gather(index);
    case Collective::scatter:
      return scatter(index);
    case Collective::all_reduce: {
      if (!is_long_) {
        return doubling(index);
      }
      Round step = ring(block(part_.got));
      step.added = index < members - 1 ? step.bytes : 0;
      return step;
    }
    case Collective::all_gather: {
      const std::uint64_t own = block(part_.got);
      return is_long_ ? ring(own)
                      : Round{.to = behind, .from = ahead, .bytes = own * std::min(distance, members - distance)};
    }
    case Collective::all_to_all:
    case Collective::reduce_scatter: {
      const std::uint32_t to = (member + index + 1) % members;
      const bool has_shares = part_.kind == Collective::all_to_all && part_.shares != nullptr;
      const std::uint64_t bytes = has_shares ? part_.shares[to] : block(part_.given);
      return {.to = to,
              .from = (member + members - index - 1) % members,
              .bytes = bytes,
              .added = part_.kind == Collective::reduce_scatter ? bytes : 0};
    }
    case Collective::scan: {
      Round step{.bytes = part_.given, .added = part_.given};
      step.to = member + distance < members ? ahead : Round::no_member;
      step.from = member >= distance ? behind : Round::no_member;
      return step;
    }
  }
  return {};
}

Round Rounds::broadcast(std::uint32_t index) const {
  const std::uint64_t whole = std::max(part_.given, part_.got);
  if (is_long_) {
    return index >= steps_ ? ring(block(whole)) : scatter(index);
  }
  const std::uint32_t own = relative();
  const std::uint32_t distance = 1U << index;
  Round step{.bytes = whole};
  if (own < distance) {
    step.to = own + distance < part_.members ? absolute(own + distance) : Round::no_member;
  } else if (own < 2 * distance) {
    step.from = absolute(own - distance);
  }
  return step;
}

/// The tree of gather and of reduce; those of gather grow towards the root.
Round Rounds::gather(std::uint32_t index) const {
  const std::uint32_t own = relative();
  const std::uint32_t distance = 1U << index;
  Round step;
  if (own % (2 * distance) == distance) {
    step.to = absolute(own - distance);
    step.bytes = part_.given;
    if (part_.kind == Collective::gather) {
      step.bytes *= std::min(distance, part_.members - own);
    }
  } else if (own % (2 * distance) == 0 && own + distance < part_.members) {
    step.from = absolute(own + distance);
    step.added = part_.kind == Collective::reduce ? part_.given : 0;
  }
  return step;
}

Round Rounds::scatter(std::uint32_t index) const {
  const std::uint32_t own = relative();
  const std::uint32_t distance = 1U << (steps_ - 1 - index);
  const bool is_broadcast = part_.kind == Collective::broadcast;
  const std::uint64_t one = is_broadcast ? block(std::max(part_.given, part_.got)) : part_.got;
  Round step;
  if (own % (2 * distance) == 0 && own + distance < part_.members) {
    step.to = absolute(own + distance);
    step.bytes = one * std::min(distance, part_.members - own - distance);
  } else if (own % (2 * distance) == distance) {
    step.from = absolute(own - distance);
  }
  return step;
}

/// Recursive doubling among the largest power of two of members. Each other member sends to one of them first, and
/// receives the result last.
Round Rounds::doubling(std::uint32_t index) const {
  const std::uint32_t power = std::bit_floor(part_.members);
  const std::uint32_t spare = part_.members - power;
  const std::uint32_t member = part_.member;
  Round step{.bytes = part_.given};
  if (spare == 0) {
    step.to = step.from = member ^ (1U << index);
    step.added = part_.given;
    return step;
  }
  if (index == 0 || index + 1 == count_) {
    if (member < spare) {
      (index == 0 ? step.from : step.to) = member + power;
      step.added = index == 0 ? part_.given : 0;
    } else if (member >= power) {
      (index == 0 ? step.to : step.from) = member - power;
    }
    return step;
  }
  if (member < power) {
    step.to = step.from = member ^ (1U << (index - 1));
    step.added = part_.given;
  }
  return step;
}

Round Rounds::ring(std::uint64_t bytes) const {
  return {.to = (part_.member + 1) % part_.members,
          .from = (part_.member + part_.members - 1) % part_.members,
          .bytes = bytes};
}

}  // namespace plait::replay::detail
