// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/group.hpp"

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/detail/group_state.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

namespace {

std::vector<Rank> all_ranks(const Endpoint& endpoint) {
  std::vector<Rank> ranks;
  for (std::uint32_t rank = 0; rank < endpoint.rank_count(); ++rank) {
    ranks.emplace_back(rank);
  }
  return ranks;
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

void throw_unless_usable(CommId comm) {
  if (comm.value() >= collective_bit && !is_internal(comm)) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("communicator {} of a group is not below {}: the ids above are for its collectives",
                            comm.value(),
                            collective_bit)};
  }
}

void throw_unless_filled(const Endpoint& endpoint, const RankGrid& grid) {
  if (std::uint64_t{grid.rows} * grid.columns != endpoint.rank_count()) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("a grid of {} x {} does not hold {} ranks", grid.rows, grid.columns, endpoint.rank_count())};
  }
}

}  // namespace

Group::Group(Endpoint& endpoint, CommId comm) : Group{endpoint, all_ranks(endpoint), comm} {}

Group::Group(Endpoint& endpoint, std::vector<Rank> members, CommId comm) {
  throw_unless_usable(comm);
  const std::size_t self = place_of_self(endpoint, members);
  state_ =
      std::make_shared<State>(State{.endpoint = &endpoint, .comm = comm, .members = std::move(members), .self = self});
}

Endpoint& Group::endpoint() const noexcept {
  return *state_->endpoint;
}

std::size_t Group::size() const noexcept {
  return state_->members.size();
}

std::size_t Group::self() const noexcept {
  return state_->self;
}

Rank Group::rank(std::size_t member) const {
  expect(member < size(), "a group's members are counted from 0");
  return state_->members[member];
}

CommId Group::comm() const noexcept {
  return state_->comm;
}

void Group::set_nodes(std::vector<std::uint32_t> nodes) {
  if (nodes.size() != size()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("{} node numbers for a group of {}: one a member is needed", nodes.size(), size())};
  }
  state_->nodes = std::move(nodes);
}

const std::vector<std::uint32_t>& Group::nodes() const noexcept {
  return state_->nodes;
}

Group row_group(Endpoint& endpoint, const RankGrid& grid, CommId comm) {
  throw_unless_filled(endpoint, grid);
  const std::uint32_t first = endpoint.self().value() / grid.columns * grid.columns;
  std::vector<Rank> members;
  for (std::uint32_t column = 0; column < grid.columns; ++column) {
    members.emplace_back(first + column);
  }
  return {endpoint, std::move(members), comm};
}

Group column_group(Endpoint& endpoint, const RankGrid& grid, CommId comm) {
  throw_unless_filled(endpoint, grid);
  const std::uint32_t first = endpoint.self().value() % grid.columns;
  std::vector<Rank> members;
  for (std::uint32_t row = 0; row < grid.rows; ++row) {
    members.emplace_back(first + row * grid.columns);
  }
  return {endpoint, std::move(members), comm};
}

}  // namespace plait::comm
