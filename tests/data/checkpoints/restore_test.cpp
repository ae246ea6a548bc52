// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/restore.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/base/error.hpp"
#include "plait/data/checkpoints/buddy.hpp"
#include "plait/testing/local_rank.hpp"

namespace plait::data::restore_test {
namespace {

using plait::test::LocalRank;
using plait::test::run_on_ranks;

/// Counts its messages.
struct Counter {
  std::uint64_t count = 0;
  std::vector<std::uint64_t> heard;

  void hear(std::uint64_t from) {
    ++count;
    heard.push_back(from);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(count, heard);
  }
};

constexpr std::uint32_t elements = 7;

Collection<Counter> make_counters(LocalRank& rank, const std::string& name = "counters") {
  return Collection<Counter>{rank, Shape{elements}, [](ElementId, Index) { return Counter{}; }, {.name = name}};
}

/// Every element sends to the next one.
void tell_next(Collection<Counter>& counters) {
  const PhaseReport report = counters.each([](Counter&, ElementContext& context) {
    context.send<&Counter::hear>(ElementId{(context.id().value() + 1) % elements}, context.id().value());
  });
  EXPECT_EQ(report.lost_count, 0U);
}

void migrate_by(LocalRank& rank, Collection<Counter>& counters, std::uint64_t factor) {
  std::vector<Move> moves;
  for (const auto& [id, counter] : counters.local()) {
    moves.push_back({id, Rank{static_cast<std::uint32_t>(id.value() * factor % rank.rank_count())}});
  }
  (void)counters.migrate(moves);
}

Checkpoint checkpoint_of(const Collection<Counter>& counters) {
  return {.program = "count", .collections = {pack_elements(counters)}};
}

TEST(Restore, brings_elements_back_as_and_where_they_were_and_messages_find_them) {
  for (const std::uint32_t ranks : {1U, 2U, 3U}) {
    run_on_ranks({.ranks = ranks}, {.worker_count = 2}, [&](LocalRank& rank) {
      Collection<Counter> counters = make_counters(rank);
      tell_next(counters);
      migrate_by(rank, counters, 5);
      const Checkpoint saved = checkpoint_of(counters);
      for (int lost = 0; lost < 3; ++lost) {
        migrate_by(rank, counters, 3);
        tell_next(counters);
      }
      restore(saved, counters);
      EXPECT_EQ(counters.local_count(), saved.collections[0].count());
      tell_next(counters);
      for (const auto& [id, counter] : counters.local()) {
        EXPECT_EQ(id.value() * 5 % ranks, rank.self().value());
        EXPECT_EQ(counter.count, 2U) << "what came after the checkpoint is forgotten";
        const std::uint64_t before = (id.value() + elements - 1) % elements;
        EXPECT_EQ(counter.heard, (std::vector<std::uint64_t>{before, before}));
      }
    });
  }
}

TEST(Restore, takes_elements_of_ids_that_the_collection_did_not_have) {
  run_on_ranks({.ranks = 2}, {}, [](LocalRank& rank) {
    Collection<Counter> counters = make_counters(rank);
    counters.replace([&] {
      std::vector<std::pair<ElementId, Counter>> mine;
      mine.emplace_back(ElementId{1000 + rank.self().value()}, Counter{});
      return mine;
    });
    EXPECT_EQ(counters.local_count(), 1U);
    EXPECT_EQ(counters.find(ElementId{0}), nullptr);
    const PhaseReport report = counters.each([](Counter&, ElementContext& context) {
      context.send<&Counter::hear>(ElementId{2001 - context.id().value()}, context.id().value());
    });
    EXPECT_EQ(report.lost_count, 0U);
    for (const auto& [id, counter] : counters.local()) {
      EXPECT_EQ(counter.heard, std::vector<std::uint64_t>{2001 - id.value()});
    }
  });
}

TEST(Restore, refuses_what_does_not_fit_on_all_ranks_and_leaves_the_collection_as_it_was) {
  run_on_ranks({.ranks = 2}, {}, [](LocalRank& rank) {
    Collection<Counter> counters = make_counters(rank);
    tell_next(counters);
    Checkpoint other = checkpoint_of(counters);
    other.collections[0].type = "Other";
    EXPECT_THROW(restore(other, counters), Error);
    other.collections.clear();
    EXPECT_THROW(restore(other, counters), Error);
    Checkpoint damaged = checkpoint_of(counters);
    if (rank.self() == Rank{1}) {
      damaged.collections[0].add(ElementId{99}, Bytes(3));
    }
    EXPECT_THROW(restore(damaged, counters), Error);
    tell_next(counters);
    for (const auto& [id, counter] : counters.local()) {
      EXPECT_EQ(counter.count, 2U);
    }
  });
}

TEST(Restore, rolls_back_to_copies_in_memory) {
  run_on_ranks({.ranks = 3}, {}, [](LocalRank& rank) {
    Collection<Counter> counters = make_counters(rank);
    BuddyCopies copies{rank.messages()};
    tell_next(counters);
    copies.copy(checkpoint_of(counters));
    tell_next(counters);
    if (rank.self() == Rank{2}) {
      copies.memory() = {};
    }
    restore(copies.roll_back(), counters);
    for (const auto& [id, counter] : counters.local()) {
      EXPECT_EQ(counter.count, 1U);
    }
    EXPECT_GT(counters.local_count(), 0U);
  });
}

/// What `serialize.hpp` does not take.
struct Handle {
  std::unique_ptr<std::uint64_t> value;
};
struct ValueOf {
  static std::size_t size(const Handle& /*handle*/) { return sizeof(std::uint64_t); }
  static void pack(const Handle& handle, Packer& packer) { packer(*handle.value); }
  static void unpack(Handle& handle, Unpacker& unpacker) {
    handle.value = std::make_unique<std::uint64_t>();
    unpacker(*handle.value);
  }
};

TEST(Restore, packs_by_the_accessor_of_the_collection) {
  run_on_ranks({.ranks = 3}, {}, [](LocalRank& rank) {
    const auto make = [](ElementId id, Index) { return Handle{std::make_unique<std::uint64_t>(id.value() * 3)}; };
    Collection<Handle> handles{rank, Shape{elements}, make, {.name = "handles"}, MovesBy<ValueOf>{}};
    BuddyCopies copies{rank.messages()};
    copies.copy({.program = "count", .collections = {pack_elements(handles)}});
    handles.each([](Handle& handle) { *handle.value = 0; });
    restore(copies.roll_back(), handles);
    for (const auto& [id, handle] : handles.local()) {
      EXPECT_EQ(*handle.value, id.value() * 3);
    }
    EXPECT_EQ(handles.count(), elements);
  });
}

}  // namespace
}  // namespace plait::data::restore_test
