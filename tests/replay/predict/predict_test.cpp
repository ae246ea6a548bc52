// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/predict.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "plait/base/random.hpp"

#include "replay/hand_made.hpp"
#include "replay/predict/exchanges.hpp"

namespace plait::replay::predict_test {
namespace {

using testing::Exchange;
using testing::simple_platform;

std::int64_t total_ns(const Exchange& exchange, const Platform& platform, const PredictOptions& options = {}) {
  return predict(exchange.schedule, platform, options).value().total.count();
}

Exchange one_message(std::uint64_t bytes, std::int64_t compute_before_receive = 0) {
  Exchange exchange{2};
  exchange.send(0, 1, bytes);
  exchange.wait_for_all(0);
  exchange.compute(1, compute_before_receive);
  exchange.receive(1, 0, bytes);
  exchange.wait_for_all(1);
  return exchange;
}

TEST(Predict, lets_a_thread_wait_for_another) {
  // 5 us; a message there and one back, each with o_s and o_r, L, and (n - 1) G; 2 us.
  EXPECT_EQ(predict(two_threads(), simple_platform()).value().total.count(), 5000 + 2 * (300 + 1000 + 200) + 99 + 2000);
}

TEST(Predict, ends_with_an_error_when_threads_wait_for_each_other) {
  Schedule schedule = two_threads();
  schedule.ranks[0].streams[1].others[0] = {0, 2};
  const auto prediction = predict(schedule, simple_platform());
  ASSERT_FALSE(prediction);
  EXPECT_NE(std::string{prediction.error().what()}.find("waits forever"), std::string::npos);
}

class EitherModel : public ::testing::TestWithParam<Model> {
 protected:
  [[nodiscard]] static PredictOptions options() { return {.model = GetParam(), .tolerance = 0}; }
};

TEST_P(EitherModel, takes_overheads_latency_and_bytes_for_one_eager_message) {
  EXPECT_EQ(total_ns(one_message(1), simple_platform(), options()), 300 + 1000 + 200);
  EXPECT_EQ(total_ns(one_message(1000), simple_platform(), options()), 300 + 1000 + 500 + 200);
}

TEST_P(EitherModel, charges_both_processors_for_the_bytes_of_eager_messages) {
  Platform platform = simple_platform();
  platform.between_hosts.overhead_per_byte_ns = 0.1;
  EXPECT_EQ(total_ns(one_message(1000), platform, options()), 300 + 100 + 1000 + 500 + 200 + 100);
}

TEST_P(EitherModel, takes_two_more_latencies_for_a_long_message) {
  EXPECT_EQ(total_ns(one_message(2001), simple_platform(), options()), 300 + 1000 + 100 + 1000 + 1000 + 1000 + 200);
}

TEST_P(EitherModel, waits_with_a_long_message_until_its_receive_is_there) {
  const std::int64_t late = 50'000;
  EXPECT_EQ(total_ns(one_message(2001, late), simple_platform(), options()), late + 100 + 1000 + 1000 + 1000 + 200);
}

TEST_P(EitherModel, copies_an_eager_message_that_came_before_its_receive) {
  Platform platform = simple_platform();
  platform.copy_bytes_per_s = 1e9;
  EXPECT_EQ(total_ns(one_message(1000, 50'000), platform, options()), 50'000 + 1000 + 200);
}

TEST_P(EitherModel, uses_the_costs_within_a_host_where_both_ranks_are_on_one) {
  Platform platform = simple_platform();
  platform.ranks_per_host = 2;
  platform.within_host.latency_ns = 10;
  EXPECT_EQ(total_ns(one_message(1), platform, options()), 300 + 10 + 200);
}

TEST(PointModel, slows_bytes_within_a_host_while_others_go_the_other_way) {
  Exchange exchange{2};
  for (int i = 0; i < 10; ++i) {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      exchange.send(rank, 1 - rank, 100'001);
      exchange.receive(rank, 1 - rank, 100'001);
    }
  }
  exchange.wait_for_all(0);
  exchange.wait_for_all(1);
  Platform platform = simple_platform();
  platform.ranks_per_host = 2;
  platform.within_host.eager_bytes_max = 1'000'000;
  platform.within_host.overhead_per_byte_ns = 0;
  const auto total = [&] { return static_cast<double>(total_ns(exchange, platform)); };
  EXPECT_NEAR(total(), 0.5e6, 1e4);
  platform.within_host.both_ways = 1.5;
  EXPECT_NEAR(total(), 0.75e6, 1e4);
}

/// The end of rank 1, to which 101 messages are sent that it receives in the opposite order.
Prediction backwards(double search_ns, bool is_early) {
  Exchange exchange{2};
  for (std::uint64_t tag = 0; tag <= 100; ++tag) {
    if (!is_early) {
      exchange.compute(1, tag == 0 ? 1'000'000 : 0);
    }
    exchange.receive(1, 0, 8, 100 - tag);
  }
  exchange.compute(0, is_early ? 1'000'000 : 0);
  for (std::uint64_t tag = 0; tag <= 100; ++tag) {
    exchange.send(0, 1, 8, tag);
  }
  exchange.wait_for_all(0);
  exchange.wait_for_all(1);
  Platform platform = simple_platform();
  platform.search_ns = search_ns;
  return predict(exchange.schedule, platform).value();
}

TEST(PointModel, counts_unexpected_messages_that_are_there_at_one_time) {
  Exchange exchange{2};
  for (std::uint64_t tag = 0; tag < 6; ++tag) {
    exchange.send(0, 1, tag == 5 ? 5000 : 100, tag);  // the last is no eager message
  }
  exchange.wait_for_all(0);
  exchange.receive(1, 0, 100, 4);  // expected
  exchange.compute(1, 1'000'000);
  exchange.receive(1, 0, 100, 0);
  exchange.compute(1, 1'000'000);
  for (std::uint64_t tag = 1; tag < 6; ++tag) {
    if (tag != 4) {
      exchange.receive(1, 0, tag == 5 ? 5000 : 100, tag);
    }
  }
  exchange.wait_for_all(1);
  for (const std::uint32_t ranks_per_host : {1U, 2U}) {
    Platform platform = simple_platform();
    platform.ranks_per_host = ranks_per_host;
    const Prediction prediction = predict(exchange.schedule, platform).value();
    const Unexpected& unexpected = prediction.ranks[1].unexpected;
    EXPECT_EQ(unexpected.count_max, 4U);
    EXPECT_EQ(unexpected.bytes_max, 400U);
    EXPECT_EQ(unexpected.copied, 4U);
    EXPECT_EQ(unexpected.copied_bytes, 400U);
    EXPECT_EQ(prediction.ranks[0].unexpected.copied, 0U);
  }
}

TEST(PointModel, copies_an_unexpected_eager_message_at_the_rate_of_memory) {
  const auto total = [](double copy_bytes_per_s) {
    Exchange exchange{2};
    exchange.send(0, 1, 1000);
    exchange.compute(1, 1'000'000);
    exchange.receive(1, 0, 1000);
    exchange.wait_for_all(1);
    Platform platform = simple_platform();
    platform.copy_bytes_per_s = copy_bytes_per_s;
    return predict(exchange.schedule, platform).value().total.count();
  };
  EXPECT_EQ(total(1e8) - total(1e9), 9000);
}

TEST(PointModel, takes_time_to_search_unexpected_messages_and_posted_receives) {
  // Of 101 unexpected messages, then of 100, ...: half of each.
  const double late = static_cast<double>((backwards(10, false).total - backwards(0, false).total).count());
  EXPECT_NEAR(late, 10 * (101 * 102 / 2 + 101) / 2, 1);  // of rounding
  // The last message meets the only receive that is left; the first is later by half of 101.
  const Prediction searched = backwards(10, true);
  EXPECT_GT(searched.total, backwards(0, true).total);
  EXPECT_LE((searched.total - backwards(0, true).total).count(), 10 * 51);
}

TEST(PointModel, takes_what_was_measured_of_bytes_and_of_beginning_receives) {
  Exchange exchange{2};
  exchange.send(0, 1, 3000);
  exchange.wait_for_all(0);
  exchange.receive(1, 0, 3000);
  exchange.wait_for_all(1);
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 10'000;
  platform.between_hosts.overhead_per_byte_ns = 0;
  const auto total = [&] { return static_cast<double>(total_ns(exchange, platform)); };
  platform.between_hosts.gap_per_byte_ns = 1;
  const double straight = total();
  platform.between_hosts.moving = {{.bytes = 2000, .time_ns = 100}, {.bytes = 4000, .time_ns = 500}};
  EXPECT_NEAR(total(), straight - 2999 + 300, 1);  // half way between the two
  platform.between_hosts.moving.pop_back();
  EXPECT_NEAR(total(), straight - 2999 + 100 + 1000, 1);  // beyond the last: at G
  platform.between_hosts.moving.clear();
  platform.between_hosts.post_overhead_ns = 50;
  EXPECT_NEAR(total(), straight, 1);  // the receive has begun before the message comes
  platform.between_hosts.post_overhead_ns = 2 * straight;
  EXPECT_GT(total(), 2 * straight);
}

TEST_P(EitherModel, takes_what_was_measured_of_the_processors) {
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 10'000;
  platform.between_hosts.processor.sending = {{.bytes = 0, .time_ns = 100}, {.bytes = 1000, .time_ns = 700}};
  platform.between_hosts.processor.receiving = {{.bytes = 0, .time_ns = 50}, {.bytes = 1000, .time_ns = 250}};
  EXPECT_EQ(total_ns(one_message(1), platform, options()), 101 + 1000 + 50);  // to the nearest nanosecond
  EXPECT_EQ(total_ns(one_message(500), platform, options()), 400 + 1000 + 250 + 150);
  EXPECT_EQ(total_ns(one_message(2000), platform, options()), 1300 + 1000 + 1000 + 450);  // as steep as before
}

TEST_P(EitherModel, lets_computing_end_later_for_what_the_network_takes_of_the_processor) {
  Exchange exchange{2};
  exchange.send(0, 1, 1000);
  exchange.compute(0, 10'000);
  exchange.wait_for_all(0);
  exchange.receive(1, 0, 1000);
  exchange.compute(1, 20'000);
  exchange.wait_for_all(1);
  Platform platform = simple_platform();
  platform.between_hosts.processor.stolen_sending = {{.bytes = 0, .time_ns = 0}, {.bytes = 1000, .time_ns = 3000}};
  platform.between_hosts.processor.stolen_receiving = {{.bytes = 0, .time_ns = 0}, {.bytes = 1000, .time_ns = 400}};
  const Prediction prediction = predict(exchange.schedule, platform, options()).value();
  EXPECT_EQ(prediction.ranks[0].end.count(), 300 + 10'000 + 3000);
  EXPECT_EQ(prediction.ranks[1].end.count(), 20'000 + 400 + 200);
  EXPECT_EQ(total_ns(one_message(1000), platform, options()), 300 + 1000 + 500 + 200);  // who waits has time
}

TEST(PointModel, ends_a_rendezvous_send_when_the_system_has_its_bytes) {
  Exchange exchange{2};
  exchange.wait(0, {exchange.send(0, 1, 2001)});
  exchange.compute(0, 10'000);
  exchange.wait(1, {exchange.receive(1, 0, 2001)});
  Platform platform = simple_platform();
  platform.between_hosts.leaving = {{.bytes = 1001, .time_ns = 0}, {.bytes = 3001, .time_ns = 500}};
  // Of 1000 ns in which the bytes move, the send takes 250; in the rest the network takes 150 of the processor.
  platform.between_hosts.processor.stolen_sending = {{.bytes = 1001, .time_ns = 150}, {.bytes = 3001, .time_ns = 150}};
  const std::int64_t departure = 300 + 1000 + 100 + 1000;
  const Prediction prediction = predict(exchange.schedule, platform).value();
  EXPECT_EQ(prediction.ranks[0].end.count(), departure + 250 + 10'000 + 150);
  EXPECT_EQ(prediction.ranks[1].end.count(), departure + 1000 + 1000 + 200);
}

TEST(PointModel, takes_from_computing_only_what_the_network_does_meanwhile) {
  // The work of 500 ns is spread over the 1000 in which the bytes move: half of the processor.
  const auto end = [](std::int64_t computing_ns, ComputingTimes times) {
    Exchange exchange{2};
    exchange.send(0, 1, 2001);
    exchange.compute(0, computing_ns);
    exchange.receive(1, 0, 2001);
    exchange.wait_for_all(1);
    Platform platform = simple_platform();
    platform.between_hosts.eager_bytes_max = 10'000;
    platform.between_hosts.processor.stolen_sending = {{.bytes = 2000, .time_ns = 500},
                                                       {.bytes = 4000, .time_ns = 500}};
    return predict(exchange.schedule, platform, {.computing = times}).value();
  };
  EXPECT_EQ(end(200, ComputingTimes::alone).ranks[0].end.count(), 300 + 400);
  EXPECT_EQ(end(2000, ComputingTimes::alone).ranks[0].end.count(), 300 + 2500);
  const Prediction recorded = end(400, ComputingTimes::with_network);
  EXPECT_EQ(recorded.ranks[0].end.count(), 300 + 400);
  EXPECT_EQ(recorded.stolen[1].count(), 200);
  EXPECT_EQ(end(2500, ComputingTimes::with_network).stolen[1].count(), 500);
}

TEST(PointModel, takes_the_work_for_an_unexpected_message_once) {
  Exchange exchange{2};
  exchange.send(0, 1, 2001);
  exchange.compute(1, 5000);
  exchange.poll(1);
  exchange.receive(1, 0, 2001);
  exchange.wait_for_all(1);
  exchange.compute(1, 5000);
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 10'000;
  const std::int64_t before = total_ns(exchange, platform);
  platform.between_hosts.processor.stolen_receiving = {{.bytes = 2000, .time_ns = 300},
                                                       {.bytes = 4000, .time_ns = 300}};
  EXPECT_EQ(total_ns(exchange, platform) - before, 300);
}

/// Two ranks of one host that compute at once, and then exchange a message with the other host's.
Platform one_core_a_host(double slice_ns) {
  Platform platform = simple_platform();
  platform.ranks_per_host = 2;
  platform.cores_per_host = 1;
  platform.core_slice_ns = slice_ns;
  return platform;
}

TEST(PointModel, lets_ranks_that_share_a_core_compute_one_after_the_other) {
  Exchange exchange{4};
  for (const std::uint32_t rank : {0U, 1U, 2U}) {
    exchange.compute(rank, 10'000);
    exchange.compute(rank, 10'000);
  }
  const auto ends = [&exchange](const Platform& platform) {
    std::vector<std::int64_t> found;
    const Prediction prediction = predict(exchange.schedule, platform).value();
    for (const RankTimes& rank : prediction.ranks) {
      found.push_back(rank.end.count());
    }
    return found;
  };
  EXPECT_EQ(ends(one_core_a_host(0)), (std::vector<std::int64_t>{20'000, 20'000, 20'000, 0}));
  EXPECT_EQ(ends(one_core_a_host(1e6)), (std::vector<std::int64_t>{20'000, 40'000, 20'000, 20'000}));
  // Slices of 8 us, from the beginning of each computation: rank 0 has the core until 8 us, from 16 to 26, and from 36.
  EXPECT_EQ(ends(one_core_a_host(8000))[0], 38'000);
  EXPECT_EQ(ends(one_core_a_host(8000))[1], 40'000);
}

TEST(PointModel, lets_a_rank_answer_when_the_one_that_has_its_core_waits) {
  // Rank 0 waits for the CTS, which arrives while rank 1 computes on its core.
  Exchange exchange{4};
  exchange.wait(0, {exchange.send(0, 2, 2001)});
  exchange.compute(1, 50'000);
  exchange.wait(1, {exchange.receive(1, 3, 8)});
  exchange.wait(2, {exchange.receive(2, 0, 2001)});
  exchange.wait(3, {exchange.send(3, 1, 8)});
  const Prediction prediction = predict(exchange.schedule, one_core_a_host(1e6)).value();
  const std::int64_t has_core = 300 + 50'000;
  EXPECT_EQ(prediction.ranks[2].end.count(), has_core + 1000 + 1000 + 200);
}

TEST(PointModel, keeps_an_interface_for_as_long_as_was_measured) {
  Exchange exchange{2};
  for (int i = 0; i < 10; ++i) {
    exchange.send(0, 1, 1001);
    exchange.receive(1, 0, 1001);
  }
  exchange.wait_for_all(0);
  exchange.wait_for_all(1);
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 10'000;
  platform.between_hosts.gap_ns = 0;
  platform.between_hosts.send_overhead_ns = 0;
  platform.between_hosts.receive_overhead_ns = 0;
  EXPECT_NEAR(static_cast<double>(total_ns(exchange, platform)), 1000 + 10 * 500, 2);
  platform.between_hosts.occupying = {{.bytes = 1001, .time_ns = 800}};
  EXPECT_NEAR(static_cast<double>(total_ns(exchange, platform)), 1000 + 9 * 800 + 500, 2);
}

TEST_P(EitherModel, moves_messages_of_one_host_one_after_the_other_or_at_half_speed) {
  Exchange exchange{3};
  for (const std::uint32_t to : {1U, 2U}) {
    exchange.send(0, to, 1001);
    exchange.receive(to, 0, 1001);
    exchange.wait_for_all(to);
  }
  exchange.wait_for_all(0);
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 4000;
  platform.between_hosts.gap_ns = 0;
  platform.between_hosts.send_overhead_ns = 0;
  // Both models have moved all 2002 bytes over the one link when the last arrives.
  EXPECT_NEAR(static_cast<double>(total_ns(exchange, platform, options())), 1000 + 1001 + 200, 2);
}

TEST_P(EitherModel, names_a_receive_without_a_send) {
  Exchange exchange{2};
  exchange.receive(1, 0, 64, 7);
  exchange.wait_for_all(1);
  const Result<Prediction> prediction = predict(exchange.schedule, simple_platform(), options());
  ASSERT_FALSE(prediction);
  const std::string sentence = prediction.error().what();
  EXPECT_NE(sentence.find("rank 1 receives 64 bytes from rank 0, tag 7, communicator 0"), std::string::npos)
      << sentence;
  EXPECT_NE(sentence.find("and rank 0 never sends it"), std::string::npos) << sentence;
}

TEST_P(EitherModel, names_long_sends_that_wait_for_each_other) {
  Exchange exchange{2};
  for (const std::uint32_t rank : {0U, 1U}) {
    exchange.wait(rank, {exchange.send(rank, 1 - rank, 100'000)});
    exchange.wait(rank, {exchange.receive(rank, 1 - rank, 100'000)});
  }
  const Result<Prediction> stuck = predict(exchange.schedule, simple_platform(), options());
  ASSERT_FALSE(stuck);
  EXPECT_NE(std::string{stuck.error().what()}.find("as its other end does"), std::string::npos);
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 100'000;
  EXPECT_TRUE(predict(exchange.schedule, platform, options()));
}

TEST_P(EitherModel, tells_of_messages_that_nobody_receives) {
  Exchange exchange{2};
  exchange.send(0, 1, 64, 3);
  const Prediction prediction = predict(exchange.schedule, simple_platform(), options()).value();
  ASSERT_EQ(prediction.notices.size(), 1U);
  EXPECT_NE(prediction.notices[0].find("sends 64 bytes to rank 1, tag 3"), std::string::npos);
}

TEST_P(EitherModel, matches_messages_of_one_key_in_order_and_others_by_key) {
  Exchange exchange{2};
  const std::uint32_t late = exchange.receive(1, 0, 8, 1);
  const std::uint32_t first = exchange.receive(1, 0, 8, 0);
  const std::uint32_t second = exchange.receive(1, 0, 8, 0);
  exchange.wait(1, {first});
  exchange.wait(1, {second});
  exchange.wait(1, {late});
  exchange.send(0, 1, 8, 0);
  exchange.compute(0, 10'000);
  exchange.send(0, 1, 8, 0);
  exchange.compute(0, 10'000);
  exchange.send(0, 1, 8, 1);
  PredictOptions with_times = options();
  with_times.keeps_times = true;
  const Prediction prediction = predict(exchange.schedule, simple_platform(), with_times).value();
  const std::size_t begin = exchange.schedule.ranks[0].streams[0].operations.size();
  EXPECT_LT(prediction.times[begin + first].moved, prediction.times[begin + second].moved);
  EXPECT_LT(prediction.times[begin + second].moved, prediction.times[begin + late].moved);
  EXPECT_EQ(prediction.times[begin + late].partner, 4U);
}

TEST_P(EitherModel, goes_on_while_ranks_compute_only_with_somebody_who_does) {
  // Rank 1 asks at once; rank 0 computes 100 us before it waits.
  const auto exchange_with_looks = [](bool looks) {
    Exchange exchange{2};
    exchange.send(0, 1, 2001);
    exchange.compute(0, 50'000);
    if (looks) {
      exchange.poll(0);
    }
    exchange.compute(0, 50'000);
    exchange.wait_for_all(0);
    exchange.receive(1, 0, 2001);
    exchange.wait_for_all(1);
    return exchange;
  };
  const auto arrival = [&](bool looks, ProgressModel progress, double every) {
    Platform platform = simple_platform();
    platform.progress = progress;
    platform.progress_every_ns = every;
    return predict(exchange_with_looks(looks).schedule, platform, options()).value().ranks[1].end.count();
  };
  const std::int64_t at_once = 300 + 1000 + 100 + 1000 + 1000 + 1000 + 200;
  EXPECT_EQ(arrival(false, ProgressModel::ideal, 0), at_once);
  EXPECT_EQ(arrival(false, ProgressModel::calls, 0), 300 + 100'000 + 1000 + 1000 + 200);
  EXPECT_EQ(arrival(true, ProgressModel::calls, 0), 300 + 50'000 + 1000 + 1000 + 200);
  EXPECT_EQ(arrival(false, ProgressModel::background, 10'000), 10'000 + 1000 + 1000 + 200);
}

TEST_P(EitherModel, gives_each_collective_the_messages_of_its_algorithm) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 7U, 8U, 16U}) {
    for (int kind = 1; kind <= static_cast<int>(Collective::scan); ++kind) {
      for (const std::uint64_t bytes : {std::uint64_t{8}, std::uint64_t{1} << 20U}) {
        Exchange exchange{ranks};
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
          for (int repetition = 0; repetition < 2; ++repetition) {
            exchange.collective(rank,
                                {.collective = static_cast<Collective>(kind),
                                 .peer = ranks / 2,
                                 .bytes = bytes * (kind == static_cast<int>(Collective::all_to_all) ? ranks : 1),
                                 .bytes_got = bytes});
          }
          exchange.wait_for_all(rank);
        }
        Result<Prediction> prediction = predict(exchange.schedule, simple_platform(), options());
        ASSERT_TRUE(prediction) << kind << " of " << ranks << ": " << prediction.error().what();
        EXPECT_TRUE(prediction.value().notices.empty()) << kind << " of " << ranks;
        EXPECT_EQ(prediction.value().messages > 0, ranks > 1) << kind << " of " << ranks;
      }
    }
  }
}

TEST_P(EitherModel, holds_a_barrier_until_the_last_has_come) {
  Exchange exchange{8};
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    exchange.compute(rank, rank == 5 ? 70'000 : 10);
    exchange.collective(rank, {.collective = Collective::barrier});
    exchange.wait_for_all(rank);
  }
  const Prediction prediction = predict(exchange.schedule, simple_platform(), options()).value();
  for (const RankTimes& rank : prediction.ranks) {
    EXPECT_GT(rank.end.count(), 70'000);
    EXPECT_LE(rank.end.count(), 70'000 + 3 * 1500);
  }
}

/// Random messages with computing between, some of it waited for early.
Exchange random_exchange(std::uint64_t seed, std::uint32_t ranks, int messages) {
  Random random{seed};
  Exchange exchange{ranks};
  for (int i = 0; i < messages; ++i) {
    const auto from = static_cast<std::uint32_t>(random.below(ranks));
    const auto to = static_cast<std::uint32_t>(random.below(ranks));
    const std::uint64_t bytes = random.below(5000);
    exchange.receive(to, from, bytes, 0);
    exchange.send(from, to, bytes, 0);
    if (random.happens(0.3)) {
      exchange.compute(from, static_cast<std::int64_t>(random.below(3000)));
    }
  }
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    exchange.wait_for_all(rank);
  }
  return exchange;
}

TEST_P(EitherModel, predicts_the_same_again) {
  const Exchange exchange = random_exchange(1, 7, 300);
  const Prediction first = predict(exchange.schedule, simple_platform(), options()).value();
  const Prediction second = predict(exchange.schedule, simple_platform(), options()).value();
  for (std::size_t rank = 0; rank < first.ranks.size(); ++rank) {
    EXPECT_EQ(first.ranks[rank].end, second.ranks[rank].end);
    EXPECT_EQ(first.ranks[rank].wait, second.ranks[rank].wait);
  }
}

TEST_P(EitherModel, is_never_faster_than_computing_alone_nor_than_the_bytes_of_a_link) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Exchange exchange = random_exchange(seed, 5, 200);
    const Platform platform = simple_platform();
    const Prediction prediction = predict(exchange.schedule, platform, options()).value();
    std::vector<std::uint64_t> sent(5, 0);
    for (std::uint32_t rank = 0; rank < 5; ++rank) {
      EXPECT_GE(prediction.ranks[rank].end, prediction.ranks[rank].compute);
      for (const Operation& operation : exchange.schedule.ranks[rank].streams[0].operations) {
        if (operation.action == Action::send && operation.peer != rank && operation.bytes > 0) {
          sent[rank] += operation.bytes - 1;
        }
      }
    }
    const std::uint64_t most = *std::ranges::max_element(sent);
    EXPECT_GE(static_cast<double>(prediction.total.count()) + 1, static_cast<double>(most) * 0.5);
  }
}

TEST(FlowModel, agrees_with_exact_sharing_within_its_tolerance) {
  // Enough messages at a time that not every change is settled.
  const Exchange exchange = random_exchange(3, 40, 4000);
  Platform platform = simple_platform();
  platform.topology = {.shape = TopologyShape::fat_tree,
                       .arity = 4,
                       .levels = 3,
                       .oversubscription = 2,
                       .link_bytes_per_s = 2e9,
                       .link_latency_ns = 10};
  const auto exact = static_cast<double>(total_ns(exchange, platform, {.model = Model::flows, .tolerance = 0}));
  const auto rough = static_cast<double>(total_ns(exchange, platform, {.model = Model::flows, .tolerance = 0.05}));
  EXPECT_NEAR(rough / exact, 1, 0.02);
}

TEST(FlowModel, shares_a_link_between_switches) {
  // Hosts 0 and 1 send through the one link up from their switch.
  Exchange exchange{8};
  for (const std::uint32_t from : {0U, 1U}) {
    exchange.send(from, from + 4, 10'001);
    exchange.wait_for_all(from);
    exchange.receive(from + 4, from, 10'001);
    exchange.wait_for_all(from + 4);
  }
  Platform platform = simple_platform();
  platform.between_hosts.eager_bytes_max = 20'000;
  platform.hosts = 8;
  platform.topology = {.shape = TopologyShape::fat_tree,
                       .arity = 4,
                       .levels = 2,
                       .oversubscription = 4,
                       .link_bytes_per_s = 2e9,
                       .link_latency_ns = 10};
  platform.topology.arity = 4;
  const std::int64_t shared = total_ns(exchange, platform, {.model = Model::flows, .tolerance = 0});
  EXPECT_EQ(shared, 300 + 1000 + 20 + 10'000 + 200);
  EXPECT_EQ(total_ns(exchange, platform), 300 + 1000 + 20 + 5'000 + 200);
}

INSTANTIATE_TEST_SUITE_P(Models, EitherModel, ::testing::Values(Model::points, Model::flows), [](const auto& model) {
  return model.param == Model::points ? "points" : "flows";
});

}  // namespace
}  // namespace plait::replay::predict_test
