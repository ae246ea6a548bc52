// SPDX-License-Identifier: Apache-2.0
#include "plait/base/id.hpp"

#include <concepts>
#include <set>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

namespace plait::id_test {
namespace {

TEST(Id, names_nothing_by_default) {
  EXPECT_FALSE(Rank{});
  EXPECT_TRUE(Rank{0});
  EXPECT_EQ(Rank{}, any_source);
  EXPECT_FALSE(any_tag);
}

TEST(Id, keeps_its_value) {
  EXPECT_EQ(Rank{7}.value(), 7U);
  EXPECT_EQ(Tag{~std::uint64_t{1}}.value(), ~std::uint64_t{1});
  EXPECT_EQ(WorkerId{65534}.value(), 65534U);
}

TEST(Id, compares_and_hashes_like_its_value) {
  EXPECT_LT(Rank{1}, Rank{2});
  EXPECT_NE(Rank{1}, Rank{2});
  EXPECT_EQ((std::unordered_set<Rank>{Rank{1}, Rank{1}, Rank{2}}.size()), 2U);
  EXPECT_EQ((std::set<Tag>{Tag{3}, Tag{3}}.size()), 1U);
}

template <class A, class B>
concept Comparable = requires(A a, B b) { a == b; };
template <class A>
concept Addable = requires(A a) { a + a; };

TEST(Id, is_not_mistaken_for_another) {
  static_assert(!std::convertible_to<std::uint32_t, Rank>, "explicit, never implied");
  static_assert(!std::convertible_to<Rank, std::uint32_t>, "explicit, never implied");
  static_assert(!std::convertible_to<Rank, Tag>);
  static_assert(!Comparable<Rank, WorkerId>);
  static_assert(!Addable<Rank>, "an id is not a count");
}

}  // namespace
}  // namespace plait::id_test
