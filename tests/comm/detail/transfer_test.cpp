// SPDX-License-Identifier: Apache-2.0
// The members of an engine that use the network: two sides, whose packets the test hands over.
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "plait/comm/detail/delivery.hpp"
#include "plait/comm/detail/multicast.hpp"
#include "plait/comm/detail/one_sided.hpp"
#include "plait/comm/detail/outbox.hpp"
#include "plait/comm/detail/rendezvous_receiver.hpp"
#include "plait/comm/detail/rendezvous_sender.hpp"
#include "plait/testing/temporary_folder.hpp"
#include "plait/trace/reader.hpp"

#include "comm/loopback_ranks.hpp"

namespace plait::comm::detail::transfer_test {
namespace {

using test::pattern;

constexpr Rank r0{0};
constexpr Rank r1{1};

/// What an engine is made of.
struct Side {
  Side(net::LoopbackNetwork& net, Rank self, trace::Recorder& recorder, const EndpointOptions& given)
      : options{given},
        driver{net.driver(self)},
        trace{recorder, options.poll_gap_min},
        completions{self, trace, actives, activity} {}

  /// The chunks that have arrived; bulk transfers that have ended are handed on.
  std::vector<Chunk> poll() {
    std::vector<net::Arrival> arrivals(16);
    std::vector<net::BulkDone> bulk(16);
    const net::Polled polled = network.poll(arrivals, bulk);
    std::vector<Chunk> chunks;
    for (std::size_t i = 0; i < polled.arrivals; ++i) {
      const std::span<const std::byte> bytes = arrivals[i].packet.bytes();
      for (std::size_t offset = 0; offset < bytes.size();) {
        Chunk& chunk = chunks.emplace_back();
        std::memcpy(&chunk.header, bytes.data() + offset, sizeof chunk.header);
        const auto payload = bytes.subspan(offset + sizeof chunk.header, chunk.header.payload);
        chunk.payload.assign(payload.begin(), payload.end());
        chunk.via = arrivals[i].peer;
        offset = wire::aligned(offset + sizeof chunk.header + chunk.header.payload);
      }
      driver->recycle(std::move(arrivals[i].packet));
    }
    for (std::size_t i = 0; i < polled.bulk; ++i) {
      if (bulk[i].direction == net::TransferDirection::sent) {
        sender.segment_sent(bulk[i].cookie);
      } else if (const auto arrived = receiver.segment_arrived(bulk[i].cookie)) {
        go_on(*arrived);
      }
    }
    receiver.request_segments();
    outbox.flush();
    return chunks;
  }

  void go_on(const RendezvousReceiver::Arrived& arrived) {
    if (arrived.is_last) {
      completions.complete(arrived.receive, arrived.receive.bytes);
    } else {
      receiver.queue(arrived.receive);
    }
  }

  const EndpointOptions options;
  std::unique_ptr<net::Driver> driver;
  Activity activity;
  Copies copies{options, activity};
  Network network{*driver, activity};
  MessageTrace trace;
  ArrivedActives actives;
  Completions completions;
  Credits credits{2, 2};
  Sequences sequences{2};
  CommClaims claims;
  RendezvousSender sender{network, completions, trace, copies, options};
  Outbox outbox{{network, trace, completions, credits, sequences, sender, claims}, options};
  RendezvousReceiver receiver{network, outbox, completions, copies, options};
  Multicast multicast{network, outbox, completions, sequences, receiver};
  Inbox inbox{2, options.unexpected_bytes_max};
  OneSidedTransfers one_sided{{network, activity, trace, completions, outbox, receiver}};
  Delivery delivery{{network, trace, completions, actives, inbox, outbox, receiver, multicast, one_sided}};
};

struct Sides {
  explicit Sides(const EndpointOptions& options = {}) : a{net, r0, recorder, options}, b{net, r1, recorder, options} {}

  SteadyClock clock;
  trace::Recorder recorder{clock};
  net::LoopbackNetwork net{2, {}};
  Side a;
  Side b;
};

Operation* send_of(std::span<std::byte> data) {
  auto* const send = new Operation;
  send->peer = r1;
  send->comm = world;
  send->tag = Tag{5};
  send->memory = data;
  send->bytes = data.size();
  return send;
}

/// The sequence number, when it may be sent now.
std::optional<std::uint32_t> send_now(Side& side, const Address& to, std::span<const std::byte> data) {
  wire::Header header{
      .kind = wire::ChunkKind::eager, .comm = to.comm.value(), .tag = to.tag.value(), .bytes = data.size()};
  return side.outbox.send_now(to.rank, header, data) ? std::optional{header.sequence} : std::nullopt;
}

TEST(Outbox, sends_eager_messages_until_credits_are_used_and_the_rest_when_they_return) {
  Sides sides;
  Bytes data = pattern(100, 1);
  const Address to{r1, Tag{5}};
  EXPECT_EQ(send_now(sides.a, to, data), 0U);
  EXPECT_EQ(send_now(sides.a, to, data), 1U);
  EXPECT_FALSE(send_now(sides.a, to, data)) << "two credits";
  Operation* const third = send_of(data);
  sides.a.outbox.send(*third);
  EXPECT_FALSE(sides.a.outbox.is_empty());
  EXPECT_EQ(sides.a.completions.take_completed(), nullptr);
  sides.a.outbox.send_control(r1, {.kind = wire::ChunkKind::credit});  // costs none
  std::vector<Chunk> chunks = sides.b.poll();
  ASSERT_EQ(chunks.size(), 3U);
  EXPECT_EQ(chunks[1].header.sequence, 1U);
  EXPECT_EQ(chunks[0].payload, data);
  EXPECT_EQ(chunks[2].header.kind, wire::ChunkKind::credit);
  sides.a.credits.add(r1, 1);
  sides.a.outbox.flush();
  EXPECT_EQ(sides.a.completions.take_completed(), third);
  chunks = sides.b.poll();
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(chunks[0].header.sequence, 2U);
  EXPECT_TRUE(sides.a.outbox.is_empty());
  release(third);
}

TEST(Outbox, uses_rendezvous_for_long_messages_and_for_peers_that_ask_for_it) {
  Sides sides{{.eager_bytes_max = 100}};
  Bytes data = pattern(101, 1);
  EXPECT_FALSE(send_now(sides.a, {r1, Tag{5}}, data));
  sides.a.outbox.set_rendezvous_only(r1, true);
  EXPECT_FALSE(send_now(sides.a, {r1, Tag{5}}, std::span{data}.first(1)));
  Operation* const send = send_of(std::span{data}.first(1));
  sides.a.outbox.send(*send);
  const std::vector<Chunk> chunks = sides.b.poll();
  ASSERT_EQ(chunks.size(), 1U);
  EXPECT_EQ(chunks[0].header.kind, wire::ChunkKind::rts);
  EXPECT_TRUE(chunks[0].payload.empty());
  sides.a.sender.handle_refused(chunks[0].header);
  EXPECT_EQ(sides.a.completions.take_completed(), send);
  EXPECT_TRUE(sides.a.sender.is_empty());
  release(send);
}

TEST(Rendezvous, moves_a_message_in_segments_that_the_receiver_clears) {
  Sides sides{{.eager_bytes_max = 0, .segment_bytes = 1000, .segments_in_flight = 2}};
  Bytes data = pattern(4500, 3);
  Bytes buffer(data.size());
  Operation* const send = send_of(data);
  sides.a.outbox.send(*send);
  const std::vector<Chunk> chunks = sides.b.poll();
  ASSERT_EQ(chunks.size(), 1U);
  auto* const receive = new Operation;
  receive->direction = net::TransferDirection::received;
  receive->memory = buffer;
  receive->peer = r0;
  sides.b.completions.start(*receive);
  ASSERT_TRUE(sides.b.completions.accept(*receive, chunks[0].header));
  sides.b.receiver.start(*receive, chunks[0].header.operation, data.size());
  EXPECT_EQ(receive->segments_in_flight, 2U);
  std::size_t cleared = 0;
  for (int rounds = 0; !receive->is_over && rounds < 1000; ++rounds) {
    for (const Chunk& chunk : sides.a.poll()) {
      ASSERT_EQ(chunk.header.kind, wire::ChunkKind::cts);
      wire::Cts cts;
      std::memcpy(&cts, chunk.payload.data(), sizeof cts);
      EXPECT_LE(cts.bytes, 1000U);
      ++cleared;
      sides.a.sender.handle_cts(r1, chunk.header, cts);
    }
    (void)sides.b.poll();
  }
  for (int rounds = 0; !send->is_over && rounds < 1000; ++rounds) {
    (void)sides.a.poll();
  }
  EXPECT_EQ(cleared, 5U);
  EXPECT_EQ(buffer, data);
  EXPECT_EQ(sides.b.completions.take_completed(), receive);
  EXPECT_EQ(sides.a.completions.take_completed(), send);
  EXPECT_EQ(sides.a.completions.outstanding_count(), 0U);
  release(send);
  release(receive);
}

TEST(Rendezvous, refuses_a_segment_that_was_not_offered) {
  Sides sides;
  const wire::Header unknown{.kind = wire::ChunkKind::cts, .operation = 17};
  EXPECT_THROW(sides.a.sender.handle_cts(r1, unknown, {.offset = 0, .bytes = 1, .slot = 0}), Error);
}

TEST(Rendezvous, requests_no_more_of_a_multicast_than_its_sender_has) {
  Sides sides{{.segment_bytes = 1000}};
  Bytes buffer(3000);
  Operation* const receive = new Operation;
  receive->direction = net::TransferDirection::received;
  receive->memory = buffer;
  receive->bytes = buffer.size();
  receive->peer = r0;
  sides.b.receiver.start(*receive, 9, 0);
  EXPECT_EQ(receive->segments_in_flight, 0U);
  sides.b.receiver.handle_available(r0, {.bytes = 1000, .operation = 9});
  EXPECT_EQ(receive->segments_in_flight, 1U);
  EXPECT_EQ(receive->next_offset, 1000U);
  release(receive);
}

TEST(Completions, resize_the_buffer_or_complete_with_an_error) {
  Sides sides;
  Bytes growing;
  Operation* const receive = new Operation;
  receive->direction = net::TransferDirection::received;
  receive->resizable = &growing;
  sides.a.completions.start(*receive);
  EXPECT_TRUE(sides.a.completions.accept(*receive, {.bytes = 50}));
  EXPECT_EQ(growing.size(), 50U);
  receive->resizable = nullptr;
  EXPECT_FALSE(sides.a.completions.accept(*receive, {.bytes = 51}));
  EXPECT_EQ(receive->status.error, ErrorCode::truncated);
  EXPECT_EQ(sides.a.completions.take_completed(), receive);
  EXPECT_EQ(sides.a.completions.take_completed(), nullptr);
  release(receive);
}

Operation* receive_into(std::span<std::byte> buffer) {
  auto* const receive = new Operation;
  receive->direction = net::TransferDirection::received;
  receive->envelope = {world, any_source, Tag{5}};
  receive->memory = buffer;
  return receive;
}

TEST(Delivery, gives_messages_to_receives_that_were_posted_before_or_after) {
  Sides sides;
  Bytes data = pattern(100, 1);
  Bytes buffer(100);
  for (const bool is_expected : {true, false}) {
    Operation* const receive = receive_into(buffer);
    if (is_expected) {
      sides.b.delivery.receive(*receive);
    }
    (void)send_now(sides.a, {r1, Tag{5}}, data);
    const std::vector<Chunk> chunks = sides.b.poll();
    sides.b.delivery.deliver(parse(r0, chunks.at(0).header, chunks[0].payload, 2));
    if (!is_expected) {
      sides.b.delivery.receive(*receive);
    }
    EXPECT_EQ(sides.b.completions.take_completed(), receive);
    EXPECT_EQ(receive->status.source, r0);
    EXPECT_EQ(std::exchange(buffer, Bytes(100)), data);
    release(receive);
  }
}

TEST(Delivery, refuses_a_rendezvous_message_that_is_dropped) {
  Sides sides{{.eager_bytes_max = 0}};
  Bytes data = pattern(100, 1);
  Operation* const send = send_of(data);
  sides.a.outbox.send(*send);
  const std::vector<Chunk> chunks = sides.b.poll();
  sides.b.delivery.deliver(parse(r0, chunks.at(0).header, chunks[0].payload, 2));
  sides.b.delivery.drop(sides.b.inbox.claim({world, r0, Tag{5}}));
  const std::vector<Chunk> answers = sides.a.poll();
  ASSERT_EQ(answers.at(0).header.kind, wire::ChunkKind::refused);
  sides.a.sender.handle_refused(answers[0].header);
  EXPECT_EQ(sides.a.completions.take_completed(), send);
  release(send);
}

TEST(Multicast, sends_the_destinations_with_the_message_and_forwards_without_a_receive) {
  Sides sides;
  Bytes data = pattern(100, 1);
  Operation* const send = send_of(data);
  sides.a.multicast.send(*send, {{.rank = 1}, {.rank = 0}, {.rank = 0}});  // the last one behind rank 1
  const std::vector<Chunk> chunks = sides.b.poll();
  ASSERT_EQ(chunks.size(), 1U);
  const Incoming message = parse(r0, chunks[0].header, chunks[0].payload, 2);
  EXPECT_EQ(message.data.size(), data.size());
  ASSERT_EQ(message.stops.size(), 1U);
  EXPECT_EQ(message.stops[0].rank, 0U);
  Operation* const first = sides.a.completions.take_completed();
  Operation* const second = first->next_completed;
  EXPECT_EQ(first->forwarding->source, send);
  EXPECT_EQ(second->next_completed, send) << "it ends with its last forward";
  for (Operation* const operation : {first, second, send}) {
    release(operation);
  }
  sides.b.delivery.deliver(message);
  release(sides.b.completions.take_completed());  // the forward
  const std::vector<Chunk> arrived = sides.a.poll();
  ASSERT_EQ(arrived.size(), 2U);
  EXPECT_EQ(arrived[0].via, r0);
  EXPECT_EQ(arrived[1].via, r1);
  EXPECT_EQ(parse(r1, arrived[1].header, arrived[1].payload, 2).source, r0);
}

TEST(Multicast, to_no_rank_is_complete_at_once) {
  Sides sides;
  Operation* const send = send_of({});
  sides.a.multicast.send(*send, {});
  EXPECT_EQ(sides.a.completions.take_completed(), send);
  release(send);
}

TEST(MessageTrace, records_a_multicast_as_a_message_to_each_destination) {
  const plait::test::TemporaryFolder folder;
  {
    SteadyClock clock;
    trace::Recorder recorder{clock, {.folder = folder / "run", .rank = r0, .rank_count = 3}};
    MessageTrace trace{recorder, nanoseconds{0}};
    Operation send;
    send.forwarding_part().stops = {{.rank = 1, .sequence = 7}, {.rank = 2, .sequence = 9}};
    trace.completed(send);
    trace.sent({.kind = wire::ChunkKind::active}, r1, trace.now());
  }
  trace::RankTrace read = trace::read_rank_trace(folder / "run/rank-0000.plt").value();
  ASSERT_EQ(read.messages.size(), 3U);
  EXPECT_EQ(read.messages[1].event.peer, Rank{2});
  EXPECT_EQ(read.messages[1].event.sequence, 9U);
  EXPECT_EQ(read.messages[2].event.protocol, trace::Protocol::active_message);
}

}  // namespace
}  // namespace plait::comm::detail::transfer_test
