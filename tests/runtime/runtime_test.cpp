// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/runtime.hpp"

#include <cstring>
#include <stdexcept>

#include <gtest/gtest.h>

#include "runtime/loopback_run.hpp"

namespace plait {
namespace {

TEST(Runtime, two_in_one_process_do_not_meet) {
  net::LoopbackNetwork first_network{1};
  net::LoopbackNetwork second_network{1};
  Runtime first{first_network.driver(Rank{0}), {}};
  Runtime second{second_network.driver(Rank{0}), {.worker_count = 2}};
  Bytes received;
  comm::Request receive = first.messages().receive({Rank{0}, Tag{1}}, received);
  Bytes other;
  comm::Request never = second.messages().receive({Rank{0}, Tag{1}}, other);
  const Bytes sent(10);
  first.messages().send({Rank{0}, Tag{1}}, sent).wait();
  receive.wait();
  EXPECT_FALSE(never.test());
  EXPECT_TRUE(never.cancel());
}

TEST(Runtime, ends_only_when_what_was_sent_has_been_taken) {
  // Rank 0 leaves at once after sending a long message, which needs its help until the other has it.
  Bytes received;
  test::run_on_loopback(2, {}, [&](Runtime& runtime) {
    if (runtime.self() == Rank{0}) {
      static const Bytes sent(1'000'000);
      comm::Request request = runtime.messages().send({Rank{1}, Tag{1}}, sent);
      return;
    }
    runtime.messages().receive({Rank{0}, Tag{1}}, received).wait();
  });
  EXPECT_EQ(received.size(), 1'000'000U);
}

TEST(Runtime, does_not_wait_for_others_when_an_exception_leaves) {
  EXPECT_THROW(test::run_on_loopback(2,
                                     {},
                                     [](Runtime& runtime) {
                                       if (runtime.self() == Rank{0}) {
                                         runtime.messages().stop_all(Error{ErrorCode::bad_input, "no such file"});
                                         throw std::runtime_error{"out"};
                                       }
                                       Bytes never;
                                       runtime.messages().receive({Rank{0}, Tag{1}}, never).wait();
                                     }),
               std::runtime_error);
}

TEST(Runtime, refuses_to_work_without_workers) {
  EXPECT_THROW(test::run_on_loopback(1, {.worker_count = 0}, [](Runtime&) {}), Error);
}

}  // namespace
}  // namespace plait
