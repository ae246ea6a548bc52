// SPDX-License-Identifier: Apache-2.0
// What surrounds an engine: the network with its first failure, waiting threads, notifications without the lock.
#include "plait/comm/detail/core.hpp"

#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"

namespace plait::comm::detail::core_test {
namespace {

constexpr Rank r0{0};

/// Refuses or throws, as the test sets it.
class BadDriver final : public net::Driver {
 public:
  BadDriver() : Driver{{.name = "bad", .self = r0, .rank_count = 1, .packet_bytes_max = 1024}} {}

  net::Packet acquire() override { return net::Packet{packet_bytes_max()}; }
  void recycle(net::Packet&& /*packet*/) noexcept override {}
  net::Post send(Rank /*to*/, net::Packet&& /*packet*/) override { return post(); }
  net::Post send_bulk(const net::BulkSend& /*bulk*/) override { return post(); }
  net::Post receive_bulk(const net::BulkReceive& /*bulk*/) override { return post(); }
  net::Polled poll(std::span<net::Arrival> /*arrivals*/, std::span<net::BulkDone> /*bulk*/) override {
    return {.bulk = 1};
  }
  bool is_idle() const noexcept override { return true; }
  bool is_busy(Rank /*to*/) const noexcept override { return false; }

  const char* error = nullptr;
  net::Post answer = net::Post::posted;

 private:
  net::Post post() const {
    if (error != nullptr) {
      throw Error{ErrorCode::network, error};
    }
    return answer;
  }
};

TEST(Network, counts_packets_and_bulk_transfers_in_flight) {
  BadDriver driver;
  Activity activity;
  Network network{driver, activity};
  net::Packet packet = driver.acquire();
  EXPECT_TRUE(network.send(r0, packet));
  EXPECT_TRUE(network.is_busy());
  network.note_idle();
  EXPECT_FALSE(network.is_busy());
  EXPECT_TRUE(network.receive_bulk({}));
  EXPECT_TRUE(network.send_bulk({}));
  (void)network.poll({}, {});
  EXPECT_TRUE(activity.is_moving_bulk()) << "one of two has ended";
  driver.answer = net::Post::retry;
  EXPECT_FALSE(network.send(r0, packet));
  EXPECT_FALSE(network.send_bulk({}));
  (void)network.poll({}, {});
  EXPECT_FALSE(activity.is_moving_bulk());
  EXPECT_EQ(activity.packet_count(), 1U);
}

TEST(Network, refuses_posts_of_a_failed_driver_and_keeps_the_first_error) {
  BadDriver driver;
  Activity activity;
  Network network{driver, activity};
  driver.error = "first";
  net::Packet packet = driver.acquire();
  EXPECT_FALSE(network.send(r0, packet));
  driver.error = "second";
  EXPECT_FALSE(network.receive_bulk({}));
  network.fail(Error{ErrorCode::peer_failed, "third"});
  ASSERT_TRUE(network.failure());
  EXPECT_STREQ(network.failure()->what(), "first");
}

TEST(Waiters, give_the_role_to_one_and_wake_the_next_when_it_ends) {
  Waiters waiters;
  std::optional<Waiters::Role> first{std::in_place, waiters};
  EXPECT_TRUE(*first);
  EXPECT_FALSE(Waiters::Role{waiters});
  Sleeper sleeper;
  std::jthread sleeping{[&] { waiters.wait(sleeper); }};
  first.reset();
  sleeping.join();
  EXPECT_FALSE(sleeper.is_over());
  EXPECT_TRUE(Waiters::Role{waiters});
}

TEST(Waiters, wake_a_thread_whose_operation_completes) {
  Waiters waiters;
  const Waiters::Role role{waiters};
  const auto sleeper = std::make_shared<Sleeper>();
  std::jthread sleeping{[&] { waiters.wait(*sleeper); }};
  WakeUp{sleeper}.completed({});
  sleeping.join();
  EXPECT_TRUE(sleeper->is_over());
}

/// An endpoint's core on a network of one rank.
struct OneRank {
  SteadyClock clock;
  trace::Recorder recorder{clock};
  net::LoopbackNetwork network{1};
  std::unique_ptr<net::Driver> driver = network.driver(r0);
  Activity activity;
  Core core{*driver, recorder, {}, activity};
};

/// Uses the core when it is notified, which needs the lock.
struct Reentrant final : Completion {
  explicit Reentrant(Core& its_core) : core{its_core} {}
  void completed(const Status& /*status*/) noexcept override {
    outstanding = core.look_up([](Engine& engine) { return engine.completions().outstanding_count(); });
  }
  Core& core;
  std::optional<std::size_t> outstanding;
};

TEST(Core, notifies_with_the_lock_released) {
  OneRank rank;
  Reentrant completion{rank.core};
  auto* const receive = new Operation;
  receive->direction = net::TransferDirection::received;
  receive->envelope = {world, r0, Tag{1}};
  ASSERT_TRUE(receive->observers.attach(completion, Interest::until_completed));
  rank.core.act([&](Engine& engine) { engine.delivery().receive(*receive); });
  EXPECT_EQ(rank.activity.outstanding_count(), 1U);
  wire::Header header{.kind = wire::ChunkKind::eager, .comm = world.value(), .sequence = 1, .tag = 1};
  ASSERT_TRUE(rank.core.act([&](Engine& engine) { return engine.outbox().send_now(r0, header, {}); }));
  EXPECT_EQ(header.sequence, 0U);
  rank.core.wait_until([&] { return completion.outstanding.has_value(); });
  EXPECT_EQ(completion.outstanding, 0U);
}

TEST(Core, shows_a_failure_and_polls_no_more) {
  OneRank rank;
  rank.core.stop_all(Error{ErrorCode::user_task, "enough"});
  EXPECT_TRUE(rank.core.has_failed());
  EXPECT_EQ(rank.core.progress(), 0U);
  EXPECT_THROW(rank.core.wait_until([] { return false; }), Error);
}

TEST(Core, releases_what_it_keeps_after_its_engine) {
  std::weak_ptr<int> kept;
  {
    OneRank rank;
    const auto memory = std::shared_ptr<int>{new int, [&rank](const int* gone) {
                                               rank.core.release_comms(first_claimed_comm, 1);
                                               delete gone;
                                             }};
    kept = memory;
    rank.core.keep(memory);
  }
  EXPECT_TRUE(kept.expired());
}

}  // namespace
}  // namespace plait::comm::detail::core_test
