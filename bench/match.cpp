// SPDX-License-Identifier: Apache-2.0
// Time a message when many receives with different tags are outstanding, end to end: from the first receive posted (or,
// unexpected, from the first send) until all are complete. As NewMadeleine's mpi_bench_reqs_shuffle, but for a fixed
// seed, and for a message that starts the other side.
#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "plait/base/random.hpp"

#include "support/compare.hpp"
#include "support/report.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr int receiver = 0;
constexpr int sender = 1;
constexpr int raw_outstanding_max = 16384;
constexpr double slow_round_seconds = 0.5;
constexpr int rounds_of_a_block_max = 200;

struct Case {
  int outstanding = 0;
  std::string arrival;   ///< "expected" or "unexpected"
  std::string wildcard;  ///< A receive that stays pending meanwhile: "none", "any source" or "any tag".

  [[nodiscard]] std::pair<std::string, std::string> kind() const { return {arrival, wildcard}; }
};

/// The buffers and the order of tags of one case, and one round of it.
class Exchange {
 public:
  Exchange(int rank, const Case& what) : rank_{rank}, what_{what}, tags_(count()), values_(count()) {
    std::iota(tags_.begin(), tags_.end(), 0);
    plait::Random random{20};
    for (std::size_t i = count(); i > 1; --i) {
      std::swap(tags_[i - 1], tags_[random.below(i)]);
    }
  }

  /// Microseconds a message; right on the receiver.
  template <class Side>
  double round(const Side& side) {
    side.barrier();
    const bench::Stopwatch watch;
    if (rank_ == sender) {
      send_all(side);
      return 0;
    }
    std::ranges::fill(values_, 0);
    std::optional<typename Side::Request> pending;
    if (what_.wildcard != "none") {
      pending = side.receive(what_.wildcard == "any source" ? bench::any : receiver,
                             what_.wildcard == "any tag" ? bench::any : last_tag(),
                             std::as_writable_bytes(std::span{&last_, 1}));
    }
    receive_all(side);
    const double microseconds = watch.microseconds() / what_.outstanding;
    if (pending) {
      side.blocking_send(receiver, last_tag(), {});
      side.wait(*pending);
    }
    check();
    return microseconds;
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(what_.outstanding); }
  [[nodiscard]] int go_tag() const { return what_.outstanding; }
  [[nodiscard]] int last_tag() const { return what_.outstanding + 1; }

  template <class Side>
  void send_all(const Side& side) {
    std::vector<typename Side::Request> requests(count());
    side.blocking_receive(receiver, go_tag(), {});
    for (std::size_t i = 0; i < count(); ++i) {
      values_[i] = i + 1;
      requests[i] = side.send(receiver, static_cast<int>(i), std::as_bytes(std::span{&values_[i], 1}));
    }
    if (what_.arrival == "unexpected") {
      side.blocking_send(receiver, go_tag(), {});  // comes after all others
    }
    side.wait_all(std::span{requests});
  }

  template <class Side>
  void receive_all(const Side& side) {
    std::vector<typename Side::Request> requests(count());
    if (what_.arrival == "unexpected") {
      side.blocking_send(sender, go_tag(), {});
      side.blocking_receive(sender, go_tag(), {});
    }
    for (std::size_t i = 0; i < count(); ++i) {
      const auto tag = static_cast<std::size_t>(tags_[i]);
      requests[i] = side.receive(sender, tags_[i], std::as_writable_bytes(std::span{&values_[tag], 1}));
    }
    if (what_.arrival == "expected") {
      side.blocking_send(sender, go_tag(), {});
    }
    side.wait_all(std::span{requests});
  }

  void check() const {
    for (std::size_t i = 0; i < count(); ++i) {
      if (values_[i] != i + 1) {
        fmt::print(stderr, "bench_match: tag {} brought the message of tag {}\n", i, values_[i]);
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
  }

  int rank_;
  Case what_;
  std::vector<int> tags_;
  std::vector<std::uint64_t> values_;
  std::uint64_t last_ = 0;
};

/// Rounds for about `seconds`, at least one. The first warms up, unless it is so long that this cannot matter.
template <class Side>
void measure_block(const Side& side, Exchange& exchange, double seconds, std::vector<double>& microseconds) {
  const bench::Stopwatch watch;
  for (int round = 0;
       bench::of_rank_0(side,
                        static_cast<int>(round < 2 ? watch.seconds() < slow_round_seconds || round == 0
                                                   : watch.seconds() < seconds && round < rounds_of_a_block_max)) != 0;
       ++round) {
    const double value = exchange.round(side);
    if (round > 0 || watch.seconds() > slow_round_seconds) {
      microseconds.push_back(value);
    }
  }
}

class Match {
 public:
  Match(bench::Report& report, int rank) : report_{report}, rank_{rank}, drivers_{bench::drivers()} {}

  void run(const Case& what) {
    const int blocks = report_.is_full() ? 7 : 3;
    constexpr double block_seconds = 0.06;
    Exchange exchange{rank_, what};
    const bool has_raw = is_raw_worth_it(what);
    const auto [raw, ours] = bench::compare<std::vector<double>>(
        drivers_,
        blocks,
        [&](const auto& side, std::vector<double>& all) { measure_block(side, exchange, block_seconds, all); },
        has_raw ? 1 : 0);
    if (has_raw) {
      raw_[{what.kind(), what.outstanding}] = bench::median(raw);
    }
    for (const auto& [driver, microseconds] : ours) {
      add(what, driver, microseconds);
    }
  }

  /// How the time a message grows with the number of them.
  void add_growth(const std::string& arrival, const std::string& wildcard) {
    for (const bench::Driver& driver : drivers_) {
      const double few = ours_[{driver.name, {{arrival, wildcard}, 128}}];
      const auto raw = raw_.find({{arrival, wildcard}, 16384});
      const double many = ours_[{driver.name, {{arrival, wildcard}, 16384}}];
      report_.add({"16384 over 128",
                   {{"arrival", arrival}, {"wildcard", wildcard}, {"driver", driver.name}},
                   {many / few, many / few, many / few},
                   "x",
                   "raw MPI",
                   raw == raw_.end() ? std::nullopt : std::optional{raw->second / raw_[{{arrival, wildcard}, 128}]}});
    }
  }

 private:
  using Key = std::pair<std::pair<std::string, std::string>, int>;

  /// Raw MPI's time grows with the square of the number: from `raw_outstanding_max` on, it is measured with wildcards,
  /// or above, only when all is wanted, and when it would end within a minute.
  bool is_raw_worth_it(const Case& what) {
    if (what.outstanding < raw_outstanding_max ||
        (what.outstanding == raw_outstanding_max && (what.wildcard == "none" || report_.is_full()))) {
      return true;
    }
    constexpr double seconds_max = 60;
    const double growth = static_cast<double>(what.outstanding) / raw_outstanding_max;
    const double seconds = raw_[{{what.arrival, "none"}, raw_outstanding_max}] * 1e-6 * growth * what.outstanding;
    const bool is_worth_it = report_.is_full() && seconds < seconds_max;
    if (rank_ == 0 && !is_worth_it) {
      fmt::print("left out: raw MPI, {} {}, wildcard {}: it would take about {:.0f} s{}\n",
                 what.outstanding,
                 what.arrival,
                 what.wildcard,
                 seconds,
                 report_.is_full() ? fmt::format(", above the limit of {} s", seconds_max) : "; --full has it");
    }
    return bench::of_rank_0(bench::RawMpi{}, static_cast<int>(is_worth_it)) != 0;
  }

  void add(const Case& what, const std::string& driver, const bench::Spread& spread) {
    const Key key{what.kind(), what.outstanding};
    ours_[{driver, key}] = spread.median;
    const auto raw = raw_.find(key);
    report_.add({what.arrival,
                 {{"outstanding", std::to_string(what.outstanding)}, {"wildcard", what.wildcard}, {"driver", driver}},
                 spread,
                 "us",
                 raw == raw_.end() ? "" : "raw MPI",
                 raw == raw_.end() ? std::nullopt : std::optional{raw->second}});
  }

  bench::Report& report_;
  int rank_;
  std::vector<bench::Driver> drivers_;
  std::map<Key, double> raw_;
  std::map<std::pair<std::string, Key>, double> ours_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"match",
                       "a message aims at the same cost with 16384 outstanding receives as with 128, below 0.5 us",
                       2,
                       argc,
                       argv};
  plait::MpiSession session{argc, argv};
  const int rank = bench::rank_of(2, 2);
  Match match{report, rank};
  for (const std::string arrival : {"expected", "unexpected"}) {
    for (const std::string wildcard : {"none", "any source", "any tag"}) {
      for (const int outstanding : {16, 128, 1024, 16384, 65536}) {
        match.run({outstanding, arrival, wildcard});
      }
      match.add_growth(arrival, wildcard);
    }
  }
  report.finish();
}
