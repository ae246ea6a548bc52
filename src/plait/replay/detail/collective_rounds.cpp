// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/collective_rounds.hpp"

#include <algorithm>

namespace plait::replay::detail {
namespace {

/// All members give to all, at once.
Round to_all(const Entered& entered, std::uint32_t me) {
  Round round;
  for (std::uint32_t distance = 1; distance < entered.size(); ++distance) {
    const std::uint32_t to = (me + distance) % entered.size();
    const std::uint32_t from = (me + entered.size() - distance) % entered.size();
    round.sends.push_back({to, entered.share(me, to)});
    round.receives.push_back({from, entered.share(from, me)});
  }
  return round;
}

Round from_root(const Entered& entered, std::uint32_t me) {
  Round round;
  for (std::uint32_t member = 0; member < entered.size(); ++member) {
    if (member == entered.root) {
      continue;
    }
    const std::uint64_t bytes = entered.share(entered.root, member);
    if (me == entered.root) {
      round.sends.push_back({member, bytes});
    } else if (me == member) {
      round.receives.push_back({entered.root, bytes});
    }
  }
  return round;
}

Round to_root(const Entered& entered, std::uint32_t me) {
  Round round;
  if (me != entered.root) {
    round.sends.push_back({entered.root, entered.given[me]});
    return round;
  }
  for (std::uint32_t member = 0; member < entered.size(); ++member) {
    if (member != me) {
      round.receives.push_back({member, entered.given[member]});
    }
  }
  return round;
}

/// A binomial tree below the root: first from the parent, then to the children, the largest subtree first.
std::vector<Round> tree_down(const Entered& entered, std::uint32_t me, std::uint64_t bytes) {
  const std::uint32_t size = entered.size();
  const std::uint32_t place = (me + size - entered.root) % size;
  std::vector<Round> rounds;
  std::uint32_t subtree = 1;
  while (subtree < size && (place & subtree) == 0) {
    subtree *= 2;
  }
  if (place != 0) {
    rounds.push_back({{}, {{(place - subtree + entered.root) % size, bytes}}});
  }
  Round down;
  for (subtree /= 2; subtree > 0; subtree /= 2) {
    if (place + subtree < size) {
      down.sends.push_back({(place + subtree + entered.root) % size, bytes});
    }
  }
  if (!down.sends.empty()) {
    rounds.push_back(std::move(down));
  }
  return rounds;
}

/// The same tree the other way.
std::vector<Round> tree_up(const Entered& entered, std::uint32_t me, std::uint64_t bytes) {
  std::vector<Round> rounds = tree_down(entered, me, bytes);
  std::ranges::reverse(rounds);
  for (Round& round : rounds) {
    std::swap(round.sends, round.receives);
  }
  return rounds;
}

/// In round k each member gives what it has to the one 2^k further on; `bytes(n)` are those of n members' blocks.
template <class Bytes>
std::vector<Round> dissemination(std::uint32_t size, std::uint32_t me, const Bytes& bytes) {
  std::vector<Round> rounds;
  for (std::uint32_t distance = 1; distance < size; distance *= 2) {
    const std::uint64_t moved = bytes(std::min(distance, size - distance));
    rounds.push_back({{{(me + distance) % size, moved}}, {{(me + size - distance) % size, moved}}});
    if (distance > size / 2) {
      break;
    }
  }
  return rounds;
}

std::vector<Round> chain(const Entered& entered, std::uint32_t me) {
  std::vector<Round> rounds;
  if (me > 0) {
    rounds.push_back({{}, {{me - 1, entered.given[me - 1]}}});
  }
  if (me + 1 < entered.size()) {
    rounds.push_back({{{me + 1, entered.given[me]}}, {}});
  }
  return rounds;
}

}  // namespace

std::uint64_t Entered::largest() const {
  return given.empty() ? 0 : *std::ranges::max_element(given);
}

std::uint64_t Entered::share(std::uint32_t from, std::uint32_t to) const {
  if (to < shares[from].size()) {
    return shares[from][to];
  }
  switch (kind) {
    case Collective::all_to_all:
    case Collective::scatter:
    case Collective::reduce_scatter:
      return given[from] / size();
    default:
      return given[from];
  }
}

std::vector<Round> rounds_of(const Entered& entered, std::uint32_t me, bool is_direct) {
  const std::uint32_t size = entered.size();
  if (size < 2) {
    return {};
  }
  switch (entered.kind) {
    case Collective::none:
      return {};
    case Collective::barrier:
      return is_direct ? std::vector{to_all(entered, me)} : dissemination(size, me, [](std::uint64_t) { return 0; });
    case Collective::all_gather:
      return is_direct ? std::vector{to_all(entered, me)}
                       : dissemination(size, me, [&](std::uint64_t blocks) { return blocks * entered.largest(); });
    case Collective::broadcast:
      return is_direct ? std::vector{from_root(entered, me)} : tree_down(entered, me, entered.given[entered.root]);
    case Collective::reduce:
      return is_direct ? std::vector{to_root(entered, me)} : tree_up(entered, me, entered.largest());
    case Collective::all_reduce: {
      if (is_direct) {
        return {to_all(entered, me)};
      }
      std::vector<Round> rounds = tree_up(entered, me, entered.largest());
      std::vector<Round> down = tree_down(entered, me, entered.largest());
      rounds.insert(rounds.end(), down.begin(), down.end());
      return rounds;
    }
    case Collective::gather:
      return {to_root(entered, me)};
    case Collective::scatter:
      return {from_root(entered, me)};
    case Collective::all_to_all:
    case Collective::reduce_scatter:
      return {to_all(entered, me)};
    case Collective::scan:
      if (is_direct) {
        Round round;
        for (std::uint32_t member = 0; member < size; ++member) {
          if (member > me) {
            round.sends.push_back({member, entered.given[me]});
          } else if (member < me) {
            round.receives.push_back({member, entered.given[member]});
          }
        }
        return {round};
      }
      return chain(entered, me);
  }
  return {};
}

}  // namespace plait::replay::detail
