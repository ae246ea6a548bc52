// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/collective_runs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/replay/predict/detail/engine.hpp"

namespace plait::replay::predicting {
namespace {

using detail::Round;
using detail::Rounds;

std::uint64_t joined(std::uint32_t high, std::uint32_t low) {
  return std::uint64_t{high} << 32U | low;
}

}  // namespace

std::uint32_t CollectiveRuns::member_of(std::uint32_t communicator, std::uint32_t rank) {
  if (communicator == 0) {
    return rank;
  }
  const auto [members, is_new] = members_.try_emplace(communicator);
  const auto known = schedule_.communicators.find(communicator);
  for (std::uint32_t i = 0; is_new && known != schedule_.communicators.end() && i < known->second.size(); ++i) {
    members->second[known->second[i]] = i;
  }
  const auto found = members->second.find(rank);
  if (found == members->second.end()) {
    throw Error{ErrorCode::bad_input,
                fmt::format("rank {} takes part in a collective of communicator {}, of which it is not a member in the "
                            "log",
                            rank,
                            communicator)};
  }
  return found->second;
}

void CollectiveRuns::begin(
    const Stream& stream, const Operation& operation, std::uint32_t number, std::uint32_t rank, Time now) {
  const auto known = schedule_.communicators.find(operation.communicator);
  std::span<const std::uint32_t> members;
  if (operation.communicator != 0 && known != schedule_.communicators.end()) {
    members = known->second;
  }
  const std::uint32_t member = member_of(operation.communicator, rank);
  const std::uint32_t root = operation.peer == trace::nothing ? 0 : member_of(operation.communicator, operation.peer);
  const auto count = static_cast<std::uint32_t>(members.empty() ? schedule_.ranks.size() : members.size());
  const bool has_shares = operation.count == count && operation.first + count <= stream.shares.size();
  Helper helper{.rounds = Rounds{{.kind = operation.collective,
                                  .member = member,
                                  .root = root,
                                  .members = count,
                                  .given = operation.bytes,
                                  .got = operation.bytes_got,
                                  .shares = has_shares ? stream.shares.data() + operation.first : nullptr}},
                .members = members,
                .operation = number,
                .rank = rank,
                .communicator = operation.communicator,
                .sequence = sequences_[joined(operation.communicator, rank)]++};
  std::uint32_t index = 0;
  if (free_helpers_.empty()) {
    index = static_cast<std::uint32_t>(helpers_.size());
    helpers_.push_back(helper);
  } else {
    index = free_helpers_.back();
    free_helpers_.pop_back();
    helpers_[index] = helper;
  }
  run(index, now);
}

void CollectiveRuns::run(std::uint32_t index, Time now) {
  if (helpers_[index].is_sending) {
    send_of_round(index, now);
  } else {
    begin_round(index, now);
  }
}

void CollectiveRuns::begin_round(std::uint32_t index, Time now) {
  Helper& helper = helpers_[index];
  Round round;
  while (true) {
    if (helper.round == helper.rounds.count()) {
      const std::uint32_t operation = helper.operation;
      free_helpers_.push_back(index);
      user_.complete(operation, now, 0);
      return;
    }
    round = helper.rounds.round(helper.round++);
    if (round.to != Round::no_member || round.from != Round::no_member) {
      break;
    }
  }
  const auto rank = [&helper](std::uint32_t member) {
    return helper.members.empty() ? member : helper.members[member];
  };
  const std::uint64_t tag = joined(helper.sequence, helper.round);
  // One more than posted, so that the round cannot complete before the send is posted.
  helper.remaining = 1 + (round.from != Round::no_member ? 1U : 0U);
  helper.ready = now;
  if (round.from != Round::no_member) {
    const MatchKey key{rank(round.from), helper.rank, helper.communicator, tag, true};
    (void)messages_.receive(index | helper_bit, key, 0, now);  // what searches here is not modelled
  }
  helper.ready += machine_.copying(round.added);
  if (round.to == Round::no_member) {
    complete(index, now, 0);
    return;
  }
  const Time sent = now + machine_.costs(helper.rank, rank(round.to)).sending(round.bytes);
  helper.is_sending = true;
  events_.push({sent, EventKind::helper, index});
}

void CollectiveRuns::send_of_round(std::uint32_t index, Time now) {
  Helper& helper = helpers_[index];
  const Round round = helper.rounds.round(helper.round - 1);
  const std::uint32_t to = helper.members.empty() ? round.to : helper.members[round.to];
  helper.is_sending = false;
  helper.ready = std::max(helper.ready, now);
  const MatchKey key{helper.rank, to, helper.communicator, joined(helper.sequence, helper.round), true};
  messages_.send(index | helper_bit, key, round.bytes, now);
}

void CollectiveRuns::complete(std::uint32_t helper, Time at, Time cost) {
  Helper& own = helpers_[helper];
  own.ready = std::max(own.ready, at) + cost;
  if (--own.remaining == 0) {
    events_.push({own.ready, EventKind::helper, helper});
  }
}

}  // namespace plait::replay::predicting
