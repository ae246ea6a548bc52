// SPDX-License-Identifier: Apache-2.0
// Time a message when many receives with different tags are outstanding, from the first receive posted (unexpected:
// from the first send) until all are complete. As NewMadeleine's mpi_bench_reqs_shuffle, except for a fixed seed, and
// for a message that starts the other side.
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

/// Figures that are wanted over shared memory: of few messages beside raw MPI, of many, and of how the time grows.
constexpr int few_outstanding = 16;
constexpr double few_over_raw_max = 1.2;
constexpr int many_outstanding = 16384;
constexpr double many_microseconds_max = 0.3;
constexpr int most_outstanding = 65536;
constexpr double growth_max = 1.3;

struct Case {
  int outstanding = 0;
  std::string arrival;   ///< "expected" or "unexpected"
  std::string wildcard;  ///< A receive that stays pending meanwhile: "none", "any source" or "any tag".

  friend auto operator<=>(const Case&, const Case&) = default;
};

std::optional<bench::Wanted> wanted_of(const Case& what, const std::string& driver) {
  if (driver != "shm" || what.wildcard != "none") {
    return std::nullopt;
  }
  if (what.outstanding == few_outstanding) {
    return bench::at_most_of_peer(few_over_raw_max);
  }
  if (what.outstanding == many_outstanding && what.arrival == "expected") {
    return bench::at_most(many_microseconds_max);
  }
  return std::nullopt;
}

/// The buffers and the order of tags of one case, and its rounds.
class Exchange {
 public:
  Exchange(int rank, const Case& what) : rank_{rank}, what_{what}, tags_(count()), values_(count()) {
    std::iota(tags_.begin(), tags_.end(), 0);
    plait::Random random{20};
    for (std::size_t i = count(); i > 1; --i) {
      std::swap(tags_[i - 1], tags_[random.below(i)]);
    }
  }

  /// Microseconds a message, valid on the receiver.
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
      side.blocking_send(receiver, go_tag(), {});  // arrives after all others
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

/// Runs rounds for about `seconds`, at least one. The first warms up, unless it takes so long that this does not
/// matter.
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
      medians_[{"raw MPI", what}] = bench::median(raw);
    }
    for (const auto& [driver, microseconds] : ours) {
      medians_[{driver, what}] = bench::median(microseconds);
      report_.add({.name = what.arrival,
                   .params = {{"outstanding", std::to_string(what.outstanding)},
                              {"wildcard", what.wildcard},
                              {"driver", driver}},
                   .value = microseconds,
                   .unit = "us",
                   .peer = has_raw ? "raw MPI" : "",
                   .peer_value = has_raw ? std::optional{bench::median(raw)} : std::nullopt,
                   .wanted = wanted_of(what, driver)});
    }
  }

  /// Adds how the time a message grows from 128 to `outstanding` receives.
  void add_growth(const std::string& arrival, const std::string& wildcard, int outstanding) {
    const auto growth = [&](const std::string& who) -> std::optional<double> {
      const auto many = medians_.find({who, {outstanding, arrival, wildcard}});
      return many == medians_.end() ? std::nullopt
                                    : std::optional{many->second / medians_[{who, {128, arrival, wildcard}}]};
    };
    for (const bench::Driver& driver : drivers_) {
      const std::optional<double> raw = growth("raw MPI");
      report_.add({.name = fmt::format("{} over 128", outstanding),
                   .params = {{"arrival", arrival}, {"wildcard", wildcard}, {"driver", driver.name}},
                   .value = *growth(driver.name),
                   .unit = "x",
                   .peer = raw ? "raw MPI" : "",
                   .peer_value = raw,
                   .wanted = driver.name == "shm" && outstanding == most_outstanding
                                 ? std::optional{bench::at_most(growth_max)}
                                 : std::nullopt});
    }
  }

 private:
  /// Raw MPI's time grows with the square of the number of receives. Without `--full` it has no more than 16384 of
  /// them, and fewer beside a wildcard; with it, as many as end within a minute.
  bool is_raw_worth_it(const Case& what) {
    constexpr double seconds_max = 60;
    bool is_worth_it = what.outstanding < raw_outstanding_max ||
                       (what.outstanding == raw_outstanding_max && (what.wildcard == "none" || report_.is_full()));
    if (!is_worth_it) {
      const double growth = static_cast<double>(what.outstanding) / raw_outstanding_max;
      const double microseconds = medians_[{"raw MPI", {raw_outstanding_max, what.arrival, "none"}}] * growth;
      is_worth_it = report_.is_full() && 1e-6 * microseconds * what.outstanding < seconds_max;
      report_.note(report_.is_full() ? "raw MPI is left out where one round would take more than a minute"
                                     : "raw MPI with more receives, where one round takes seconds: --full");
    }
    return bench::of_rank_0(bench::RawMpi{}, static_cast<int>(is_worth_it)) != 0;
  }

  bench::Report& report_;
  int rank_;
  std::vector<bench::Driver> drivers_;
  std::map<std::pair<std::string, Case>, double> medians_;  ///< By side.
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{
      "match",
      "a message costs at most 1.3 times as much with 65536 outstanding receives as with 128; 0.3 us with 16384",
      2,
      argc,
      argv};
  plait::MpiSession session{argc, argv};
  const int rank = bench::rank_of(2, 2);
  Match match{report, rank};
  for (const std::string arrival : {"expected", "unexpected"}) {
    for (const std::string wildcard : {"none", "any source", "any tag"}) {
      for (const int outstanding : {few_outstanding, 128, 1024, many_outstanding, most_outstanding}) {
        match.run({outstanding, arrival, wildcard});
      }
      match.add_growth(arrival, wildcard, many_outstanding);
      match.add_growth(arrival, wildcard, most_outstanding);
    }
  }
  report.finish();
}
