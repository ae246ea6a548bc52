// SPDX-License-Identifier: Apache-2.0
// What is replayed on the ranks of MPI: by each backend, in each way.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/base/clock.hpp"
#include "plait/replay/backend/mpi/make_backend.hpp"
#include "plait/replay/backend/mpi/ranks.hpp"
#include "plait/replay/check.hpp"
#include "plait/replay/player.hpp"

#include "replay/hand_made.hpp"

namespace plait::replay {
namespace {

std::uint32_t rank_count() {
  int count = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &count);
  return static_cast<std::uint32_t>(count);
}

/// Each collective, with sizes that are the same for all and sizes that are not, by all ranks and by the even ones.
Schedule collectives() {
  HandMade made{rank_count()};
  std::vector<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
    all.push_back(rank);
    if (rank % 2 == 0) {
      made.get().communicators[5].push_back(rank);
    }
  }
  const auto add = [&](Collective what, std::uint32_t communicator, bool is_even) {
    const std::vector<std::uint32_t>& members = communicator == 0 ? all : made.get().communicators[communicator];
    const std::uint64_t size = members.size();
    const std::uint32_t root = members.back();
    // Of member i each gets, or gives, 16 * (i + 1) bytes, or 16 when all are the same.
    const auto block = [&](std::uint64_t i) { return is_even ? 16 : 16 * (i + 1); };
    const std::uint64_t all_blocks = is_even ? 16 * size : 8 * size * (size + 1);
    for (std::uint64_t i = 0; i < size; ++i) {
      const bool is_root = members[i] == root;
      Operation operation{.action = Action::collective, .collective = what, .communicator = communicator};
      std::vector<std::uint64_t> shares;
      switch (what) {
        case Collective::broadcast:
          operation.peer = root;
          operation.bytes = is_root ? 1000 : 0;
          operation.bytes_got = is_root ? 0 : 1000;
          break;
        case Collective::reduce:
          operation.peer = root;
          operation.bytes = 77;
          operation.bytes_got = is_root ? 77 : 0;
          break;
        case Collective::all_reduce:
        case Collective::scan:
          operation.bytes = operation.bytes_got = 800;
          break;
        case Collective::gather:
          operation.peer = root;
          operation.bytes = block(i);
          operation.bytes_got = is_root ? all_blocks : 0;
          break;
        case Collective::scatter:
          operation.peer = root;
          operation.bytes = is_root ? all_blocks : 0;
          operation.bytes_got = block(i);
          break;
        case Collective::all_gather:
          operation.bytes = block(i);
          operation.bytes_got = all_blocks;
          break;
        case Collective::reduce_scatter:
          operation.bytes = all_blocks;
          operation.bytes_got = block(i);
          break;
        case Collective::all_to_all:
          operation.bytes = all_blocks;
          operation.bytes_got = block(i) * size;
          for (std::uint64_t j = 0; j < size && !is_even; ++j) {
            shares.push_back(block(j));
          }
          break;
        default:
          break;
      }
      const std::uint32_t index = made.add(members[i], operation);
      if (!shares.empty()) {
        made.shares(members[i], index, shares);
      }
      made.wait(members[i], {index});
    }
  };
  for (int what = 1; what <= static_cast<int>(Collective::scan); ++what) {
    for (const std::uint32_t communicator : {0U, 5U}) {
      add(static_cast<Collective>(what), communicator, true);
      add(static_cast<Collective>(what), communicator, false);
    }
  }
  return made.get();
}

/// Plays it twice; what this rank has sent and received the second time.
Played play(const Schedule& schedule, const std::string& backend, PlayOptions options = {}) {
  EXPECT_EQ(find_trouble(schedule), std::vector<std::string>{});
  const RankPart part = hand_out(MPI_COMM_WORLD, divide(schedule));
  const std::shared_ptr<Backend> owner = make_backend(MPI_COMM_WORLD, backend, part);
  options.payload = Payload::checked;
  Player player{*owner, part, options};
  const SteadyClock clock;
  trace::Recorder recorder{clock};
  static_cast<void>(player.play(recorder));
  MPI_Barrier(MPI_COMM_WORLD);
  Played played = player.play(recorder);
  MPI_Barrier(MPI_COMM_WORLD);
  return played;
}

std::uint64_t messages_of_this_rank(const Schedule& schedule) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::uint64_t count = 0;
  for (const Stream& stream : schedule.ranks[static_cast<std::size_t>(rank)].streams) {
    count += static_cast<std::uint64_t>(std::ranges::count_if(stream.operations, [](const Operation& operation) {
      return operation.action == Action::send || operation.action == Action::receive;
    }));
  }
  return count;
}

class EachBackend : public testing::TestWithParam<const char*> {};

TEST_P(EachBackend, moves_every_message_unchanged) {
  const Schedule schedule = random_exchange(rank_count(), 400, 11);
  EXPECT_EQ(play(schedule, GetParam()).messages, messages_of_this_rank(schedule));
}

TEST_P(EachBackend, moves_them_with_a_thread_for_each_role) {
  const Schedule schedule = random_exchange(rank_count(), 100, 12);
  const PlayOptions options{.threads = threads_from("inject,sends,receives").value()};
  EXPECT_EQ(play(schedule, GetParam(), options).messages, messages_of_this_rank(schedule));
}

TEST_P(EachBackend, carries_out_every_collective) {
  const Played played = play(collectives(), GetParam());
  EXPECT_GE(played.calls.size(), 10U);
}

// MPI does not match a collective that waits with one that goes on: all ranks must come to the same.
TEST_P(EachBackend, carries_out_collectives_that_only_some_ranks_wait_for_at_once) {
  HandMade made{rank_count()};
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t barrier = made.add(rank, {.action = Action::collective, .collective = Collective::barrier});
      if ((rank + i) % 2 == 0) {
        made.add(rank, {.action = Action::poll});
      }
      made.wait(rank, {barrier});
    }
  }
  EXPECT_GE(play(made.get(), GetParam()).calls.size(), 1U);
}

TEST_P(EachBackend, carries_out_collectives_of_ranks_with_more_streams_than_others) {
  HandMade made{rank_count()};
  for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
    made.wait(rank, {made.add(rank, {.action = Action::collective, .collective = Collective::barrier})});
  }
  made.get().ranks[0].streams.push_back({.name = "second", .operations = {{.action = Action::poll}}});
  for (const char* const threads : {"one", "streams"}) {
    const PlayOptions options{.threads = threads_from(threads).value()};
    EXPECT_GE(play(made.get(), GetParam(), options).calls.size(), 1U) << threads;
  }
}

TEST_P(EachBackend, ends_what_no_wait_names) {
  HandMade made{rank_count()};
  const std::uint32_t last = rank_count() - 1;
  for (std::uint64_t i = 0; i < 50; ++i) {
    made.send(0, last, i % 3, 100 + 1000 * i);
    made.receive(last, 0, i % 3, 100 + 1000 * i);
  }
  EXPECT_EQ(play(made.get(), GetParam()).messages, messages_of_this_rank(made.get()));
}

TEST_P(EachBackend, sends_to_a_rank_that_waits_in_a_collective) {
  HandMade made{rank_count()};
  for (int round = 0; round < 5; ++round) {
    std::vector<std::uint32_t> receives;
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
      receives.push_back(made.receive(rank, (rank + 1) % rank_count(), 1, 3'000'000));
    }
    for (std::uint32_t rank = 0; rank < rank_count(); ++rank) {
      const std::uint32_t to = (rank + rank_count() - 1) % rank_count();
      const bool sends_before = rank % 2 == 0;
      const std::uint32_t early = sends_before ? made.send(rank, to, 1, 3'000'000) : receives[rank];
      const std::uint32_t barrier = made.add(rank, {.action = Action::collective, .collective = Collective::barrier});
      made.wait(rank, {barrier});
      const std::uint32_t send = sends_before ? early : made.send(rank, to, 1, 3'000'000);
      made.wait(rank, {receives[rank], send});
    }
  }
  EXPECT_EQ(play(made.get(), GetParam()).messages, messages_of_this_rank(made.get()));
}

TEST_P(EachBackend, takes_tags_of_any_size) {
  HandMade made{rank_count()};
  const std::uint32_t last = rank_count() - 1;
  for (const std::uint64_t tag : {0xffff'ffff'ffffULL, 5ULL}) {
    made.receive(last, 0, tag, 10 + tag % 2);
  }
  for (const std::uint64_t tag : {5ULL, 0xffff'ffff'ffffULL}) {
    made.send(0, last, tag, 10 + tag % 2);
  }
  EXPECT_EQ(play(made.get(), GetParam()).messages, messages_of_this_rank(made.get()));
}

#ifdef PLAIT_WITH_OFI
const auto backends = testing::Values("mpi", "plait", "rma", "ofi");
#else
const auto backends = testing::Values("mpi", "plait", "rma");
#endif
INSTANTIATE_TEST_SUITE_P(Replay, EachBackend, backends, [](const auto& tested) { return std::string{tested.param}; });

/// Made, and not kept.
void make_one_sided(const RankPart& part, std::uint64_t host_bytes_max = 0) {
  static_cast<void>(make_one_sided_backend(MPI_COMM_WORLD, part, make_window_memory, host_bytes_max));
}

TEST(OneSided, refuses_what_needs_too_much_memory_and_names_what_helps) {
  const Schedule schedule = random_exchange(rank_count(), 100, 13);
  const RankPart part = hand_out(MPI_COMM_WORLD, divide(schedule));
  try {
    make_one_sided(part, 1000);
    FAIL() << "1000 bytes are not enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string{error.what()}.find("--scale"), std::string::npos) << error.what();
  }
  make_one_sided(part);
}

TEST(OneSided, refuses_on_all_ranks_when_two_do_not_agree_about_a_message) {
  HandMade made{rank_count()};
  const std::uint32_t last = rank_count() - 1;
  for (const std::uint64_t bytes : {10ULL, 20ULL}) {
    made.send(0, last, 7, bytes);
    made.receive(last, 0, 7, 30 - bytes);
  }
  const RankPart part = hand_out(MPI_COMM_WORLD, divide(made.get()));
  try {
    make_one_sided(part);
    FAIL() << "20 bytes are sent where 10 are received";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bad_input);
    EXPECT_NE(std::string{error.what()}.find(fmt::format("sends to rank {}", last)), std::string::npos) << error.what();
  }
}

#ifndef PLAIT_WITH_OFI
TEST(MakeBackend, says_what_is_missing_where_libfabric_is_not_there) {
  const RankPart part = hand_out(MPI_COMM_WORLD, divide(HandMade{rank_count()}.get()));
  try {
    static_cast<void>(make_backend(MPI_COMM_WORLD, "ofi", part));
    FAIL() << "there is no libfabric";
  } catch (const Error& error) {
    EXPECT_NE(std::string{error.what()}.find("libfabric"), std::string::npos) << error.what();
  }
}
#endif

TEST(MakeBackend, refuses_what_there_is_not) {
  const RankPart part = hand_out(MPI_COMM_WORLD, divide(HandMade{rank_count()}.get()));
  EXPECT_THROW(static_cast<void>(make_backend(MPI_COMM_WORLD, "pigeons", part)), Error);
}

}  // namespace
}  // namespace plait::replay

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  int status = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &status, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return status;
}
