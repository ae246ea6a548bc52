// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/collective_rounds.hpp"

#include <algorithm>
#include <iterator>

namespace plait::replay::detail {
namespace {

bool gives(const Entered& entered, std::uint32_t from, std::uint32_t to) {
  switch (entered.kind) {
    case Collective::broadcast:
    case Collective::scatter:
      return from == entered.root;
    case Collective::reduce:
    case Collective::gather:
      return to == entered.root;
    case Collective::scan:
      return from < to;
    default:
      return true;
  }
}

/// Each member gives to all those concerned, at once.
Round direct(const Entered& entered, std::uint32_t me) {
  Round round;
  for (std::uint32_t distance = 1; distance < entered.size(); ++distance) {
    const std::uint32_t to = (me + distance) % entered.size();
    const std::uint32_t from = (me + entered.size() - distance) % entered.size();
    if (gives(entered, me, to)) {
      round.sends.push_back({to, entered.share(me, to)});
    }
    if (gives(entered, from, me)) {
      round.receives.push_back({from, entered.share(from, me)});
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
  if (size < 2 || entered.kind == Collective::none) {
    return {};
  }
  if (is_direct) {
    return {direct(entered, me)};
  }
  switch (entered.kind) {
    case Collective::barrier:
      return dissemination(size, me, [](std::uint64_t) { return 0; });
    case Collective::all_gather:
      return dissemination(size, me, [&](std::uint64_t blocks) { return blocks * entered.largest(); });
    case Collective::broadcast:
      return tree_down(entered, me, entered.given[entered.root]);
    case Collective::reduce:
      return tree_up(entered, me, entered.largest());
    case Collective::all_reduce: {
      std::vector<Round> rounds = tree_up(entered, me, entered.largest());
      std::ranges::move(tree_down(entered, me, entered.largest()), std::back_inserter(rounds));
      return rounds;
    }
    case Collective::scan:
      return chain(entered, me);
    default:
      return {direct(entered, me)};
  }
}

}  // namespace plait::replay::detail
