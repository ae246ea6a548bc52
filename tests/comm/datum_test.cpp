// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/datum.hpp"

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm {
namespace {

using test::LoopbackRanks;
using test::pattern;

TEST(Datum, lets_sends_that_waited_for_it_leave_as_one_multicast) {
  constexpr std::uint32_t count = 16;
  LoopbackRanks ranks{count};
  Bytes data(1000);
  Datum datum{ranks[0], data, Tag{1}};
  std::vector<Bytes> buffers(count);
  std::vector<Request> all;
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    all.push_back(datum.send(Rank{rank}));
    all.push_back(ranks[rank].receive({Rank{0}, Tag{1}}, buffers[rank]));
  }
  std::ranges::copy(pattern(data.size(), 1), data.begin());  // only now
  const std::uint64_t packets_before = ranks[0].packet_count();
  datum.ready();
  EXPECT_LE(ranks[0].packet_count() - packets_before, 4U) << "ceil(log2(16)), not 15";
  ranks.until([&] { return std::ranges::all_of(all, [](const Request& one) { return one.is_complete(); }); });
  for (std::uint32_t rank = 1; rank < count; ++rank) {
    EXPECT_EQ(buffers[rank], data);
  }
}

TEST(Datum, sends_at_once_when_it_is_ready) {
  LoopbackRanks ranks{2};
  const Bytes data = pattern(100, 1);
  Datum datum{ranks[0], data, Tag{1}};
  datum.ready();
  Bytes buffer;
  const Request receive = ranks[1].receive({Rank{0}, Tag{1}}, buffer);
  const Request send = datum.send(Rank{1});
  ranks.until([&] { return send.is_complete() && receive.is_complete(); });
  EXPECT_EQ(buffer, data);
}

}  // namespace
}  // namespace plait::comm
