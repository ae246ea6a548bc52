// SPDX-License-Identifier: Apache-2.0
// Puts and gets on the loopback: what arrives, how it is counted, and what is refused.
#include "plait/comm/memory.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/wire.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::memory_test {
namespace {

using test::LoopbackRanks;
using test::pattern;

/// Sizes of one packet, of several segments, and in between.
constexpr std::array<std::size_t, 5> sizes{1, 100, 8000, 9000, 200'000};
const EndpointOptions small_segments{.segment_bytes = 50'000};

Bytes part(const Bytes& bytes, std::size_t offset, std::size_t size) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return {begin, begin + static_cast<std::ptrdiff_t>(size)};
}

/// The sentence of the error that `call` throws; empty when it throws none.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(Put, places_data_of_any_size_at_its_offset_and_counts_it) {
  LoopbackRanks ranks{2, small_segments};
  Bytes target(400'000, std::byte{});
  Bytes expected = target;
  const ExposedMemory memory{ranks[0], target};
  std::uint64_t count = 0;
  for (const std::size_t size : sizes) {
    const Bytes data = pattern(size, static_cast<unsigned>(size));
    const Request request = put(ranks[1], memory.key(), 1000 + size / 2, data);
    ranks.until([&] { return request.is_complete() && memory.arrived() > count; });
    EXPECT_EQ(memory.arrived(), ++count);
    std::ranges::copy(data, expected.begin() + static_cast<std::ptrdiff_t>(1000 + size / 2));
    EXPECT_EQ(target, expected) << size;
    EXPECT_EQ(request.status().bytes, size);
  }
  EXPECT_EQ(ranks[0].activity().outstanding_count(), 0U);
}

TEST(Put, without_bytes_only_counts) {
  LoopbackRanks ranks{2};
  const ExposedMemory memory{ranks[0], {}};
  EXPECT_EQ(memory.key().bytes, 0U);
  EXPECT_TRUE(put(ranks[1], memory.key(), 0, {}).is_complete());
  ranks.until([&] { return memory.arrived() == 1; });
}

TEST(Put, reaches_memory_of_its_own_rank) {
  LoopbackRanks ranks{1};
  for (const std::size_t size : sizes) {
    Bytes target(size);
    const ExposedMemory memory{ranks[0], target};
    const Bytes data = pattern(size, 1);
    const Request request = put(ranks[0], memory.key(), 0, data);
    ranks.until([&] { return request.is_complete() && memory.arrived() == 1; });
    EXPECT_EQ(target, data);
  }
}

TEST(Put, that_is_synchronous_completes_when_its_data_is_in_place) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{8}, std::size_t{200'000}}) {
    LoopbackRanks ranks{2, small_segments};
    Bytes target(size);
    const ExposedMemory memory{ranks[0], target};
    const Bytes data = pattern(size, 1);
    const Request request = put(ranks[1], memory.key(), 0, data, {.is_synchronous = true});
    for (int polls = 0; polls < 10; ++polls) {
      ranks[1].progress();
      EXPECT_FALSE(request.is_complete());
    }
    ranks.until([&] {
      EXPECT_TRUE(!request.is_complete() || memory.arrived() == 1);
      return request.is_complete();
    });
    EXPECT_EQ(target, data);
  }
}

TEST(Put, that_is_small_counts_after_a_large_one_that_was_posted_before_it) {
  LoopbackRanks ranks{3, small_segments};
  Bytes target(200'016);
  const ExposedMemory memory{ranks[0], target};
  const Bytes large = pattern(200'000, 1);
  const Bytes small = pattern(8, 2);
  const Request first = put(ranks[1], memory.key(), 0, large);
  const Request second = put(ranks[1], memory.key(), 200'000, small);
  ranks[0].progress();
  EXPECT_EQ(memory.arrived(), 0U);
  EXPECT_EQ(part(target, 200'000, 8), small);

  const Request other = put(ranks[2], memory.key(), 200'008, small);  // of another rank: has no predecessor
  ranks[0].progress();
  EXPECT_EQ(memory.arrived(), 1U);
  ranks.until([&] { return memory.arrived() == 3; });
  EXPECT_EQ(part(target, 0, 200'000), large);
}

TEST(Put, needs_no_memory_for_unexpected_messages) {
  LoopbackRanks ranks{2, {.unexpected_bytes_max = 0}};
  const Bytes data = pattern(100, 1);
  const Request message = ranks[1].send({Rank{0}, Tag{0}}, data);  // from now on, rank 1 must use rendezvous
  ranks.until([&] { return ranks[0].probe({Rank{1}, Tag{0}}).has_value(); });
  ranks.progress();

  Bytes target(100);
  const ExposedMemory memory{ranks[0], target};
  EXPECT_TRUE(put(ranks[1], memory.key(), 0, data).is_complete());
  ranks.until([&] { return memory.arrived() == 1; });
  EXPECT_EQ(target, data);
}

TEST(Put, notifies_the_completion_of_its_options) {
  struct Counter final : Completion {
    void completed(const Status& status) noexcept override { bytes += status.bytes; }
    void released(const Status& /*status*/) noexcept override { ++releases; }
    std::size_t bytes = 0;
    int releases = 0;
  } counter;
  LoopbackRanks ranks{2};
  Bytes target(20'000);
  const ExposedMemory memory{ranks[0], target};
  const Bytes data = pattern(20'000, 1);
  (void)put(ranks[1], memory.key(), 0, std::span{data}.first(4), {.completion = &counter});
  (void)put(ranks[1], memory.key(), 0, data, {.completion = &counter});
  ranks.until([&] { return counter.releases == 2; });
  EXPECT_EQ(counter.bytes, 20'004U);
}

TEST(Get, reads_data_of_any_size) {
  LoopbackRanks ranks{2, small_segments};
  Bytes source = pattern(300'000, 3);
  const ExposedMemory memory{ranks[0], source};
  for (const std::size_t size : {std::size_t{0}, sizes[0], sizes[1], sizes[2], sizes[3], sizes[4]}) {
    Bytes into(size);
    const Request request = get(ranks[1], memory.key(), 77, into);
    ranks.until([&] { return request.is_complete(); });
    EXPECT_EQ(into, part(source, 77, size)) << size;
    EXPECT_EQ(request.status().bytes, size);
    EXPECT_EQ(request.status().source, Rank{0});
  }
  EXPECT_EQ(memory.arrived(), 0U);
}

TEST(Get, is_answered_also_when_credits_and_packets_are_few) {
  constexpr std::size_t count = 500;
  LoopbackRanks ranks{2, {.packet_memory_bytes_max = 0}, {.packet_bytes_max = 1024, .mailbox_packets_max = 2}};
  Bytes source = pattern(count * 8, 3);
  Bytes into(count * 8);
  std::vector<Request> requests;
  {
    const ExposedMemory memory{ranks[0], source};
    for (std::size_t index = 0; index < count; ++index) {
      requests.push_back(get(ranks[1], memory.key(), index * 8, std::span{into}.subspan(index * 8, 8)));
    }
    ranks.until([&] { return requests.back().is_complete(); });
  }
  EXPECT_EQ(into, source);
}

TEST(Arrival, is_a_request_for_a_number_of_puts) {
  LoopbackRanks ranks{2};
  Bytes target(8);
  ExposedMemory memory{ranks[0], target};
  Request second = memory.arrival(2);
  Request first = memory.arrival(1);
  int called = 0;
  first.then([&](const Status&) { ++called; });
  (void)put(ranks[1], memory.key(), 0, pattern(8, 1));
  ranks.until([&] { return called == 1; });
  EXPECT_FALSE(second.is_complete());
  EXPECT_FALSE(second.cancel());
  (void)put(ranks[1], memory.key(), 0, pattern(8, 1));
  second.wait();
  memory.wait(2);
  EXPECT_TRUE(memory.arrival(2).is_complete());
  EXPECT_EQ(ranks[0].activity().outstanding_count(), 0U);
}

TEST(ExposedMemory, that_is_withdrawn_refuses_puts_and_gets_on_all_ranks) {
  for (const bool is_put : {true, false}) {
    for (const std::size_t size : sizes) {
      LoopbackRanks ranks{3};
      Bytes target(size);
      std::optional<ExposedMemory> memory{std::in_place, ranks[0], target};
      const MemoryKey key = memory->key();
      memory.reset();
      const ExposedMemory other{ranks[0], target};  // in its place, with another id
      Request request = is_put ? put(ranks[1], key, 0, target) : get(ranks[1], key, 0, target);
      ranks.until([&] { return ranks[2].failure() && ranks[1].failure(); });
      const std::string sentence = ranks[0].failure()->what();
      EXPECT_NE(sentence.find("of memory that rank 0 does not expose, or no longer"), std::string::npos) << sentence;
      EXPECT_NE(sentence.find(is_put ? "rank 1 puts" : "rank 1 gets"), std::string::npos) << sentence;
      EXPECT_EQ(ranks[0].failure()->rank(), Rank{1});
      EXPECT_NE(std::string{ranks[2].failure()->what()}.find(sentence), std::string::npos);
      if (!is_put) {
        EXPECT_NE(error_of([&] { request.wait(); }).find(sentence), std::string::npos);
      }
      EXPECT_NE(error_of([&] { (void)put(ranks[1], key, 0, {}); }).find(sentence), std::string::npos);
    }
  }
}

TEST(ExposedMemory, refuses_ranges_outside_of_it) {
  LoopbackRanks ranks{2};
  Bytes target(100);
  const ExposedMemory memory{ranks[0], target};
  const Bytes data(101);
  EXPECT_EQ(error_of([&] { (void)put(ranks[1], memory.key(), 0, data); }),
            "101 bytes at offset 0 are outside of the memory that rank 0 exposes, which has 100 bytes");
  EXPECT_NE(error_of([&] { (void)put(ranks[1], memory.key(), 101, {}); }), "");
  Bytes into(2);
  EXPECT_NE(error_of([&] { (void)get(ranks[1], memory.key(), 99, into); }), "");
  EXPECT_NE(error_of([&] { (void)get(ranks[1], memory.key(), static_cast<std::size_t>(-1), into); }), "");
  EXPECT_NE(error_of([&] { (void)put(ranks[1], {}, 0, {}); }).find("a memory key names no rank"), std::string::npos);
  EXPECT_FALSE(ranks[0].failure() || ranks[1].failure());

  MemoryKey wrong = memory.key();  // as after a transfer that corrupted it
  wrong.bytes = 1000;
  (void)put(ranks[1], wrong, 50, data);
  ranks.until([&] { return ranks[1].failure().has_value(); });
  EXPECT_EQ(std::string{ranks[0].failure()->what()},
            "rank 1 asks for bytes 50 to 151 of memory of 100 bytes that rank 0 exposes: was its MemoryKey changed?");
}

TEST(ExposedMemory, waits_at_its_end_for_the_puts_that_have_begun) {
  LoopbackRanks ranks{1, small_segments};
  Bytes target(200'000);
  const Bytes data = pattern(200'000, 1);
  {
    const ExposedMemory memory{ranks[0], target};
    (void)put(ranks[0], memory.key(), 0, data);
    ranks[0].progress();  // the request to send has arrived
    EXPECT_EQ(memory.arrived(), 0U);
  }
  EXPECT_EQ(target, data);
  EXPECT_FALSE(ranks[0].failure());
}

TEST(ExposedMemory, ends_the_wait_for_puts_when_it_is_withdrawn) {
  LoopbackRanks ranks{1};
  Bytes target(8);
  std::optional<ExposedMemory> memory{std::in_place, ranks[0], target};
  Request arrival = memory->arrival(1);
  memory.reset();
  EXPECT_TRUE(arrival.is_complete());
  EXPECT_EQ(error_of([&] { arrival.wait(); }),
            "exposed memory was withdrawn before the puts that were waited for had arrived");
}

TEST(ExposedMemory, ends_the_wait_for_puts_when_the_run_fails) {
  LoopbackRanks ranks{2};
  Bytes target(200'000);
  ExposedMemory memory{ranks[0], target};
  const Bytes data(200'000);
  (void)put(ranks[1], memory.key(), 0, data);
  ranks[0].progress();
  ranks[1].stop_all(Error{ErrorCode::user_task, "no more"});
  EXPECT_EQ(error_of([&] { memory.wait(1); }), "rank 1 stopped the run: no more");
  EXPECT_NE(error_of([&] { (void)memory.arrival(1); }), "");
}

TEST(ExposedMemory, counts_the_puts_of_threads_that_put_at_once) {
  constexpr std::size_t thread_count = 4;
  constexpr std::uint64_t puts_of_a_thread = 50;
  constexpr std::size_t size = 10'000;
  LoopbackRanks ranks{2, {.eager_bytes_max = 1000}};
  Bytes target(thread_count * size);
  ExposedMemory memory{ranks[0], target};
  const MemoryKey key = memory.key();
  std::vector<std::jthread> threads;
  for (std::size_t thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&ranks, &key, thread] {
      const Bytes data = pattern(size, static_cast<unsigned>(thread));
      for (std::uint64_t number = 1; number <= puts_of_a_thread; ++number) {
        const std::size_t bytes = number % 2 == 1 ? 8 : size;
        put(ranks[1], key, thread * size, std::span{data}.first(bytes)).wait();
      }
    });
    threads.emplace_back([&memory] { memory.arrival(thread_count * puts_of_a_thread).wait(); });
  }
  threads.clear();
  EXPECT_EQ(memory.arrived(), thread_count * puts_of_a_thread);
  for (std::size_t thread = 0; thread < thread_count; ++thread) {
    EXPECT_EQ(part(target, thread * size, size), pattern(size, static_cast<unsigned>(thread)));
  }
}

TEST(ExposedMemory, moves_with_its_key) {
  LoopbackRanks ranks{1};
  Bytes target(8);
  ExposedMemory first{ranks[0], target};
  const MemoryKey key = first.key();
  ExposedMemory second{std::move(first)};
  ExposedMemory third;
  third = std::move(second);
  (void)put(ranks[0], key, 0, pattern(8, 1));
  third.wait(1);
  EXPECT_EQ(target, pattern(8, 1));
}

/// Why rank 0 fails when rank 1, whose driver is the test's, sends it this chunk.
std::string failure_after(wire::Header header, std::size_t payload) {
  net::LoopbackNetwork network{2};
  const auto driver = network.driver(Rank{0});
  const auto peer = network.driver(Rank{1});
  SteadyClock clock;
  trace::Recorder recorder{clock};
  Endpoint endpoint{*driver, recorder};
  Bytes target(100);
  const ExposedMemory memory{endpoint, target};
  header.comm = one_sided.value();
  header.tag = memory.key().id;
  header.payload = static_cast<std::uint32_t>(payload);
  EXPECT_NE(peer->send_copy(Rank{0}, std::as_bytes(std::span{&header, 1}), Bytes(payload, std::byte{})),
            net::Post::retry);
  endpoint.progress();
  return endpoint.failure() ? endpoint.failure()->what() : "";
}

TEST(OneSided, chunks_that_are_malformed_stop_the_run) {
  using enum wire::ChunkKind;
  EXPECT_EQ(failure_after({.kind = put}, 100), "");
  const std::array<std::string, 7> failures{
      failure_after({.kind = put_rts, .bytes = 100}, 8),
      failure_after({.kind = put_rts, .bytes = 0}, sizeof(wire::Place)),
      failure_after({.kind = get}, 8),
      failure_after({.kind = got, .bytes = 8}, 8),
      failure_after({.kind = got_rts, .bytes = 8}, 0),
      failure_after({.kind = placed, .operation = 7}, 0),
      failure_after({.kind = wire::ChunkKind{0x59}}, 0),
  };
  for (const std::string& failure : failures) {
    EXPECT_NE(failure.find("from rank 1 is malformed"), std::string::npos) << failure;
  }
  EXPECT_NE(failure_after({.kind = put, .bytes = 1}, 100).find("asks for bytes 1 to 101"), std::string::npos);
}

TEST(OneSided, messages_are_recorded_on_both_sides) {
  const plait::test::TemporaryFolder folder;
  {
    SteadyClock clock;
    trace::Recorder recorder{clock, {.folder = folder / "run", .rank = Rank{0}, .rank_count = 1}};
    net::LoopbackNetwork network{1};
    const auto driver = network.driver(Rank{0});
    Endpoint endpoint{*driver, recorder};
    Bytes target(20'000);
    Bytes into(20'000);
    ExposedMemory memory{endpoint, target};
    (void)put(endpoint, memory.key(), 0, std::span{into}.first(8));
    put(endpoint, memory.key(), 0, into).wait();
    put(endpoint, memory.key(), 0, std::span{into}.first(16), {.is_synchronous = true}).wait();
    memory.wait(3);
    get(endpoint, memory.key(), 0, std::span{into}.first(32)).wait();
    get(endpoint, memory.key(), 0, into).wait();
    endpoint.drain();
  }
  using Key = std::tuple<std::uint32_t, std::size_t, trace::Protocol>;  // sequence, bytes, protocol
  std::array<std::vector<Key>, 2> found;
  const trace::RankTrace read = trace::read_rank_trace(folder / "run/rank-0000.plt").value();
  for (const auto& message : read.messages) {
    const trace::MessageEvent& event = message.event;
    EXPECT_EQ(event.communicator, one_sided.value());
    found[static_cast<std::size_t>(event.direction)].emplace_back(event.sequence, event.bytes, event.protocol);
  }
  std::ranges::sort(found[0]);
  std::ranges::sort(found[1]);
  EXPECT_EQ(found[0], found[1]);
  using enum trace::Protocol;
  const std::vector<Key> expected{
      {0, 8, eager}, {1, 20'000, rendezvous}, {2, 16, eager}, {4, 32, eager}, {6, 20'000, rendezvous}};
  EXPECT_EQ(found[0], expected);  // numbers 3 and 5 are the requests of the gets
}

}  // namespace
}  // namespace plait::comm::memory_test
