// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/player.hpp"

#include <gtest/gtest.h>

#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

#include "replay/echo_backend.hpp"
#include "replay/hand_made.hpp"

namespace plait::replay::player_test {
namespace {

using Log = std::vector<std::string>;

/// Plays the only rank of a schedule, once.
Played play(const Schedule& schedule, EchoBackend& backend, const PlayOptions& options = {}) {
  const RankPart part = divide(schedule).at(0);
  Player player{backend, part, options};
  const SteadyClock clock;
  trace::Recorder recorder{clock};
  return player.play(recorder);
}

HandMade send_and_receive() {
  HandMade made{1};
  made.receive(0, 0, 7, 1000);
  made.send(0, 0, 7, 1000);
  made.wait(0, {0, 1});
  return made;
}

TEST(Player, does_everything_in_logged_order) {
  HandMade made = send_and_receive();
  made.add(0, {.action = Action::poll});
  made.add(0, {.action = Action::collective, .collective = Collective::barrier});
  EchoBackend backend;
  const Played played = play(made.get(), backend);
  EXPECT_EQ(backend.log, (Log{"receive", "send", "wait", "progress", "collective"}));
  EXPECT_EQ(played.messages, 2U);
  EXPECT_EQ(played.bytes, 2000U);
  EXPECT_EQ(played.calls.at("wait").size(), 1U);
}

TEST(Player, lets_a_thread_wait_for_another) {
  Schedule schedule = two_threads();
  schedule.ranks.pop_back();
  for (Operation& operation : schedule.ranks[0].streams[1].operations) {
    operation.peer = operation.action == Action::send || operation.action == Action::receive ? 0 : operation.peer;
    operation.tag = 4;
  }
  schedule.ranks[0].streams[0].operations[0].took = std::chrono::milliseconds{3};
  schedule.ranks[0].streams[0].operations[2].took = std::chrono::milliseconds{2};
  for (const PlayOptions& options : {PlayOptions{}, PlayOptions{.threads = {}}}) {
    EchoBackend backend;
    const Played played = play(schedule, backend, options);
    EXPECT_GE(played.end - played.begin, nanoseconds{std::chrono::milliseconds{5}}) << "one after the other";
    EXPECT_EQ(played.messages, 2U);
  }
}

TEST(Player, keeps_computing_or_drops_it) {
  HandMade made{1};
  made.add(0, {.action = Action::compute, .took = std::chrono::milliseconds{3}});
  EchoBackend backend;
  const Played kept = play(made.get(), backend);
  EXPECT_EQ(kept.computing, nanoseconds{std::chrono::milliseconds{3}});
  EXPECT_GE(kept.end - kept.begin, nanoseconds{std::chrono::milliseconds{3}});
  EXPECT_EQ(play(made.get(), backend, {.computing = Computing::drop}).computing, nanoseconds{});
}

TEST(Player, begins_nothing_before_its_logged_time) {
  HandMade made = send_and_receive();
  made.get().ranks[0].streams[0].operations[1].at = std::chrono::milliseconds{4};
  EchoBackend backend;
  const Played played = play(made.get(), backend, {.rate = 2});
  EXPECT_GE(played.end - played.begin, nanoseconds{std::chrono::milliseconds{2}});
}

TEST(Player, tells_of_a_message_that_came_changed) {
  HandMade made = send_and_receive();
  EchoBackend backend;
  static_cast<void>(play(made.get(), backend, {.payload = Payload::checked}));
  backend.damage = std::byte{1};
  try {
    static_cast<void>(play(made.get(), backend, {.payload = Payload::checked}));
    FAIL() << "the message was changed";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("rank 0 receives 1000 bytes from rank 0, tag 7"), std::string::npos)
        << error.what();
  }
}

TEST(Player, serves_streams_that_wait_for_one_another_with_any_threads) {
  HandMade made{1};
  made.wait(0, {made.receive(0, 0, 1, 50)});
  made.send(0, 0, 2, 60);
  Stream second{.name = "second"};
  second.operations = {{.action = Action::send, .peer = 0, .tag = 1, .bytes = 50},
                       {.action = Action::receive, .peer = 0, .tag = 2, .bytes = 60},
                       {.action = Action::wait, .first = 0, .count = 1}};
  second.waited = {1};
  made.get().ranks[0].streams.push_back(second);
  for (const char* const threads : {"one", "streams", "inject,sends,receives", "sends,inject+receives"}) {
    EchoBackend backend;
    const PlayOptions options{.threads = threads_from(threads).value(), .payload = Payload::checked};
    EXPECT_EQ(play(made.get(), backend, options).messages, 4U) << threads;
  }
}

TEST(Player, passes_on_what_a_backend_throws) {
  HandMade made{1};
  made.wait(0, {made.receive(0, 0, 1, 50)});
  EchoBackend backend;
  EXPECT_THROW(static_cast<void>(play(made.get(), backend)), Error);
}

TEST(Player, writes_a_log_with_the_messages_that_it_played) {
  const test::TemporaryFolder folder;
  HandMade made = send_and_receive();
  const RankPart part = divide(made.get()).at(0);
  EchoBackend backend;
  Player player{backend, part, {}};
  const SteadyClock clock;
  {
    trace::Recorder recorder{clock, {folder.path() / "run", Rank{0}, 1}};
    static_cast<void>(player.play(recorder));
  }
  const trace::RankTrace trace = trace::read_rank_trace(folder.path() / "run" / "rank-0000.plt").value();
  ASSERT_EQ(trace.messages.size(), 2U);
  for (const auto& [thread, message] : trace.messages) {
    EXPECT_EQ(message.peer, Rank{0});
    EXPECT_EQ(message.tag, Tag{7});
    EXPECT_EQ(message.bytes, 1000U);
    EXPECT_TRUE(message.is_matched_by_order);
    EXPECT_GT(message.completed, nanoseconds{});
  }
  EXPECT_EQ(trace.calls.size(), 3U);
}

}  // namespace
}  // namespace plait::replay::player_test
