// SPDX-License-Identifier: Apache-2.0
// What multicast and constant-time matching bring to a flow: the tiles of a Cholesky factorisation on up to a thousand
// ranks of the simulated network. The engine that moves them is the real one; the kernels are times on the virtual
// clock, and so is what the host takes to match a message.
#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "plait/net/sim/sim.hpp"
#include "plait/plait.hpp"

#include "support/report.hpp"

namespace {

using plait::nanoseconds;
using plait::Rank;

// The machine: nodes of 500 Gflop/s, a network of 1 us and 12.5 GB/s. Tiles travel as 16 KiB at a price a byte that
// makes them take as long as they are: a thousand ranks' tiles would else not fit into memory.
constexpr double flops_per_ns = 500;
constexpr double bytes_per_ns = 12.5;
constexpr std::size_t travelling_bytes = 16384;
/// How often a rank looks at the network.
constexpr nanoseconds look_interval{2'000};

// What the host takes to match one message, on this project's usual machine (`plait bench match`): constant, or for
// each receive that is outstanding, as in Open MPI 4.1.4 (60.7 us at 16384).
constexpr double match_ns = 700;
constexpr double match_ns_per_outstanding = 3.7;

struct Problem {
  std::uint32_t side_ranks = 0;  ///< Ranks are a square.
  std::uint32_t tiles = 0;       ///< In a row of the matrix.
  double tile_side = 320;        ///< Doubles in a row of a tile.
};

struct Variant {
  bool multicast = true;
  bool constant_matching = true;
};

enum class Kernel : std::uint8_t { potrf, trsm, syrk, gemm };

/// One kernel call of the right-looking factorisation: step, row and column of the tile that it writes.
struct Call {
  Kernel kernel;
  std::uint32_t step, row, column;

  /// Earlier columns first: they stand before everything else; then earlier steps.
  [[nodiscard]] auto urgency() const { return std::tuple{column, step, row}; }
  [[nodiscard]] nanoseconds time(double tile_side) const {
    const double cube = tile_side * tile_side * tile_side;
    const double flops = kernel == Kernel::potrf ? cube / 3 : kernel == Kernel::gemm ? 2 * cube : cube;
    return nanoseconds{static_cast<nanoseconds::rep>(flops / flops_per_ns)};
  }
};

/// The ranks, the tiles, and which call waits for what.
class Factorisation {
 public:
  Factorisation(const Problem& problem, Variant variant)
      : side_{problem.side_ranks},
        tiles_{problem.tiles},
        tile_side_{problem.tile_side},
        variant_{variant},
        network_{side_ * side_, simulated(problem)} {
    for (std::uint32_t rank = 0; rank < side_ * side_; ++rank) {
      ranks_.push_back(std::make_unique<RankState>());
      ranks_.back()->driver = network_.driver(Rank{rank});
      ranks_.back()->endpoint = std::make_unique<plait::comm::Endpoint>(
          *ranks_.back()->driver, recorder_, plait::comm::EndpointOptions{.piece_bytes = travelling_bytes / 2});
    }
    for (std::uint32_t column = 0; column < tiles_; ++column) {
      for (std::uint32_t row = column; row < tiles_; ++row) {
        expect_tile(row, column);
      }
    }
    become_ready({Kernel::potrf, 0, 0, 0});
  }

  /// Runs to the end. Returns the time that it took.
  nanoseconds run() {
    const std::size_t calls = std::size_t{tiles_} * (tiles_ + 1) * (tiles_ + 2) / 6;
    while (ended_ < calls) {
      nanoseconds next = network_.clock().now() + look_interval;
      if (!events_.empty()) {
        next = std::min(next, std::max(events_.top().at, network_.clock().now()));
      }
      network_.advance_to(next);
      for (const auto& rank : ranks_) {
        rank->endpoint->progress();
      }
      while (!arrived_.empty()) {
        match(*arrived_.front());
        arrived_.pop_front();
      }
      while (!events_.empty() && events_.top().at <= network_.clock().now()) {
        const Event event = events_.top();
        events_.pop();
        event.arrival == nullptr ? end(event.rank) : deliver(event.arrival->row, event.arrival->column, event.rank);
      }
    }
    return network_.clock().now();
  }

  /// The time below which no schedule comes: all ranks busy all the time, or the longest chain of kernels.
  [[nodiscard]] nanoseconds bound() const {
    const double cube = tile_side_ * tile_side_ * tile_side_;
    const double all = std::pow(tiles_, 3) / 3 * cube / flops_per_ns / (side_ * side_);
    const double chain = (tiles_ * (1.0 / 3) + (tiles_ - 1) * 2.0) * cube / flops_per_ns;
    return nanoseconds{static_cast<nanoseconds::rep>(std::max(all, chain))};
  }

 private:
  /// A tile that comes from another rank.
  struct Arrival final : plait::comm::Completion {
    Arrival(Factorisation& its_world, Rank its_rank, std::uint32_t its_row, std::uint32_t its_column)
        : world{its_world}, rank{its_rank}, row{its_row}, column{its_column} {}
    void completed(const plait::Status& /*status*/) noexcept override { world.arrived_.push_back(this); }

    Factorisation& world;
    Rank rank;
    std::uint32_t row, column;
  };
  struct Event {
    nanoseconds at{};
    Rank rank;                   ///< Its running call ends,
    Arrival* arrival = nullptr;  ///< or this is matched.
    bool operator<(const Event& other) const { return at > other.at; }
  };
  struct LaterCall {
    bool operator()(const Call& left, const Call& right) const { return left.urgency() > right.urgency(); }
  };
  struct RankState {
    std::unique_ptr<plait::net::Driver> driver;
    std::unique_ptr<plait::comm::Endpoint> endpoint;
    std::priority_queue<Call, std::vector<Call>, LaterCall> ready;
    std::deque<Arrival> arrivals;
    plait::Bytes buffer = plait::Bytes(travelling_bytes);  ///< What is in it does not matter.
    Call running{};
    bool is_running = false;
    std::size_t outstanding = 0;
    nanoseconds matching_until{};
  };

  static plait::net::SimOptions simulated(const Problem& problem) {
    plait::net::SimOptions options;
    options.cost.per_byte_ns =
        problem.tile_side * problem.tile_side * 8 / bytes_per_ns / static_cast<double>(travelling_bytes);
    options.bulk_chunk_bytes = travelling_bytes / 4;
    return options;
  }

  [[nodiscard]] Rank owner(std::uint32_t row, std::uint32_t column) const {
    return Rank{(row % side_) * side_ + column % side_};
  }
  [[nodiscard]] plait::Tag tag(std::uint32_t row, std::uint32_t column) const {
    return plait::Tag{std::uint64_t{row} * tiles_ + column};
  }

  /// Those that read a finished tile, but for its owner.
  [[nodiscard]] std::set<std::uint32_t> readers(std::uint32_t row, std::uint32_t column) const {
    std::set<std::uint32_t> found;
    for (std::uint32_t other = column + 1; other < tiles_; ++other) {
      const Rank reader = row == column ? owner(other, column) : other <= row ? owner(row, other) : owner(other, row);
      found.insert(reader.value());
    }
    found.erase(owner(row, column).value());
    return found;
  }

  void expect_tile(std::uint32_t row, std::uint32_t column) {
    for (const std::uint32_t reader : readers(row, column)) {
      RankState& rank = *ranks_[reader];
      Arrival& arrival = rank.arrivals.emplace_back(*this, Rank{reader}, row, column);
      (void)rank.endpoint->receive({owner(row, column), tag(row, column)}, std::span{rank.buffer}, &arrival);
      ++rank.outstanding;
    }
  }

  /// The host matches one message after another.
  void match(Arrival& arrival) {
    RankState& rank = *ranks_[arrival.rank.value()];
    const double took =
        variant_.constant_matching ? match_ns : match_ns_per_outstanding * static_cast<double>(rank.outstanding);
    --rank.outstanding;
    rank.matching_until =
        std::max(rank.matching_until, network_.clock().now()) + nanoseconds{static_cast<nanoseconds::rep>(took)};
    events_.push({rank.matching_until, arrival.rank, &arrival});
  }

  [[nodiscard]] static std::uint32_t inputs(const Call& call) {
    const std::uint32_t earlier = call.step > 0 ? 1 : 0;
    return earlier + (call.kernel == Kernel::potrf ? 0 : call.kernel == Kernel::gemm ? 2 : 1);
  }

  /// One of the call's inputs is there.
  void input_is_there(const Call& call) {
    const auto key = (std::uint64_t{call.step} * tiles_ + call.row) * tiles_ + call.column;
    if (++inputs_there_[key] == inputs(call)) {
      inputs_there_.erase(key);
      become_ready(call);
    }
  }

  [[nodiscard]] static Kernel kernel_of(std::uint32_t step, std::uint32_t row, std::uint32_t column) {
    return column == step ? (row == step ? Kernel::potrf : Kernel::trsm) : row == column ? Kernel::syrk : Kernel::gemm;
  }

  /// A finished tile is at `rank`: for all calls there that read it.
  void deliver(std::uint32_t row, std::uint32_t column, Rank rank) {
    for (std::uint32_t other = column + 1; other < tiles_; ++other) {
      const std::uint32_t to_row = row == column ? other : std::max(row, other);
      const std::uint32_t to_column = row == column ? column : std::min(row, other);
      if (owner(to_row, to_column) == rank) {
        input_is_there({kernel_of(column, to_row, to_column), column, to_row, to_column});
      }
    }
  }

  void become_ready(const Call& call) {
    const Rank rank = owner(call.row, call.column);
    ranks_[rank.value()]->ready.push(call);
    start_next(rank);
  }

  void start_next(Rank which) {
    RankState& rank = *ranks_[which.value()];
    if (rank.is_running || rank.ready.empty()) {
      return;
    }
    rank.is_running = true;
    rank.running = rank.ready.top();
    rank.ready.pop();
    events_.push({network_.clock().now() + rank.running.time(tile_side_), which, nullptr});
  }

  void end(Rank which) {
    RankState& rank = *ranks_[which.value()];
    const Call call = rank.running;
    rank.is_running = false;
    ++ended_;
    if (call.kernel == Kernel::potrf || call.kernel == Kernel::trsm) {
      send(rank, call);
      deliver(call.row, call.column, which);
    } else {
      input_is_there({kernel_of(call.step + 1, call.row, call.column), call.step + 1, call.row, call.column});
    }
    start_next(which);
  }

  void send(RankState& rank, const Call& call) {
    std::vector<plait::comm::Destination> to;
    for (const std::uint32_t reader : readers(call.row, call.column)) {
      to.push_back({.rank = Rank{reader}});
    }
    const plait::Tag its_tag = tag(call.row, call.column);
    if (variant_.multicast && to.size() > 1) {
      (void)rank.endpoint->multicast(to, its_tag, rank.buffer);
    } else {
      for (const plait::comm::Destination& one : to) {
        (void)rank.endpoint->send({one.rank, its_tag}, rank.buffer);
      }
    }
  }

  std::uint32_t side_;
  std::uint32_t tiles_;
  double tile_side_;
  Variant variant_;
  plait::net::SimNetwork network_;
  plait::trace::Recorder recorder_{network_.clock()};
  std::priority_queue<Event> events_;
  std::deque<Arrival*> arrived_;
  std::unordered_map<std::uint64_t, std::uint32_t> inputs_there_;
  std::size_t ended_ = 0;
  std::vector<std::unique_ptr<RankState>> ranks_;  // last: gone before what they use
};

double milliseconds_of(const Problem& problem, Variant variant) {
  return std::chrono::duration<double, std::milli>(Factorisation{problem, variant}.run()).count();
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"multicast_flow",
                       "what multicast and constant-time matching bring to a Cholesky factorisation, modelled",
                       1,
                       argc,
                       argv};
  // Small tiles on few ranks are where many receives are outstanding.
  std::vector<Problem> problems{{4, 16}, {8, 32}, {16, 64}, {4, 128, 96}};
  if (report.is_full()) {
    problems.push_back({32, 128});
  }
  for (const Problem& problem : problems) {
    const std::map<std::string, std::string> params{{"ranks", std::to_string(problem.side_ranks * problem.side_ranks)},
                                                    {"tiles", fmt::format("{0}x{0}", problem.tiles)},
                                                    {"tile", fmt::format("{0}x{0}", problem.tile_side)}};
    const double both = milliseconds_of(problem, {});
    const double bound = std::chrono::duration<double, std::milli>(Factorisation{problem, {}}.bound()).count();
    const auto add = [&](const char* name, const char* peer, Variant variant) {
      const double without = milliseconds_of(problem, variant);
      const double percent = 100 * (without / both - 1);
      report.add({name, params, {both, both, both}, "ms", peer, without, "kernels alone", bound});
      report.add({fmt::format("{} brings", name), params, {percent, percent, percent}, "%", "", {}, "", {}});
    };
    add("multicast", "one send a reader", {.multicast = false});
    add("constant-time matching", "a linear list", {.constant_matching = false});
  }
  report.finish();
}
