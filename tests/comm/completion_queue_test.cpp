// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/completion_queue.hpp"

#include <set>

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm::completion_queue_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

TEST(CompletionQueue, names_each_operation_once_when_it_is_complete) {
  LoopbackRanks ranks{2};
  CompletionQueue queue;
  const Bytes data = pattern(50'000, 1);
  std::vector<Bytes> buffers(20);
  for (std::uint64_t name = 0; name < 20; ++name) {
    (void)ranks[1].receive({Rank{0}, Tag{name}}, buffers[name], queue.entry(name));
    (void)ranks[0].send({Rank{1}, Tag{name}},
                        std::span{data}.first(name % 2 == 0 ? 10 : data.size()),
                        {.completion = queue.entry(100 + name)});
  }
  std::set<std::uint64_t> names;
  ranks.until([&] {
    while (const auto one = queue.pop()) {
      EXPECT_FALSE(one->status.error);
      EXPECT_TRUE(names.insert(one->name).second);
    }
    return names.size() == 40;
  });
  EXPECT_EQ(buffers[1], data);
}

}  // namespace
}  // namespace plait::comm::completion_queue_test
