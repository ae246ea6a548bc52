// SPDX-License-Identifier: Apache-2.0
// Copies that several ranks read: when their memory is free again, and ids that name none. The conformance cases have
// what all drivers do with them.
#include "plait/net/shared_copies.hpp"

#include <gtest/gtest.h>

#include "plait/net/loopback/loopback.hpp"

namespace plait::net::shared_copies_test {
namespace {

constexpr Rank r0{0};
constexpr Rank r1{1};
constexpr Rank r2{2};

struct ThreeRanks {
  explicit ThreeRanks(const SharedCopyOptions& options) : network{3, {.shared_copies = options}} {}

  LoopbackNetwork network;
  std::unique_ptr<Driver> owner = network.driver(r0);
  std::unique_ptr<Driver> first = network.driver(r1);
  std::unique_ptr<Driver> second = network.driver(r2);
};

TEST(SharedCopies, end_when_all_readers_have_released_them) {
  const ThreeRanks ranks{{.count = 1, .bytes_max = 100}};
  SharedCopies& copies = *ranks.owner->shared_copies();
  const auto created = copies.create(100, 2);
  ASSERT_TRUE(created);
  EXPECT_FALSE(copies.create(1, 1)) << "none was released";
  ranks.first->shared_copies()->release(r0, created->id);
  EXPECT_FALSE(copies.create(1, 1)) << "one of two has released it";
  ranks.second->shared_copies()->release(r0, created->id);
  EXPECT_TRUE(copies.create(1, 1));
}

TEST(SharedCopies, are_as_many_for_each_rank_as_the_options_say) {
  const ThreeRanks ranks{{.count = 2, .bytes_max = 10}};
  for (Driver* const driver : {ranks.owner.get(), ranks.first.get()}) {
    EXPECT_TRUE(driver->shared_copies()->create(10, 1));
    EXPECT_TRUE(driver->shared_copies()->create(10, 1));
    EXPECT_FALSE(driver->shared_copies()->create(10, 1));
  }
}

TEST(SharedCopies, are_empty_when_the_owner_has_not_created_them) {
  const ThreeRanks ranks{{.count = 2, .bytes_max = 100}};
  const auto created = ranks.owner->shared_copies()->create(100, 1);
  ASSERT_TRUE(created);
  const SharedCopies& reader = *ranks.first->shared_copies();
  EXPECT_EQ(reader.read(r0, created->id, 100).size(), 100U);
  EXPECT_TRUE(reader.read(r0, created->id, 101).empty()) << "longer than any";
  EXPECT_TRUE(reader.read(r1, created->id, 100).empty()) << "of another rank";
  EXPECT_TRUE(reader.read(Rank{3}, created->id, 100).empty()) << "of no rank";
  EXPECT_TRUE(reader.read(r0, SharedCopyId{1}, 100).empty()) << "not in use";
  EXPECT_TRUE(reader.read(r0, SharedCopyId{2}, 100).empty()) << "no such copy";
}

TEST(SharedCopies, do_not_exist_without_memory_for_them) {
  const ThreeRanks ranks{{}};
  EXPECT_EQ(ranks.owner->shared_copies(), nullptr);
}

}  // namespace
}  // namespace plait::net::shared_copies_test
