// SPDX-License-Identifier: Apache-2.0
#include "alltoall/model.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "plait/net/sim/sim.hpp"
#include "plait/plait.hpp"

#include "alltoall/pattern.hpp"

namespace alltoall {

namespace {

using plait::nanoseconds;
using std::chrono::microseconds;

constexpr nanoseconds step = microseconds{1};           // of the virtual clock: what times are right to
constexpr nanoseconds polls_every = microseconds{100};  // in the background, while the program works
constexpr plait::net::LogGP gigabit{
    .latency = microseconds{25}, .overhead = microseconds{3}, .gap = microseconds{1}, .per_byte_ns = 8};

enum class Order {
  nothing,      ///< No work: to learn what the communication takes.
  after,        ///< PLB
  before,       ///< PLN
  unobserved,   ///< DIN
  as_it_comes,  ///< PLT
};

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

struct Exchange {
  std::uint32_t ranks = 0;
  std::size_t block_bytes = 0;
  std::size_t pieces = 1;  ///< Of each block.
  nanoseconds work{};      ///< Of each rank.
  Order order = Order::nothing;
};

/// One rank of the model: posts its messages, then works and waits as the variant wants.
class ModelRank {
 public:
  ModelRank(plait::net::SimNetwork& network, plait::Rank self, const Exchange& exchange)
      : network_{network},
        exchange_{exchange},
        driver_{network.driver(self)},
        recorder_{network.clock()},
        endpoint_{*driver_, recorder_},
        self_{self.value()},
        send_(exchange.ranks * exchange.block_bytes),
        receive_(send_.size()) {
    for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank) {
      fill(std::span{send_}.subspan(rank * exchange.block_bytes, exchange.block_bytes), {self_, rank, 1});
    }
  }

  void start() {
    const auto part = [&](std::uint32_t rank, std::size_t piece) {
      const auto [first, last] = part_of(exchange_.block_bytes, piece, exchange_.pieces);
      return std::pair{rank * exchange_.block_bytes + first, last - first};
    };
    for (std::size_t piece = 0; piece < exchange_.pieces; ++piece) {
      for (std::uint32_t distance = 1; distance < exchange_.ranks; ++distance) {
        const std::uint32_t source = (self_ + exchange_.ranks - distance) % exchange_.ranks;
        const std::uint32_t destination = (self_ + distance) % exchange_.ranks;
        const auto [in, in_bytes] = part(source, piece);
        const auto [out, out_bytes] = part(destination, piece);
        const plait::Tag tag{piece};
        receives_.push_back(endpoint_.receive({plait::Rank{source}, tag}, std::span{receive_}.subspan(in, in_bytes)));
        sends_.push_back(endpoint_.send({plait::Rank{destination}, tag}, std::span{send_}.subspan(out, out_bytes)));
      }
      const auto [own, own_bytes] = part(self_, piece);
      std::copy_n(send_.begin() + static_cast<std::ptrdiff_t>(own),
                  own_bytes,
                  receive_.begin() + static_cast<std::ptrdiff_t>(own));
    }
    own_ready_ = exchange_.order == Order::as_it_comes ? own_piece_count(exchange_.pieces) : 0;
    if (exchange_.order == Order::before || exchange_.order == Order::unobserved) {
      work_for(exchange_.work);
      shares_done_ = share_count();
    }
  }

  /// What this rank does at the present time.
  void act() {
    const nanoseconds now = network_.clock().now();
    const bool is_working = now < busy_until_;
    if (!is_working || (exchange_.order == Order::before && now >= next_poll_)) {
      next_poll_ = now + polls_every;
      while (endpoint_.progress() > 0) {
      }
    }
    if (is_working || is_done_) {
      return;
    }
    switch (exchange_.order) {
      case Order::as_it_comes:
        take_next_share();
        break;
      case Order::after:
        if (has_all() && shares_done_ == 0) {
          work_for(exchange_.work);
          shares_done_ = share_count();
        }
        break;
      case Order::nothing:
        shares_done_ = share_count();
        break;
      case Order::before:
      case Order::unobserved:
        break;
    }
    is_done_ = shares_done_ == share_count() && now >= busy_until_ && has_all();
  }

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }

  void check() const {
    for (std::uint32_t rank = 0; rank < exchange_.ranks; ++rank) {
      const auto block = std::span{receive_}.subspan(rank * exchange_.block_bytes, exchange_.block_bytes);
      if (const auto wrong = find_wrong(block, {rank, self_, 1})) {
        throw plait::Error{plait::ErrorCode::user_task, fmt::format("the model gave a wrong result: {}", *wrong)};
      }
    }
  }

 private:
  [[nodiscard]] std::size_t share_count() const { return exchange_.ranks * exchange_.pieces; }
  void work_for(nanoseconds time) { busy_until_ = network_.clock().now() + time; }

  [[nodiscard]] bool has_all() {
    const auto is_complete = [](const plait::Request& request) { return request.is_complete(); };
    return std::ranges::all_of(receives_, is_complete) && std::ranges::all_of(sends_, is_complete);
  }

  /// Own shares first, as with the tasks: all are ready from the start.
  void take_next_share() {
    arrived_ += std::erase_if(receives_, [](const plait::Request& request) { return request.is_complete(); });
    const auto block = exchange_.work / exchange_.ranks;
    if (own_ready_ > 0) {
      work_for(block / static_cast<nanoseconds::rep>(own_piece_count(exchange_.pieces)));
      shares_done_ += --own_ready_ == 0 ? exchange_.pieces : 0;
    } else if (arrived_ > 0) {
      work_for(block / static_cast<nanoseconds::rep>(exchange_.pieces));
      --arrived_;
      ++shares_done_;
    }
  }

  plait::net::SimNetwork& network_;
  const Exchange& exchange_;
  std::unique_ptr<plait::net::Driver> driver_;
  plait::trace::Recorder recorder_;
  plait::comm::Endpoint endpoint_;
  std::uint32_t self_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  std::vector<plait::Request> receives_;
  std::vector<plait::Request> sends_;
  nanoseconds busy_until_{};
  nanoseconds next_poll_{};
  std::size_t own_ready_ = 0;    ///< Shares of the rank's own block that are not done.
  std::size_t arrived_ = 0;      ///< Pieces that have come and are not worked on.
  std::size_t shares_done_ = 0;  ///< Of all blocks, in pieces of messages.
  bool is_done_ = false;
};

/// Until the slowest rank has all its data and has done all its work.
nanoseconds time_of(const Exchange& exchange) {
  plait::net::SimNetwork network{exchange.ranks, {.cost = gigabit}};
  std::deque<ModelRank> ranks;
  for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank) {
    ranks.emplace_back(network, plait::Rank{rank}, exchange);
  }
  const nanoseconds start = network.clock().now();
  for (ModelRank& rank : ranks) {
    rank.start();
  }
  while (true) {
    for (ModelRank& rank : ranks) {
      rank.act();
    }
    if (std::ranges::all_of(ranks, &ModelRank::is_done)) {
      break;
    }
    network.advance_to(network.clock().now() + step);
  }
  for (const ModelRank& rank : ranks) {
    rank.check();
  }
  return network.clock().now() - start;
}

}  // namespace

SizeMeasured measure_model(const Options& options, std::uint32_t ranks, std::size_t block_bytes) {
  SizeMeasured result{.block_bytes = block_bytes};
  Exchange exchange{.ranks = ranks, .block_bytes = block_bytes};
  const nanoseconds communication = time_of(exchange);
  exchange.work = std::chrono::duration_cast<nanoseconds>(communication * options.work_fraction);
  const auto add = [&](const std::string& name, Order order, std::size_t pieces) {
    exchange.order = order;
    exchange.pieces = pieces;
    Measured measured{.name = name, .twin = order == Order::after ? "" : "PLB", .iterations = 1, .label = "model"};
    measured.turns[0] = {{seconds_of(time_of(exchange)), seconds_of(exchange.work)}};
    measured.best[0] = measured.turns[0].front();
    result.variants.push_back(measured);
  };
  add("PLB", Order::after, 1);
  add("DIN", Order::unobserved, 1);
  add("PLN", Order::before, 1);
  add("PLT", Order::as_it_comes, piece_count(options.settings, block_bytes));
  return result;
}

}  // namespace alltoall
