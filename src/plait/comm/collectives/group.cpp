// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/group.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/nodes.hpp"

namespace plait::comm {

namespace {

/// `count` ranks from `first` on, `stride` apart.
std::vector<Rank> ranks_from(std::uint32_t first, std::uint32_t count, std::uint32_t stride) {
  std::vector<Rank> ranks;
  for (std::uint32_t index = 0; index < count; ++index) {
    ranks.emplace_back(first + index * stride);
  }
  return ranks;
}

GroupMembers all_ranks(const Endpoint& endpoint) {
  return {0, endpoint.rank_count(), 1};
}

/// The place of this rank among `members`, which are checked.
std::size_t place_of_self(const Endpoint& endpoint, const std::vector<Rank>& members) {
  std::vector<bool> is_member(endpoint.rank_count());
  std::size_t self = members.size();
  for (std::size_t member = 0; member < members.size(); ++member) {
    const Rank rank = members[member];
    if (!rank || rank.value() >= endpoint.rank_count()) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("member {} of a group is no rank of this run of {}", member, endpoint.rank_count())};
    }
    if (is_member[rank.value()]) {
      throw Error{ErrorCode::bad_argument, fmt::format("rank {} is named twice in a group", rank.value()), rank};
    }
    is_member[rank.value()] = true;
    if (rank == endpoint.self()) {
      self = member;
    }
  }
  if (self == members.size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} makes a group that it is no member of: only members make a group",
                            endpoint.self().value()),
                endpoint.self()};
  }
  return self;
}

/// The members by node, unless all nodes have one member or all members are on one node.
std::optional<GroupNodes> nodes_of(const Endpoint& endpoint, const GroupMembers& members, std::size_t self) {
  const std::vector<std::uint32_t>& node_of_rank = Nodes::of(endpoint);
  if (node_of_rank.empty()) {
    return {};
  }
  GroupNodes nodes;
  std::map<std::uint32_t, std::size_t> places;  // of nodes, by number
  for (std::size_t member = 0; member < members.size(); ++member) {
    const std::uint32_t node = node_of_rank[members[member].value()];
    const std::size_t place = places.try_emplace(node, nodes.members.size()).first->second;
    if (place == nodes.members.size()) {
      nodes.members.emplace_back();
    }
    nodes.members[place].push_back(member);
    nodes.own = member == self ? place : nodes.own;
  }
  const std::size_t count = nodes.members.size();
  return count > 1 && count < members.size() ? std::optional{std::move(nodes)} : std::nullopt;
}

void throw_unless_usable(CommId comm) {
  if (comm.value() >= collective_bit && !is_internal(comm)) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("communicator {} of a group is not below {}: the ids above are for its collectives",
                            comm.value(),
                            collective_bit)};
  }
}

void throw_unless_filled(const Endpoint& endpoint, const GroupGrid& grid) {
  if (std::uint64_t{grid.rows} * grid.columns != endpoint.rank_count()) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("a grid of {} x {} does not hold {} ranks", grid.rows, grid.columns, endpoint.rank_count())};
  }
}

std::vector<Rank> row_of(const Endpoint& endpoint, const GroupGrid& grid) {
  throw_unless_filled(endpoint, grid);
  return ranks_from(endpoint.self().value() / grid.columns * grid.columns, grid.columns, 1);
}

std::vector<Rank> column_of(const Endpoint& endpoint, const GroupGrid& grid) {
  throw_unless_filled(endpoint, grid);
  return ranks_from(endpoint.self().value() % grid.columns, grid.rows, grid.columns);
}

}  // namespace

Group::Group(Endpoint& endpoint, const std::source_location& where) {
  ClaimedComms claimed = endpoint.claim_comms(1, where);
  *this = Group{endpoint, claimed[0]};
  state_->claimed = std::move(claimed);
}

Group::Group(Endpoint& endpoint, CommId comm) : Group{endpoint, all_ranks(endpoint), endpoint.self().value(), comm} {}

Group::Group(Endpoint& endpoint, std::vector<Rank> members, const std::source_location& where) {
  ClaimedComms claimed = endpoint.claim_comms(1, where);
  *this = Group{endpoint, std::move(members), claimed[0]};
  state_->claimed = std::move(claimed);
}

Group::Group(Endpoint& endpoint, std::vector<Rank> members, CommId comm) {
  const std::size_t self = place_of_self(endpoint, members);
  *this = Group{endpoint, GroupMembers{std::move(members)}, self, comm};
}

Group::Group(Endpoint& endpoint, GroupMembers members, std::size_t self, CommId comm) {
  throw_unless_usable(comm);
  std::optional<GroupNodes> nodes = nodes_of(endpoint, members, self);
  state_ = std::make_shared<State>(State{
      .endpoint = &endpoint, .comm = comm, .members = std::move(members), .self = self, .nodes = std::move(nodes)});
}

Group row_group(Endpoint& endpoint, const GroupGrid& grid, CommId comm) {
  return {endpoint, row_of(endpoint, grid), comm};
}

Group row_group(Endpoint& endpoint, const GroupGrid& grid, const std::source_location& where) {
  return {endpoint, row_of(endpoint, grid), where};
}

Group column_group(Endpoint& endpoint, const GroupGrid& grid, CommId comm) {
  return {endpoint, column_of(endpoint, grid), comm};
}

Group column_group(Endpoint& endpoint, const GroupGrid& grid, const std::source_location& where) {
  return {endpoint, column_of(endpoint, grid), where};
}

}  // namespace plait::comm
