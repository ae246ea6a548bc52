// SPDX-License-Identifier: Apache-2.0
#include "plait/runtime/checkpoints.hpp"

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <mpi.h>

#include "plait/base/error.hpp"
#include "plait/data/checkpoints/buddy.hpp"
#include "plait/data/checkpoints/restore.hpp"
#include "plait/data/collections/collection.hpp"
#include "plait/net/mpi/session.hpp"

namespace plait {
namespace {

/// A folder of all ranks.
class Checkpoints : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    int process = static_cast<int>(getpid());
    MPI_Bcast(&process, 1, MPI_INT, 0, MPI_COMM_WORLD);
    folder_ = std::filesystem::temp_directory_path() / ("plait-checkpoints-" + std::to_string(process));
  }
  void TearDown() override {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) {
      std::filesystem::remove_all(folder_);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int rank_ = 0;
  std::filesystem::path folder_;
};

/// Unequal parts; the second rank has no elements.
data::Checkpoint part_of(const Runtime& runtime, std::uint64_t step) {
  data::Checkpoint checkpoint{.program = "walk", .step = step};
  data::PackedElements& mine = checkpoint.collections.emplace_back();
  mine.collection = "patches";
  mine.type = "Patch";
  const std::uint64_t rank = runtime.self().value();
  for (std::uint64_t i = 0; i < 5 * (rank + 1) && rank != 1; ++i) {
    mine.add(data::ElementId{1000 * rank + i}, Bytes(i * 1000, static_cast<std::byte>(rank + step)));
  }
  return checkpoint;
}

TEST_F(Checkpoints, come_back_as_each_rank_wrote_them_by_itself_or_through_mpi) {
  for (const bool with_mpi : {false, true}) {
    Runtime runtime{MPI_COMM_WORLD};
    const CheckpointOptions options{.folder = folder_, .name = with_mpi ? "mpi" : "direct"};
    const auto open = [&] {
      return with_mpi ? make_checkpoints(runtime, options, MPI_COMM_WORLD) : make_checkpoints(runtime, options);
    };
    const auto writer = open();
    for (const std::uint64_t step : {1U, 2U, 3U}) {
      (void)writer->write(part_of(runtime, step));
    }
    const auto newest = open()->read_newest("walk", {});
    ASSERT_TRUE(newest);
    EXPECT_EQ(newest->checkpoint.step, 3U);
    const data::PackedElements& read = newest->checkpoint.elements("patches", "Patch", {});
    const data::Checkpoint expected = part_of(runtime, 3);
    EXPECT_EQ(read.ids, expected.collections[0].ids);
    EXPECT_EQ(read.offsets, expected.collections[0].offsets);
    EXPECT_EQ(read.bytes, expected.collections[0].bytes);
  }
}

TEST_F(Checkpoints, in_a_folder_that_cannot_be_made_are_refused_on_all_ranks) {
  Runtime runtime{MPI_COMM_WORLD};
  const auto store = make_checkpoints(runtime, {.folder = "/proc/nowhere"}, MPI_COMM_WORLD);
  EXPECT_THROW(store->write(part_of(runtime, 1)), Error);
}

TEST(BuddyCopies, bring_back_what_a_rank_has_lost_wherever_elements_were) {
  Runtime runtime{MPI_COMM_WORLD};
  const std::uint32_t ranks = runtime.rank_count();
  using Numbers = std::vector<double>;
  data::Collection<Numbers> numbers{
      runtime, data::Shape{13}, [](data::ElementId id, data::Index) { return Numbers(id.value() * 1000, 0.5); }};
  const auto migrate_by = [&](std::uint64_t factor) {
    std::vector<data::Move> moves;
    for (const auto& [id, each] : numbers.local()) {
      moves.push_back({id, Rank{static_cast<std::uint32_t>(id.value() * factor % ranks)}});
    }
    (void)numbers.migrate(moves);
  };
  data::BuddyCopies copies{runtime.messages()};
  migrate_by(3);
  const data::PackedElements before = data::pack_elements(numbers);
  copies.copy({.program = "numbers", .step = 7, .collections = {before}});
  numbers.each([](Numbers& each) { each.assign(3, -1); });
  migrate_by(5);
  if (ranks > 1 && runtime.self().value() == ranks - 1) {
    copies.memory() = {};
  }
  data::restore(copies.roll_back(), numbers);
  const data::PackedElements after = data::pack_elements(numbers);
  EXPECT_EQ(after.ids, before.ids);
  EXPECT_EQ(after.offsets, before.offsets);
  EXPECT_EQ(after.bytes, before.bytes);
}

}  // namespace
}  // namespace plait

int main(int argc, char** argv) {
  const plait::net::MpiSession session{argc, argv};
  testing::InitGoogleTest(&argc, argv);
  int failed = RUN_ALL_TESTS();
  MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return failed;
}
