// SPDX-License-Identifier: Apache-2.0
// Rate of messages in bursts: each receiver signals that its receives are posted, then each sender sends a burst and
// waits for it. With more than two ranks, all but rank 0 send to rank 0.
#include <cstring>
#include <optional>

#include <fmt/format.h>

#include "support/compare.hpp"
#include "support/report.hpp"
#include "support/shared_cores.hpp"
#include "support/stopwatch.hpp"

namespace {

struct Case {
  std::size_t bytes = 0;
  int burst = 0;
  /// Who sends to whom.
  enum class Pattern { one_to_one, both_ways, all_to_one } pattern = Pattern::one_to_one;

  [[nodiscard]] int sender_count(int ranks) const {
    return pattern == Pattern::one_to_one ? 1 : pattern == Pattern::both_ways ? 2 : ranks - 1;
  }
};

/// Each rank has a core, except where the pattern needs more of them; then three senders of single messages count.
std::optional<bench::Wanted> wanted_of(const Case& what, int ranks, const std::string& driver) {
  const auto is = [&](std::size_t bytes, int burst) { return what.bytes == bytes && what.burst == burst; };
  if (bench::is_crowded()) {
    const bool has_three_senders = what.pattern == Case::Pattern::all_to_one && ranks == 4;
    return has_three_senders && driver == "shm" && is(8, 1) ? std::optional{bench::at_least_of_peer(0.5)}
                                                            : std::nullopt;
  }
  if (what.pattern != Case::Pattern::one_to_one) {
    return std::nullopt;
  }
  if (driver == "mpi") {
    return is(4096, 24) ? std::optional{bench::at_least_of_peer(1)} : std::nullopt;
  }
  if (driver != "shm") {
    return std::nullopt;
  }
  return is(64, 24)   ? std::optional{bench::at_least_of_peer(1.5)}
         : is(8, 256) ? std::optional{bench::at_least_of_peer(1.2)}
         : is(8, 1)   ? std::optional{bench::at_least_of_peer(1)}
                      : std::nullopt;
}

/// The messages of one rank in a case.
class Exchange {
 public:
  Exchange(int rank, int ranks, const Case& what) : burst_{what.burst} {
    const bool takes_part = what.pattern == Case::Pattern::all_to_one || rank < 2;
    const bool is_both = what.pattern == Case::Pattern::both_ways;
    if (rank == 0 || (is_both && rank == 1)) {
      for (int peer = 0; peer < ranks; ++peer) {
        if (peer != rank && (peer < 2 || what.pattern == Case::Pattern::all_to_one)) {
          from_.push_back(peer);
        }
      }
    }
    if (takes_part && (rank != 0 || is_both)) {
      to_.push_back(rank == 0 ? 1 : 0);
    }
    in_.resize(what.bytes * static_cast<std::size_t>(burst_) * from_.size());
    out_.assign(what.bytes * static_cast<std::size_t>(burst_) * to_.size(), std::byte{7});
    bytes_ = what.bytes;
  }

  /// Seconds of `count` bursts, valid on rank 0.
  template <class Side>
  double run(const Side& side, int count) {
    std::vector<typename Side::Request> receives;
    std::vector<typename Side::Request> sends;
    side.barrier();
    const bench::Stopwatch watch;
    for (int i = 0; i < count; ++i) {
      post(from_, in_, receives, [&](int peer, int tag, std::span<std::byte> part) {
        return side.receive(peer, tag, part);
      });
      for (const int peer : from_) {
        side.blocking_send(peer, burst_, {});  // ready
      }
      for (const int peer : to_) {
        side.blocking_receive(peer, burst_, {});
      }
      post(to_, out_, sends, [&](int peer, int tag, std::span<std::byte> part) { return side.send(peer, tag, part); });
      side.wait_all(std::span{receives});
      side.wait_all(std::span{sends});
    }
    return watch.seconds();
  }

 private:
  /// Posts one request for each message of a burst with each of `peers`.
  template <class Request, class Post>
  void post(const std::vector<int>& peers, plait::Bytes& buffer, std::vector<Request>& requests, const Post& one) {
    requests.clear();
    std::byte* place = buffer.data();
    for (const int peer : peers) {
      for (int tag = 0; tag < burst_; ++tag, place += bytes_) {
        requests.push_back(one(peer, tag, std::span{place, bytes_}));
      }
    }
  }

  int burst_;
  std::size_t bytes_ = 0;
  std::vector<int> from_;
  std::vector<int> to_;
  plait::Bytes in_;
  plait::Bytes out_;
};

/// Adds millions of messages a second, for each of up to 7 repetitions of about 10 ms after one that warms up. A busy
/// machine does fewer.
template <class Side>
void measure_block(const Side& side, Exchange& exchange, int messages_of_a_burst, std::vector<double>& rates) {
  constexpr double repetition_seconds = 0.01;
  constexpr double block_seconds_max = 0.15;
  constexpr int repetition_count = 8;
  constexpr int trial_count = 20;
  const bench::Stopwatch watch;
  const double trial = exchange.run(side, trial_count) / trial_count;
  const int count = bench::of_rank_0(side, 1 + static_cast<int>(repetition_seconds / trial));
  exchange.run(side, count);
  for (int i = 1;
       bench::of_rank_0(side,
                        static_cast<int>(i == 1 || (i < repetition_count && watch.seconds() < block_seconds_max))) != 0;
       ++i) {
    rates.push_back(1e-6 * messages_of_a_burst * count / exchange.run(side, count));
  }
}

void measure(bench::Report& report, const std::vector<bench::Driver>& drivers, const Case& what) {
  const int rank = bench::RawMpi::rank();
  const int ranks = bench::RawMpi::rank_count();
  Exchange exchange{rank, ranks, what};
  const int senders = what.sender_count(ranks);
  const auto [raw, ours] = bench::compare<std::vector<double>>(
      drivers, report.is_full() ? 9 : 3, [&](const auto& side, std::vector<double>& rates) {
        measure_block(side, exchange, what.burst * senders, rates);
      });
  for (const auto& [driver, rates] : ours) {
    report.add({.name = "messages",
                .params = {{"bytes", std::to_string(what.bytes)},
                           {"burst", std::to_string(what.burst)},
                           {"senders", std::to_string(senders)},
                           {"driver", driver}},
                .value = rates,
                .unit = "M/s",
                .peer = "raw MPI",
                .peer_value = bench::median(raw),
                .wanted = wanted_of(what, ranks, driver)});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "rate", "at least 1.5 times raw MPI's rate for bursts of 24 messages of 64 bytes", {.ranks = {2, 4}}, argc, argv};
  plait::MpiSession session{argc, argv};
  bench::rank_of(2, 1024);
  const int ranks = bench::RawMpi::rank_count();
  const std::vector<bench::Driver> drivers = bench::drivers();
  using Pattern = Case::Pattern;
  const std::vector<int> bursts = report.is_full() ? std::vector{1, 4, 24, 64, 256} : std::vector{1, 24, 256};
  const std::vector<std::size_t> sizes =
      report.is_full() ? std::vector<std::size_t>{8, 64, 512, 4096} : std::vector<std::size_t>{8, 64, 4096};
  for (const Pattern pattern : ranks == 2 ? std::vector{Pattern::one_to_one, Pattern::both_ways}
                                          : std::vector{Pattern::one_to_one, Pattern::all_to_one}) {
    for (const int burst : bursts) {
      for (const std::size_t bytes : sizes) {
        measure(report, drivers, {bytes, burst, pattern});
      }
    }
  }
  report.finish();
}
