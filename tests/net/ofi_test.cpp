// SPDX-License-Identifier: Apache-2.0
// What the driver over libfabric does beside what all drivers do: options, other providers, and peers that end.
#include <chrono>
#include <concepts>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/net/ofi/ofi_driver.hpp"

#include "net/conformance.hpp"
#include "net/meeting_point.hpp"
#include "net/processes.hpp"

namespace plait::net::conformance::ofi_test {
namespace {

/// Longer than anything takes, on two slow cores under a sanitizer.
constexpr std::chrono::seconds time_max{60};

Exchange alone() {
  return [](std::span<const std::byte> mine) { return std::vector<Bytes>{Bytes(mine.begin(), mine.end())}; };
}

/// The error of the driver of a lone rank for these options; empty when it accepts them.
std::string complaint(const OfiOptions& options) {
  try {
    const auto driver = make_ofi_driver(Rank{0}, 1, alone(), options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_argument);
    return error.what();
  }
  return {};
}

/// Polls until `fact` holds.
template <class Fact>
void poll_until(Player& player, Fact fact) {
  const auto start = std::chrono::steady_clock::now();
  while (!fact()) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, time_max) << "what is waited for does not come";
    player.poll();
  }
}

/// The error of a rank that waits for ever for one that has ended, doing `meanwhile`.
Error trouble_of(Player& player, const std::function<void()>& meanwhile = [] {}) {
  try {
    poll_until(player, [&] {
      meanwhile();
      return false;
    });
  } catch (const Error& error) {
    return error;
  }
  return Error{ErrorCode::timeout, "no error was reported"};
}

void expect_loss_of(Rank peer, const Error& error) {
  EXPECT_EQ(error.code(), ErrorCode::network) << error.what();
  EXPECT_EQ(error.rank(), peer) << error.what();
}

/// Sends a number round the ring, so that neighbours know each other.
void greet(Player& player) {
  poll_until(player, [&] { return player.send_number(player.next(), 1); });
  poll_until(player, [&] { return !player.arrivals.empty(); });
  player.driver().recycle(std::move(player.arrivals.front().packet));
  player.arrivals.clear();
}

TEST(OfiDriver, names_its_provider) {
  EXPECT_EQ(std::string{(make_ofi_driver(Rank{0}, 1, alone(), {.provider = "tcp"})->name())}.substr(0, 8), "ofi (tcp");
  EXPECT_EQ(std::string{(make_ofi_driver(Rank{0}, 1, alone(), {.provider = "shm"})->name())}.substr(0, 8), "ofi (shm");
}

TEST(OfiDriver, chooses_a_provider_by_itself) {
  EXPECT_EQ(complaint({}), "");
}

TEST(OfiDriver, takes_an_address_or_an_interface) {
  EXPECT_EQ(complaint({.provider = "tcp", .node = "127.0.0.1"}), "");
  EXPECT_EQ(complaint({.provider = "tcp", .node = "lo"}), "");
}

TEST(OfiDriver, tells_which_providers_there_are_instead_of_one_that_is_not) {
  const std::string sentence = complaint({.provider = "carrier_pigeon"});
  EXPECT_NE(sentence.find("carrier_pigeon"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("tcp"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("shm"), std::string::npos) << sentence;
}

TEST(OfiDriver, refuses_an_address_that_this_host_does_not_have) {
  const std::string sentence = complaint({.provider = "tcp", .node = "203.0.113.7"});
  EXPECT_NE(sentence.find("203.0.113.7"), std::string::npos) << sentence;
}

TEST(OfiDriver, refuses_options_that_make_no_sense) {
  EXPECT_NE(complaint({.transfers = {.packet_bytes_max = 10}}), "");
  EXPECT_NE(complaint({.transfers = {.receives_posted = 0}}), "");
  EXPECT_NE(complaint({.transfers = {.bulk_slot_count = 0}}), "");
  EXPECT_NE(complaint({.transfers = {.bulk_chunk_bytes = 0}}), "");
}

TEST(OfiDriver, refuses_ranks_that_have_different_providers) {
  MeetingPoint meeting{2};
  const Endings endings = run_in_processes(2, [&](Rank self) {
    const std::string provider = self == Rank{0} ? "tcp" : "shm";
    const auto make = [&] { (void)make_ofi_driver(self, 2, meeting.exchange_of(self), {.provider = provider}); };
    EXPECT_THROW(make(), Error);
  });
  EXPECT_EQ(endings, Endings(2, 0));
}

TEST(OfiDriver, takes_another_name_in_shared_memory_when_a_process_that_was_killed_has_left_the_first) {
  const Endings endings = run_in_processes(1, [](Rank) {
    const auto first = make_ofi_driver(Rank{0}, 1, alone(), {.provider = "shm"});
    const std::string mine = std::to_string(getpid()) + ":";  // and user, and a count
    std::filesystem::path taken;
    for (const auto& file : std::filesystem::directory_iterator{"/dev/shm"}) {
      taken = file.path().filename().string().starts_with(mine) ? file.path() : taken;
    }
    ASSERT_FALSE(taken.empty());
    const std::size_t count_at = taken.string().rfind(':') + 1;
    const std::string next =
        taken.string().substr(0, count_at) + std::to_string(std::stoi(taken.string().substr(count_at)) + 1);
    std::filesystem::copy_file(taken, next);
    EXPECT_NO_THROW((void)make_ofi_driver(Rank{0}, 1, alone(), {.provider = "shm"}));
    std::filesystem::remove(next);
  });
  EXPECT_EQ(endings, Endings(1, 0));
}

class OfiPeers : public testing::TestWithParam<std::string> {
 protected:
  /// Plays `part` in a process for each rank, once neighbours know each other.
  template <std::invocable<Driver&, Player&> Part>
  static Endings play(std::uint32_t rank_count, Part part) {
    MeetingPoint meeting{rank_count};
    return run_in_processes(rank_count, [&](Rank self) {
      const auto driver = make_ofi_driver(self, rank_count, meeting.exchange_of(self), {.provider = GetParam()});
      Player player{*driver};
      greet(player);
      part(*driver, player);
    });
  }
};

TEST_P(OfiPeers, that_die_are_named_to_whoever_waits) {
  const Endings endings = play(2, [&](Driver& driver, Player& player) {
    if (driver.self() == Rank{1}) {
      kill(getpid(), SIGKILL);
    }
    std::vector<std::byte> buffer(100000);
    EXPECT_EQ(driver.receive_bulk({Rank{1}, BulkSlot{0}, buffer, 1}), Post::posted);
    expect_loss_of(Rank{1}, trouble_of(player));
    EXPECT_THROW(static_cast<void>(player.send_number(Rank{1}, 1)), Error);
  });
  EXPECT_EQ(endings.front(), 0) << "rank 0 failed; see above";
}

TEST_P(OfiPeers, that_die_are_named_to_whoever_sends) {
  const Endings endings = play(2, [&](Driver& driver, Player& player) {
    if (driver.self() == Rank{1}) {
      kill(getpid(), SIGKILL);
    }
    const std::vector<std::byte> bytes(5000);
    expect_loss_of(Rank{1}, trouble_of(player, [&] { static_cast<void>(player.send(Rank{1}, bytes)); }));
  });
  EXPECT_EQ(endings.front(), 0) << "rank 0 failed; see above";
}

TEST_P(OfiPeers, that_leave_are_no_trouble_when_nothing_is_in_flight) {
  const Endings endings = play(3, [&](Driver& driver, Player& player) {
    if (driver.self() == Rank{1}) {
      return;
    }
    // Long enough for several checks of the peers.
    const auto start = std::chrono::steady_clock::now();
    poll_until(player, [&] { return std::chrono::steady_clock::now() - start > std::chrono::milliseconds{500}; });
    poll_until(player, [&] { return player.send_number(Rank{2 - player.rank()}, 1); });
    poll_until(player, [&] { return !player.arrivals.empty(); });
    EXPECT_TRUE(player.send_number(Rank{1}, 1)) << "what is sent to a rank that has ended vanishes";
  });
  EXPECT_EQ(endings, Endings(3, 0)) << "a rank failed; see above";
}

TEST_P(OfiPeers, that_leave_are_named_to_whoever_waits_for_their_data) {
  const Endings endings = play(2, [&](Driver& driver, Player& player) {
    if (driver.self() == Rank{1}) {
      return;
    }
    std::vector<std::byte> buffer(1000);
    EXPECT_EQ(driver.receive_bulk({Rank{1}, BulkSlot{0}, buffer, 1}), Post::posted);
    expect_loss_of(Rank{1}, trouble_of(player));
  });
  EXPECT_EQ(endings, Endings(2, 0)) << "a rank failed; see above";
}

TEST_P(OfiPeers, may_end_with_things_in_flight) {
  MeetingPoint meeting{2};
  const Endings endings = run_in_processes(2, [&](Rank self) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::byte> buffer(100000);
    {
      const auto driver = make_ofi_driver(self, 2, meeting.exchange_of(self), {.provider = GetParam()});
      Player player{*driver};
      greet(player);
      EXPECT_EQ(driver->receive_bulk({player.next(), BulkSlot{0}, buffer, 1}), Post::posted);
      EXPECT_EQ(driver->send_bulk({player.next(), BulkSlot{1}, buffer, 2}), Post::posted);
      meeting.meet();  // the first to end would be a peer without its driver
    }
    EXPECT_LT(std::chrono::steady_clock::now() - start, time_max);
  });
  EXPECT_EQ(endings, Endings(2, 0)) << "a rank failed; see above";
}

INSTANTIATE_TEST_SUITE_P(Both, OfiPeers, testing::Values("tcp", "shm"), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace plait::net::conformance::ofi_test
