// SPDX-License-Identifier: Apache-2.0
#include "fft_scale/column.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/trace/recorder.hpp"

#include "fft_scale/mirror.hpp"

namespace fft_scale {

namespace {

using plait::nanoseconds;

/// Counts what has completed.
class Counter final : public plait::comm::Completion {
 public:
  void completed(const plait::comm::Status& /*status*/) noexcept override { ++count_; }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  std::uint64_t count_ = 0;
};

/// Messages go to different ranks, so none could share a packet, and drivers of real networks, which count packets
/// under way to each rank, hold none back. The simulated one takes a rank's link for busy whoever is sent to, hence
/// "immediate".
class ColumnRank {
 public:
  ColumnRank(std::unique_ptr<plait::net::Driver> driver, const Exchange& exchange, const Machine& machine)
      : exchange_{exchange},
        machine_{machine},
        driver_{std::move(driver)},
        recorder_{driver_->clock()},
        endpoint_{*driver_, recorder_, {.packing = "immediate"}},
        block_to_send_(exchange.block_bytes),
        block_received_(exchange.block_bytes) {}

  void start() {
    const std::uint32_t self = driver_->self().value();
    for (std::uint32_t distance = 1; distance < exchange_.ranks; ++distance) {
      const plait::Rank source{(self + exchange_.ranks - distance) % exchange_.ranks};
      requests_.push_back(endpoint_.receive({source, plait::Tag{1}}, block_received_, &arrived_));
    }
    for (std::uint32_t distance = 1; distance < exchange_.ranks; ++distance) {
      const plait::Rank destination{(self + distance) % exchange_.ranks};
      requests_.push_back(endpoint_.send({destination, plait::Tag{1}}, block_to_send_, {.completion = &sent_}));
    }
    if (exchange_.order == Order::before || exchange_.order == Order::unobserved) {
      take_processor(exchange_.work);
      has_begun_work_ = true;
    }
  }

  /// What this rank does at the present time.
  void act() {
    const nanoseconds now = driver_->clock().now();
    const bool is_working = now < busy_until_;
    if (!is_working || (exchange_.order == Order::before && now >= next_look_)) {
      next_look_ = now + machine_.looks_every;
      look(is_working);
    }
    if (now < busy_until_ || is_done_) {
      return;
    }
    if (exchange_.order == Order::as_it_comes) {
      work_on_next_block();
    } else if (exchange_.order == Order::after && has_all() && !has_begun_work_) {
      take_processor(exchange_.work);
      has_begun_work_ = true;
    }
    is_done_ = now >= busy_until_ && has_all() && has_done_work();
  }

  [[nodiscard]] bool is_done() const noexcept { return is_done_; }
  /// When this rank acts next even if nothing happens in the network.
  [[nodiscard]] std::optional<nanoseconds> next_act() const {
    if (driver_->clock().now() >= busy_until_) {
      return std::nullopt;
    }
    return exchange_.order == Order::before ? std::min(busy_until_, next_look_) : busy_until_;
  }

 private:
  void take_processor(nanoseconds time) { busy_until_ = std::max(busy_until_, driver_->clock().now()) + time; }

  void look(bool is_working) {
    const std::uint64_t before = arrived_.count() + sent_.count();
    while (endpoint_.progress() > 0) {
    }
    const auto messages = static_cast<nanoseconds::rep>(arrived_.count() + sent_.count() - before);
    take_processor(messages * machine_.processor + (is_working ? machine_.look : nanoseconds{0}));
  }

  void work_on_next_block() {
    if (blocks_done_ <= arrived_.count() && blocks_done_ < exchange_.ranks) {  // its own one is there from the start
      take_processor(exchange_.work / exchange_.ranks);
      ++blocks_done_;
    }
  }

  [[nodiscard]] bool has_all() const { return arrived_.count() + sent_.count() == 2 * (exchange_.ranks - 1); }
  [[nodiscard]] bool has_done_work() const {
    switch (exchange_.order) {
      case Order::nothing:
        return true;
      case Order::as_it_comes:
        return blocks_done_ == exchange_.ranks;
      default:
        return has_begun_work_;
    }
  }

  const Exchange& exchange_;
  const Machine& machine_;
  std::unique_ptr<plait::net::Driver> driver_;
  plait::trace::Recorder recorder_;
  Counter arrived_;
  Counter sent_;
  plait::comm::Endpoint endpoint_;
  std::vector<std::byte> block_to_send_;
  std::vector<std::byte> block_received_;
  std::vector<plait::comm::Request> requests_;
  nanoseconds busy_until_{};
  nanoseconds next_look_{};
  std::uint64_t blocks_done_ = 0;
  bool has_begun_work_ = false;
  bool is_done_ = false;
};

/// The earlier of two times, of which either may not come.
std::optional<nanoseconds> earlier(std::optional<nanoseconds> one, std::optional<nanoseconds> other) {
  return one && other ? std::min(one, other) : std::max(one, other);  // nothing is less than anything
}

/// `next_event` and `advance_to` are the network's.
template <class NextEvent, class AdvanceTo>
nanoseconds run(std::deque<ColumnRank>& ranks, NextEvent next_event, AdvanceTo advance_to) {
  for (ColumnRank& rank : ranks) {
    rank.start();
  }
  nanoseconds now{0};
  while (true) {
    bool are_done = true;
    for (ColumnRank& rank : ranks) {
      rank.act();
      are_done = are_done && rank.is_done();
    }
    if (are_done) {
      return now;
    }
    std::optional<nanoseconds> next = next_event();
    for (const ColumnRank& rank : ranks) {
      next = earlier(next, rank.next_act());
    }
    plait::expect(next.has_value(), "something happens as long as a rank waits");
    now = *next;
    advance_to(now);
  }
}

}  // namespace

nanoseconds time_of(const Exchange& exchange, const Machine& machine, Method method) {
  const plait::net::SimOptions options{.cost = machine.cost};
  std::deque<ColumnRank> ranks;
  if (method == Method::symmetry) {
    plait::ManualClock clock;
    auto driver = std::make_unique<MirrorDriver>(clock, exchange.ranks, options);
    const MirrorDriver& mirror = *driver;
    ranks.emplace_back(std::move(driver), exchange, machine);
    const nanoseconds time =
        run(ranks, [&] { return mirror.next_event(); }, [&](nanoseconds at) { clock.advance_to(at); });
    ranks.clear();  // before its clock
    return time;
  }
  plait::net::SimNetwork network{exchange.ranks, options};
  for (std::uint32_t rank = 0; rank < exchange.ranks; ++rank) {
    ranks.emplace_back(network.driver(plait::Rank{rank}), exchange, machine);
  }
  return run(ranks, [&] { return network.next_event(); }, [&](nanoseconds at) { network.advance_to(at); });
}

}  // namespace fft_scale
