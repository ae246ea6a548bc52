// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/coroutine.hpp"

#include <array>

#include <gtest/gtest.h>

#include "comm/loopback_ranks.hpp"

namespace plait::comm::coroutine_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

/// Sends what it gets on to the next rank, `times` times.
AsyncOperation pass_on(Endpoint& endpoint, Rank next, int times, int& passed) {
  for (int i = 0; i < times; ++i) {
    Bytes bytes;
    const Status status = co_await endpoint.receive({any_source, Tag{1}}, bytes);
    EXPECT_EQ(status.bytes, bytes.size());
    co_await endpoint.send({next, Tag{1}}, bytes);
    ++passed;
  }
}

TEST(Coroutine, goes_on_as_what_it_awaits_completes) {
  LoopbackRanks ranks{3};
  std::array<int, 3> passed{};
  std::vector<Request> requests;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    requests.push_back(pass_on(ranks[rank], Rank{(rank + 1) % 3}, 10, passed[rank]));
  }
  const Bytes token = pattern(1000, 1);  // short: the last one leaves without a receive
  const Request start = ranks[0].send({Rank{0}, Tag{1}}, token);
  ranks.until([&] { return passed == std::array{10, 10, 10}; });
  EXPECT_TRUE(start.is_complete());
  for (const Request& request : requests) {
    EXPECT_TRUE(request.is_complete());
  }
}

AsyncOperation receive_short(Endpoint& endpoint, std::span<std::byte> buffer) {
  co_await endpoint.receive({Rank{0}, Tag{1}}, buffer);
}

TEST(Coroutine, ends_with_the_error_of_what_it_awaited) {
  LoopbackRanks ranks{2};
  Bytes small(10);
  Request request = receive_short(ranks[1], small);
  const Bytes data = pattern(11, 1);
  const Request sent = ranks[0].send({Rank{1}, Tag{1}}, data);
  ranks.until([&] { return request.is_complete(); });
  try {
    request.wait();
    FAIL() << "a truncated message is an error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::truncated);
  }
}

}  // namespace
}  // namespace plait::comm::coroutine_test
