// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "plait/base/random.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// A schedule written down call by call; each rank has one stream. Operations are logged 1 us after one another.
class HandMade {
 public:
  explicit HandMade(std::uint32_t ranks) {
    schedule_.ranks.resize(ranks);
    for (RankSchedule& rank : schedule_.ranks) {
      rank.streams.push_back({.name = "main"});
    }
  }

  /// The number of the operation in its stream.
  std::uint32_t add(std::uint32_t rank, Operation operation) {
    Stream& stream = schedule_.ranks[rank].streams.front();
    operation.at = nanoseconds{1000 * static_cast<int>(stream.operations.size())};
    stream.operations.push_back(operation);
    return static_cast<std::uint32_t>(stream.operations.size() - 1);
  }
  std::uint32_t send(
      std::uint32_t rank, std::uint32_t to, std::uint64_t tag, std::uint64_t bytes, std::uint32_t in = 0) {
    return add(rank, {.action = Action::send, .communicator = in, .peer = to, .tag = tag, .bytes = bytes});
  }
  std::uint32_t receive(
      std::uint32_t rank, std::uint32_t from, std::uint64_t tag, std::uint64_t bytes, std::uint32_t in = 0) {
    return add(rank, {.action = Action::receive, .communicator = in, .peer = from, .tag = tag, .bytes = bytes});
  }
  void wait(std::uint32_t rank, const std::vector<std::uint32_t>& operations) {
    Stream& stream = schedule_.ranks[rank].streams.front();
    const auto first = static_cast<std::uint32_t>(stream.waited.size());
    stream.waited.insert(stream.waited.end(), operations.begin(), operations.end());
    add(rank, {.action = Action::wait, .first = first, .count = static_cast<std::uint32_t>(operations.size())});
  }
  void shares(std::uint32_t rank, std::uint32_t operation, const std::vector<std::uint64_t>& bytes) {
    Stream& stream = schedule_.ranks[rank].streams.front();
    stream.operations[operation].first = static_cast<std::uint32_t>(stream.shares.size());
    stream.operations[operation].count = static_cast<std::uint32_t>(bytes.size());
    stream.shares.insert(stream.shares.end(), bytes.begin(), bytes.end());
  }

  [[nodiscard]] Schedule& get() { return schedule_; }

 private:
  Schedule schedule_;
};

/// Two threads of rank 0: the second sends what the first has computed in 5 us. The first goes on for 2 us when the
/// second has the answer of rank 1.
inline Schedule two_threads() {
  using std::chrono::microseconds;
  Schedule schedule;
  schedule.ranks.resize(2);
  const auto add = [&](std::uint32_t rank, Stream stream) {
    for (std::size_t i = 0; i < stream.operations.size(); ++i) {
      stream.operations[i].at = microseconds{5 * i};
    }
    schedule.ranks[rank].streams.push_back(std::move(stream));
  };
  add(0,
      {.name = "computes",
       .operations = {{.action = Action::compute, .took = microseconds{5}},
                      {.action = Action::after, .count = 1},
                      {.action = Action::compute, .took = microseconds{2}}},
       .others = {{1, 3}}});
  add(0,
      {.name = "exchanges",
       .operations = {{.action = Action::after, .count = 1},
                      {.action = Action::send, .peer = 1, .tag = 4, .bytes = 100},
                      {.action = Action::receive, .peer = 1, .tag = 5, .bytes = 100},
                      {.action = Action::wait, .count = 2}},
       .waited = {1, 2},
       .others = {{0, 0}}});
  add(1,
      {.name = "answers",
       .operations = {{.action = Action::receive, .peer = 0, .tag = 4, .bytes = 100},
                      {.action = Action::wait, .count = 1},
                      {.action = Action::send, .peer = 0, .tag = 5, .bytes = 100},
                      {.action = Action::wait, .first = 1, .count = 1}},
       .waited = {0, 2}});
  return schedule;
}

/// Messages of any size, empty ones too, between any two ranks, the same one too, in rounds of 20, after which each
/// rank waits for its own. One of six is in a communicator of the even ranks.
inline Schedule random_exchange(std::uint32_t ranks, std::uint32_t messages, std::uint64_t seed) {
  HandMade made{ranks};
  for (std::uint32_t rank = 0; rank < ranks; rank += 2) {
    made.get().communicators[5].push_back(rank);
  }
  Random random{seed};
  std::vector<std::vector<std::uint32_t>> begun(ranks);
  for (std::uint32_t i = 0; i < messages; ++i) {
    auto from = static_cast<std::uint32_t>(random.below(ranks));
    auto to = static_cast<std::uint32_t>(random.below(ranks));
    const bool is_even = random.below(6) == 0;
    from -= is_even ? from % 2 : 0;
    to -= is_even ? to % 2 : 0;
    const std::uint64_t bytes = random.below(4) == 0 ? random.below(300'000) : random.below(200);
    const std::uint64_t tag = random.below(3);
    begun[to].push_back(made.receive(to, from, tag, bytes, is_even ? 5 : 0));
    begun[from].push_back(made.send(from, to, tag, bytes, is_even ? 5 : 0));
    if (i % 20 == 19 || i + 1 == messages) {
      for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        made.wait(rank, std::exchange(begun[rank], {}));
      }
    }
  }
  return made.get();
}

}  // namespace plait::replay
