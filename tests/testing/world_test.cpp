// SPDX-License-Identifier: Apache-2.0
#include "plait/testing/world.hpp"

#include <atomic>
#include <future>
#include <stdexcept>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::test::world_test {
namespace {

using Body = std::function<void(comm::Endpoint&)>;

std::vector<std::exception_ptr> errors_with_endpoints(const World& world, const Body& body) {
  return run_threads(world, [&](std::unique_ptr<net::Driver> driver, const Perform& perform) {
    const SteadyClock clock;
    trace::Recorder recorder{clock};
    comm::Endpoint messages{*driver, recorder};
    perform(messages, [&] { body(messages); });
  });
}

/// Each rank receives from the one before it and sends to the one after it.
void pass_on(comm::Endpoint& messages) {
  const std::uint32_t ranks = messages.rank_count();
  const std::uint32_t self = messages.self().value();
  Bytes token;
  const Bytes mine(20'000, std::byte{static_cast<unsigned char>(self)});
  comm::Request receive = messages.receive({Rank{(self + ranks - 1) % ranks}, Tag{1}}, token);
  comm::Request send = messages.send({Rank{(self + 1) % ranks}, Tag{1}}, mine);
  receive.wait();
  send.wait();
  if (token != Bytes(20'000, std::byte{static_cast<unsigned char>((self + ranks - 1) % ranks)})) {
    throw std::runtime_error{"another token"};
  }
}

TEST(World, connects_its_ranks_by_memory_or_by_a_simulated_network) {
  EXPECT_NO_THROW(throw_first(errors_with_endpoints({.ranks = 5}, pass_on)));
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const net::SimOptions rough{
        .seed = seed, .delay_max = nanoseconds{5000}, .order = net::SimOrder::free, .retry_probability = 0.3};
    EXPECT_NO_THROW(throw_first(errors_with_endpoints({.ranks = 3, .network = rough}, pass_on))) << "seed " << seed;
  }
}

TEST(World, lets_the_others_finish_when_a_rank_has_failed) {
  // Rank 0 fails with data on its way, for which rank 1 needs its progress.
  const Bytes sent(1'000'000);
  std::atomic<std::size_t> received = 0;
  const auto errors = errors_with_endpoints({.ranks = 2}, [&](comm::Endpoint& messages) {
    if (messages.self() == Rank{0}) {
      comm::Request send = messages.send({Rank{1}, Tag{1}}, sent);
      throw std::runtime_error{"out"};
    }
    Bytes bytes;
    messages.receive({Rank{0}, Tag{1}}, bytes).wait();
    received = bytes.size();
  });
  EXPECT_EQ(received, sent.size());
  EXPECT_EQ(texts_of(errors), (std::vector<std::string>{"out", ""}));
}

TEST(World, stops_ranks_that_wait_beyond_the_limit) {
  const World world{.ranks = 2, .time_max = std::chrono::milliseconds{100}};
  const auto errors = errors_with_endpoints(world, [](comm::Endpoint& messages) {
    if (messages.self() == Rank{1}) {
      Bytes never;
      messages.receive({Rank{0}, Tag{1}}, never).wait();
    }
  });
  try {
    throw_first(errors);
    FAIL() << "a rank waited in vain";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::timeout);
    EXPECT_NE(std::string{error.what()}.find("after 100 ms: ranks 1 had not returned"), std::string::npos)
        << error.what();
  }
}

TEST(World, names_the_failed_rank_s_error_rather_than_those_of_ranks_that_waited_for_it) {
  const auto errors = errors_with_endpoints({.ranks = 3}, [](comm::Endpoint& messages) {
    if (messages.self() == Rank{2}) {
      throw std::runtime_error{"no particles"};
    }
    Bytes never;
    messages.receive({Rank{2}, Tag{1}}, never).wait();
  });
  EXPECT_NE(texts_of(errors)[0].find("a rank has failed"), std::string::npos);
  EXPECT_THROW(throw_first(errors), std::runtime_error);
  try {
    throw_first(errors);
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "no particles");
  }
}

TEST(World, reports_a_rank_that_could_not_be_made) {
  const auto errors = run_threads(
      {.ranks = 1}, [](std::unique_ptr<net::Driver>, const Perform&) { throw std::runtime_error{"no such rank"}; });
  EXPECT_EQ(texts_of(errors).front(), "no such rank");
}

void leave_a_rank_asleep() {
  const World world{.ranks = 2, .time_max = std::chrono::milliseconds{50}};
  (void)errors_with_endpoints(world, [](comm::Endpoint& messages) {
    if (messages.self() == Rank{1}) {
      std::promise<void> never;
      never.get_future().wait_for(std::chrono::seconds{60});
    }
  });
}

TEST(WorldDeathTest, ends_the_process_when_a_rank_never_polls) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(leave_a_rank_asleep(), "ranks 1 neither return nor poll");
}

}  // namespace
}  // namespace plait::test::world_test
