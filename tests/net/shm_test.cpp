// SPDX-License-Identifier: Apache-2.0
// What shared memory can do wrong beyond the conformance cases: no room, options, peers that die or leave.
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <sched.h>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/net/shm/detail/meeting.hpp"
#include "plait/net/shm/shm_driver.hpp"

#include "net/meeting_point.hpp"
#include "net/processes.hpp"

namespace plait::net::shm_test {
namespace {

using conformance::Endings;
using conformance::MeetingPoint;
using conformance::run_in_processes;

constexpr ShmOptions quick{.watch_interval = std::chrono::milliseconds{5}};

std::unique_ptr<Driver> alone(const ShmOptions& options) {
  MeetingPoint point{1};
  return make_shm_driver(Rank{0}, 1, point.exchange_of(Rank{0}), options);
}

/// What `call` throws; nothing when it goes well.
std::optional<Error> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return {};
}

Post send(Driver& driver, Rank to, std::size_t size) {
  Packet packet = driver.acquire();
  packet.resize(size);
  std::memset(packet.data(), 1, size);
  return driver.send(to, std::move(packet));
}

/// Lets other ranks run for `time`.
void let_pass(std::chrono::milliseconds time) {
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
    std::this_thread::yield();
  }
}

Polled poll(Driver& driver) {
  std::vector<Arrival> arrivals(16);
  std::vector<BulkDone> bulk(16);
  return driver.poll(arrivals, bulk);
}

/// Polls until the driver throws. Nothing when it does not within half a minute.
std::optional<Error> error_while_waiting(Driver& driver) {
  return error_of([&] {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (std::chrono::steady_clock::now() < deadline) {
      static_cast<void>(poll(driver));
    }
  });
}

void expect_lost(const std::optional<Error>& error, Rank rank, const char* words) {
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::network);
  EXPECT_EQ(error->rank(), rank);
  EXPECT_NE(std::string{error->what()}.find(words), std::string::npos) << error->what();
}

TEST(ShmDriver, refuses_options_that_make_no_sense) {
  for (const ShmOptions& options : {ShmOptions{.packet_bytes_max = 10},
                                    ShmOptions{.ring_bytes_max = 0},
                                    ShmOptions{.ring_memory_bytes_max = 0},
                                    ShmOptions{.bulk_slot_count = 0},
                                    ShmOptions{.bulk_slot_count = 40000},
                                    ShmOptions{.bulk_piece_bytes_max = 0},
                                    ShmOptions{.bounce_bytes = 1},
                                    ShmOptions{.called = {Rank{0}, Rank{1}}}}) {
    const auto error = error_of([&] { (void)alone(options); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::bad_argument) << error->what();
  }
}

TEST(ShmDriver, sleeps_until_a_packet_comes) {
  constexpr std::chrono::seconds long_sleep{20};
  MeetingPoint point{2};
  const Endings endings = run_in_processes(2, [&](Rank rank) {
    const auto driver = make_shm_driver(rank, 2, point.exchange_of(rank), {});
    const auto start = std::chrono::steady_clock::now();
    if (rank == Rank{1}) {
      let_pass(std::chrono::milliseconds{50});  // the receiver sleeps by now
      ASSERT_NE(send(*driver, Rank{0}, 1), Post::retry);
    } else {
      ASSERT_TRUE(driver->announce_rest());
      for (Polled polled; polled.arrivals == 0; polled = poll(*driver)) {
        driver->rest(long_sleep);
      }
    }
    point.meet();
    EXPECT_LT(std::chrono::steady_clock::now() - start, long_sleep / 2);
  });
  EXPECT_EQ(endings, Endings(2, 0));
}

TEST(ShmDriver, sleeps_no_longer_than_told_and_until_it_is_woken) {
  const auto driver = alone({});
  ASSERT_TRUE(driver->announce_rest());
  driver->rest(std::chrono::milliseconds{1});
  const auto start = std::chrono::steady_clock::now();
  std::jthread other{[&] {
    let_pass(std::chrono::milliseconds{20});
    driver->wake();
  }};
  driver->rest(std::chrono::seconds{20});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds{10});
}

TEST(ShmDriver, refuses_different_options) {
  MeetingPoint point{2};
  const Endings endings = run_in_processes(2, [&](Rank rank) {
    const auto error = error_of([&] {
      (void)make_shm_driver(rank, 2, point.exchange_of(rank), {.packet_bytes_max = 1024 * (1 + rank.value())});
    });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::bad_argument);
  });
  EXPECT_EQ(endings, Endings(2, 0));
}

/// With single copy.
std::size_t bytes_of_segment(std::uint32_t rank_count, const ShmOptions& options = {}) {
  return detail::shm::layout_for(rank_count, options).total_bytes();
}

TEST(ShmDriver, needs_no_more_memory_with_many_ranks_until_rings_are_smallest) {
  const std::size_t one = bytes_of_segment(1);
  const std::size_t many = bytes_of_segment(64);
  EXPECT_LT(one, std::size_t{4} << 20U);
  EXPECT_LT(many, 64 * (std::size_t{5} << 20U));
  EXPECT_LT(bytes_of_segment(64, {.ring_memory_bytes_max = 1}), many);
}

TEST(ShmDriver, says_what_it_needs_when_memory_is_short) {
  constexpr std::size_t absurd = std::size_t{1} << 42U;
  MeetingPoint point{2};
  const Endings endings = run_in_processes(2, [&](Rank rank) {
    const auto error = error_of([&] {
      (void)make_shm_driver(
          rank, 2, point.exchange_of(rank), {.ring_bytes_max = absurd, .ring_memory_bytes_max = absurd});
    });
    ASSERT_TRUE(error) << "on all ranks";
    EXPECT_EQ(error->code(), ErrorCode::io);
    const std::string words = error->what();
    EXPECT_NE(words.find("MiB are needed in /dev/shm for 2 ranks"), std::string::npos) << words;
    EXPECT_NE(words.find("ring_memory_bytes_max"), std::string::npos) << words;
  });
  EXPECT_EQ(endings, Endings(2, 0));
}

TEST(ShmDriver, says_what_it_needs_when_dev_shm_is_small) {
  constexpr int cannot = 77;
  const Endings endings = run_in_processes(1, [&](Rank) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("small", "/dev/shm", "tmpfs", 0, "size=256k") != 0) {
      ::_exit(cannot);
    }
    const auto error = error_of([] { (void)alone({}); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::io);
    EXPECT_NE(std::string{error->what()}.find("0.2 MiB are free"), std::string::npos) << error->what();
  });
  if (WIFEXITED(endings[0]) && WEXITSTATUS(endings[0]) == cannot) {
    GTEST_SKIP() << "only root can make /dev/shm small";
  }
  EXPECT_EQ(endings, Endings(1, 0));
}

TEST(ShmDriver, leaves_nothing_behind) {
  const auto names = [] {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator{"/dev/shm"}) {
      count += entry.path().filename().string().starts_with("plait-") ? 1 : 0;
    }
    return count;
  };
  const std::size_t before = names();
  const auto driver = alone({});
  EXPECT_EQ(names(), before) << "not even while it is in use";
}

TEST(ShmDriver, tells_of_a_peer_that_was_killed) {
  MeetingPoint point{2};
  const Endings endings = run_in_processes(2, [&](Rank rank) {
    const auto driver = make_shm_driver(rank, 2, point.exchange_of(rank), quick);
    if (rank == Rank{1}) {
      std::raise(SIGKILL);
    }
    expect_lost(error_while_waiting(*driver), Rank{1}, "rank 1");
  });
  EXPECT_EQ(endings[0], 0);
}

TEST(ShmDriver, calls_ranks_by_their_numbers_in_the_larger_network) {
  MeetingPoint point{2};
  ShmOptions options = quick;
  options.called = {Rank{7}, Rank{9}};
  const Endings endings = run_in_processes(2, [&](Rank rank) {
    const auto driver = make_shm_driver(rank, 2, point.exchange_of(rank), options);
    if (rank == Rank{1}) {
      std::raise(SIGKILL);
    }
    expect_lost(error_while_waiting(*driver), Rank{1}, "rank 9");
  });
  EXPECT_EQ(endings[0], 0);
}

TEST(ShmDriver, tells_of_a_full_ring_whose_reader_is_gone) {
  for (const bool is_killed : {true, false}) {
    MeetingPoint point{2};
    const Endings endings = run_in_processes(2, [&](Rank rank) {
      std::unique_ptr<Driver> driver = make_shm_driver(rank, 2U, point.exchange_of(rank), quick);
      if (rank == Rank{1}) {
        if (is_killed) {
          std::raise(SIGKILL);
        }
        return;
      }
      expect_lost(error_of([&] {
                    while (true) {
                      static_cast<void>(send(*driver, Rank{1}, 4000));
                    }
                  }),
                  Rank{1},
                  "rank 1");
    });
    EXPECT_EQ(endings[0], 0);
  }
}

TEST(ShmDriver, lets_a_peer_leave) {
  MeetingPoint point{2};
  const Endings endings = run_in_processes(2, [&](Rank rank) {
    std::unique_ptr<Driver> driver = make_shm_driver(rank, 2U, point.exchange_of(rank), quick);
    if (rank == Rank{1}) {
      driver.reset();
      std::raise(SIGKILL);  // whatever becomes of the process after that
    }
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{300};
    EXPECT_FALSE(error_of([&] {
      EXPECT_EQ(send(*driver, Rank{1}, 100), Post::done);
      while (std::chrono::steady_clock::now() < deadline) {
        static_cast<void>(poll(*driver));
      }
    }));
  });
  EXPECT_EQ(endings[0], 0);
}

TEST(ShmDriver, tells_of_bulk_data_whose_sender_or_receiver_is_gone) {
  for (const SingleCopy copy : {SingleCopy::automatic, SingleCopy::never}) {
    for (const bool sends : {true, false}) {
      MeetingPoint point{2};
      ShmOptions options = quick;
      options.single_copy = copy;
      const Endings endings = run_in_processes(2, [&](Rank rank) {
        std::vector<std::byte> data(std::size_t{64} << 20U);
        std::unique_ptr<Driver> driver = make_shm_driver(rank, 2U, point.exchange_of(rank), options);
        if ((rank == Rank{0}) != sends) {
          EXPECT_EQ(driver->receive_bulk({Rank{1 - rank.value()}, BulkSlot{0}, data, 1}), Post::posted);
          point.meet();
        } else {
          point.meet();
          if (rank == Rank{0}) {
            EXPECT_EQ(driver->send_bulk({Rank{1}, BulkSlot{0}, data, 1}), Post::posted);
          }
        }
        point.meet();
        if (rank == Rank{1}) {
          driver.reset();
          return;
        }
        expect_lost(error_while_waiting(*driver), Rank{1}, "bulk data");
      });
      EXPECT_EQ(endings, Endings(2, 0)) << (sends ? "sending" : "receiving");
    }
  }
}

TEST(ShmDriver, is_busy_while_a_ring_has_no_room) {
  const auto driver = alone({.ring_bytes_max = 1});
  EXPECT_FALSE(driver->is_busy(Rank{0}));
  while (send(*driver, Rank{0}, 8000) != Post::retry) {
  }
  EXPECT_TRUE(driver->is_busy(Rank{0}));
  for (int i = 0; i < 5; ++i) {
    static_cast<void>(poll(*driver));
  }
  EXPECT_FALSE(driver->is_busy(Rank{0}));
}

}  // namespace
}  // namespace plait::net::shm_test
