// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/layout.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm::layout_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

/// Random blocks of `memory`, in order and apart.
std::vector<std::span<std::byte>> random_blocks(Bytes& memory, std::mt19937& random, std::size_t block_max) {
  std::vector<std::span<std::byte>> blocks;
  std::uniform_int_distribution<std::size_t> length{0, block_max};
  for (std::size_t at = length(random); at < memory.size();) {
    const std::size_t size = std::min(length(random), memory.size() - at);
    blocks.push_back(std::span{memory}.subspan(at, size));
    at += size + length(random) + 1;
  }
  return blocks;
}

Bytes concatenated(const std::vector<std::span<std::byte>>& blocks) {
  Bytes all;
  for (const auto& block : blocks) {
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

TEST(Layout, gathers_and_scatters_any_range_of_blocks) {
  std::mt19937 random{1};
  for (int round = 0; round < 200; ++round) {
    Bytes memory = pattern(500, static_cast<unsigned>(round));
    const auto blocks = random_blocks(memory, random, 40);
    const Layout layout = Layout::blocks(blocks);
    const Bytes whole = concatenated(blocks);
    ASSERT_EQ(layout.size(), whole.size());
    const std::size_t offset = std::uniform_int_distribution<std::size_t>{0, whole.size()}(random);
    const std::size_t bytes = std::uniform_int_distribution<std::size_t>{0, whole.size() - offset}(random);
    Bytes part(bytes);
    layout.gather(offset, part);
    ASSERT_TRUE(std::ranges::equal(part, std::span{whole}.subspan(offset, bytes)));

    const Bytes other = pattern(bytes, 12345);
    layout.scatter(offset, other);
    Bytes expected = whole;
    std::ranges::copy(other, expected.begin() + static_cast<std::ptrdiff_t>(offset));
    ASSERT_EQ(concatenated(blocks), expected);
  }
}

TEST(Layout, strided_is_the_same_as_its_blocks) {
  Bytes memory = pattern(1000, 3);
  const Layout strided = Layout::strided(memory.data() + 5, 7, 20, 40);
  std::vector<std::span<std::byte>> blocks;
  for (std::size_t block = 0; block < 40; ++block) {
    blocks.push_back(std::span{memory}.subspan(5 + block * 20, 7));
  }
  const Bytes whole = concatenated(blocks);
  ASSERT_EQ(strided.size(), whole.size());
  for (std::size_t offset = 0; offset < whole.size(); offset += 3) {
    Bytes rest(whole.size() - offset);
    strided.gather(offset, rest);
    ASSERT_TRUE(std::ranges::equal(rest, std::span{whole}.subspan(offset)));
  }
}

TEST(Layout, tells_which_bytes_stand_together) {
  Bytes memory(100);
  const Layout strided = Layout::strided(memory.data(), 10, 25, 4);
  EXPECT_EQ(strided.block_at(0, 100).size(), 10U);
  EXPECT_EQ(strided.block_at(13, 100).data(), memory.data() + 28);
  EXPECT_EQ(strided.block_at(13, 100).size(), 7U);
  const Layout whole = Layout::strided(memory.data(), 10, 10, 10);
  EXPECT_EQ(whole.block_at(13, 100).size(), 87U);
}

/// Bytes, and the settings of a transfer between differently cut memory.
struct Cut {
  std::size_t memory_bytes;
  std::size_t block_max;
};

class Message : public testing::TestWithParam<Cut> {};

TEST_P(Message, travels_between_memory_that_is_cut_differently) {
  std::mt19937 random{7};
  LoopbackRanks ranks{2, {.segment_bytes = 10'000}};
  for (int round = 0; round < 10; ++round) {
    Bytes from = pattern(GetParam().memory_bytes, static_cast<unsigned>(round));
    const auto sent_blocks = random_blocks(from, random, GetParam().block_max);
    const Bytes whole = concatenated(sent_blocks);
    Bytes to(whole.size() * 3);
    Request receive =
        round % 2 == 0 ? ranks[1].receive({Rank{0}, Tag{1}}, Layout::strided(to.data(), 11, 33, whole.size() / 11 + 1))
                       : ranks[1].receive({Rank{0}, Tag{1}}, std::span{to});
    Request send = ranks[0].send({Rank{1}, Tag{1}}, Layout::blocks(sent_blocks));
    ranks.until([&] { return receive.is_complete() && send.is_complete(); });
    ASSERT_EQ(receive.wait().bytes, whole.size());
    Bytes received(whole.size());
    if (round % 2 == 0) {
      Layout::strided(to.data(), 11, 33, whole.size() / 11 + 1).gather(0, received);
    } else {
      std::ranges::copy(std::span{to}.first(whole.size()), received.begin());
    }
    ASSERT_EQ(received, whole);
  }
}

TEST(LayoutPattern, joins_blocks_that_follow_each_other_and_leaves_out_empty_ones) {
  const LayoutPattern pattern{{{4, 4}, {8, 0}, {8, 2}, {-3, 2}}};
  ASSERT_EQ(pattern.blocks().size(), 2U);
  EXPECT_EQ(pattern.blocks()[0].bytes, 6U);
  EXPECT_EQ(pattern.blocks()[1].place, -3);
  EXPECT_EQ(pattern.begins(), (std::vector<std::size_t>{0, 6}));
  EXPECT_EQ(pattern.size(), 8U);
}

TEST(Layout, repeats_a_pattern_as_if_its_blocks_were_listed) {
  std::mt19937 random{3};
  constexpr std::size_t middle = 600;
  for (int round = 0; round < 300; ++round) {
    std::vector<LayoutPattern::Block> blocks;
    for (int i = 0; i < 1 + static_cast<int>(random() % 5); ++i) {
      blocks.push_back({i * 20 - 30, 1 + random() % 9});
    }
    std::shuffle(blocks.begin(), blocks.end(), random);
    const auto element = std::make_shared<const LayoutPattern>(blocks);
    const std::ptrdiff_t stride = random() % 2 == 0 ? 104 : -110;
    const std::size_t count = 1 + random() % 5;
    Bytes memory = pattern(1200, static_cast<unsigned>(round));
    std::vector<std::span<std::byte>> listed;
    for (std::size_t i = 0; i < count; ++i) {
      for (const LayoutPattern::Block& block : blocks) {
        listed.push_back({memory.data() + middle + static_cast<std::ptrdiff_t>(i) * stride + block.place, block.bytes});
      }
    }
    const Bytes whole = concatenated(listed);
    const Layout layout = Layout::repeated(element, memory.data() + middle, stride, count);
    ASSERT_EQ(layout.size(), whole.size());
    const std::size_t offset = random() % whole.size();
    Bytes some(random() % (whole.size() - offset + 1));
    layout.gather(offset, some);
    EXPECT_TRUE(std::equal(some.begin(), some.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)));
    const Bytes other = pattern(some.size(), 1000U + static_cast<unsigned>(round));
    layout.scatter(offset, other);
    Bytes expected = whole;
    std::copy(other.begin(), other.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    EXPECT_EQ(concatenated(listed), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(ShortAndLong, Message, testing::Values(Cut{300, 20}, Cut{100'000, 900}, Cut{100'000, 30'000}));

}  // namespace
}  // namespace plait::comm::layout_test
