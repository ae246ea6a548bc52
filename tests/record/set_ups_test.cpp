// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "record/run.hpp"

namespace plait::record::test::set_ups_test {
namespace {

using trace::CallClass;
using trace::CallEvent;
using trace::MessageDirection;
using trace::MessageEvent;

constexpr std::size_t many = 10'000;

trace::RunTrace set_ups(int ranks, std::size_t communicators) {
  const auto file = std::filesystem::temp_directory_path() / fmt::format("plait-record-file-{}", ::getpid());
  return recorded("set_ups", ranks, fmt::format("'{}' {}", file.string(), communicators));
}

class SetUps : public testing::TestWithParam<int> {};

TEST_P(SetUps, give_each_communicator_a_number_that_all_its_members_share) {
  const auto n = static_cast<std::uint32_t>(GetParam());
  const trace::RunTrace run = set_ups(GetParam(), 10);
  ASSERT_EQ(run.ranks.size(), n);
  using Key = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>;  // tag, from, to, communicator
  std::set<Key> sent;
  std::set<Key> received;
  std::map<std::uint64_t, std::set<std::uint32_t>> numbers;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    for (const MessageEvent& message : messages_of(run.ranks[rank], MessageDirection::sent)) {
      sent.emplace(message.tag.value(), rank, message.peer.value(), message.communicator);
      numbers[message.tag.value()].insert(message.communicator);
    }
    for (const MessageEvent& message : messages_of(run.ranks[rank], MessageDirection::received)) {
      received.emplace(message.tag.value(), message.peer.value(), rank, message.communicator);
      EXPECT_TRUE(run.ranks[rank].communicators.contains(message.communicator));
    }
  }
  EXPECT_EQ(sent, received);
  EXPECT_EQ(numbers.at(1).size(), 1U);
  EXPECT_EQ(numbers.at(3).size(), n > 1 ? 2U : 1U) << "halves of a communicator are two";
  std::set<std::uint32_t> all;
  std::size_t sum = 0;
  for (const auto& [tag, some] : numbers) {
    all.insert(some.begin(), some.end());
    sum += some.size();
    for (const std::uint32_t number : some) {
      EXPECT_LT(number, 0xffff'fff0U);
      EXPECT_NE(number, 0U);
    }
  }
  EXPECT_EQ(all.size(), sum) << "no two have the same number";
}

TEST_P(SetUps, translate_ranks_of_communicators_into_ranks_of_the_run) {
  const auto n = static_cast<std::uint32_t>(GetParam());
  const trace::RunTrace run = set_ups(GetParam(), 10);
  ASSERT_EQ(run.ranks.size(), n);
  // In the one that counts backwards, the last member is rank 0.
  for (const MessageEvent& message : messages_of(run.ranks[0], MessageDirection::sent)) {
    if (message.tag.value() == 2) {
      EXPECT_EQ(message.peer.value(), n - 1);
      std::vector<std::uint32_t> backwards;
      for (std::uint32_t rank = n; rank-- > 0;) {
        backwards.push_back(rank);
      }
      EXPECT_EQ(run.ranks[0].communicators.at(message.communicator), backwards);
      return;
    }
  }
  FAIL() << "no such message";
}

INSTANTIATE_TEST_SUITE_P(ranks, SetUps, testing::Values(1, 2, 4));

TEST(InterCommunicators, name_peers_of_the_other_side) {
  const trace::RunTrace run = set_ups(4, 10);
  ASSERT_EQ(run.ranks.size(), 4U);
  const auto across = [&](std::uint32_t rank, MessageDirection direction) {
    std::vector<MessageEvent> found = messages_of(run.ranks[rank], direction);
    std::erase_if(found, [](const MessageEvent& message) { return message.tag.value() != 5; });
    return found;
  };
  ASSERT_EQ(across(0, MessageDirection::sent).size(), 1U);
  ASSERT_EQ(across(1, MessageDirection::received).size(), 1U);
  EXPECT_EQ(across(0, MessageDirection::sent)[0].peer.value(), 1U);
  EXPECT_EQ(across(1, MessageDirection::received)[0].peer.value(), 0U);
  EXPECT_EQ(run.ranks[2].communicators.at(across(0, MessageDirection::sent)[0].communicator).size(), 4U);
}

TEST(OneSided, tells_targets_as_ranks_of_the_run_and_bytes) {
  const trace::RunTrace run = set_ups(4, 10);
  ASSERT_EQ(run.ranks.size(), 4U);
  const CallEvent put = calls_of(run.ranks[3], "MPI_Put").at(0);
  EXPECT_EQ(put.what, CallClass::one_sided);
  EXPECT_EQ(put.peer, 1U) << "member 0 of the odd half";
  EXPECT_EQ(put.bytes_given, 8U);
  EXPECT_EQ(calls_of(run.ranks[3], "MPI_Get").at(0).bytes_got, 8U);
  EXPECT_EQ(calls_of(run.ranks[3], "MPI_Win_fence").size(), 3U);
}

TEST(Files, tell_their_bytes) {
  const trace::RunTrace run = set_ups(2, 10);
  ASSERT_EQ(run.ranks.size(), 2U);
  const CallEvent write = calls_of(run.ranks[1], "MPI_File_write_at_all").at(0);
  EXPECT_EQ(write.what, CallClass::file);
  EXPECT_EQ(write.bytes_given, 32U);
  EXPECT_EQ(write.communicator, 0U);
  for (const auto& call : run.ranks[1].calls) {
    EXPECT_NE(run.ranks[1].name(trace::Role::function, call.event.function), "MPI_Type_size")
        << "what the file part of MPI calls itself is not the program's";
  }
}

TEST(ManyCommunicators, are_all_told_apart) {
  const trace::RunTrace run = set_ups(1, many);
  ASSERT_EQ(run.ranks.size(), 1U);
  std::set<std::uint32_t> numbers;
  for (const CallEvent& barrier : calls_of(run.ranks[0], "MPI_Barrier")) {
    numbers.insert(barrier.communicator);
  }
  EXPECT_EQ(numbers.size(), many);
}

}  // namespace
}  // namespace plait::record::test::set_ups_test
