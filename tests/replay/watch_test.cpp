// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/watch.hpp"

#include <future>

#include <gtest/gtest.h>

#include "replay/echo_backend.hpp"
#include "replay/hand_made.hpp"

namespace plait::replay::watch_test {
namespace {

TEST(Watch, names_the_message_for_which_a_replay_stands_still) {
  HandMade made{1};
  made.receive(0, 0, 42, 512);
  RankPart part = divide(made.get()).at(0);
  EchoBackend backend;
  Player player{backend, part, {}};
  std::promise<std::string> told;
  const Watch watch{player, nanoseconds{std::chrono::milliseconds{20}}, [&](const std::string& sentence) {
                      told.set_value(sentence);
                      backend.send(OperationId{0}, {Rank{0}, 0, 42}, {});  // so that it ends
                    }};
  const SteadyClock clock;
  trace::Recorder recorder{clock};
  static_cast<void>(player.play(recorder));
  const std::string sentence = told.get_future().get();
  EXPECT_NE(sentence.find("rank 0 receives 512 bytes from rank 0, tag 42"), std::string::npos) << sentence;
}

TEST(StallAfter, allows_for_what_the_log_does_not_begin) {
  HandMade made{1};
  made.add(0, {.action = Action::compute, .took = std::chrono::seconds{5}});
  const RankPart part = divide(made.get()).at(0);
  EXPECT_EQ(stall_after(2, part, {}), nanoseconds{std::chrono::seconds{7}});
  EXPECT_EQ(stall_after(2, part, {.computing = Computing::drop}), nanoseconds{std::chrono::seconds{2}});
  EXPECT_EQ(stall_after(0, part, {}), nanoseconds{});
}

}  // namespace
}  // namespace plait::replay::watch_test
