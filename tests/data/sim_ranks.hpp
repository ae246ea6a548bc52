// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"
#include "plait/net/sim/sim.hpp"
#include "plait/task/scheduler.hpp"

#include "task/flow/flow_ranks.hpp"

namespace plait::data::test {

/// A simulated network that threads may share. Its clock goes on whenever somebody looks and finds nothing.
class SharedSim {
 public:
  SharedSim(std::uint32_t rank_count, const net::SimOptions& options) : network_{rank_count, options} {}

  /// A driver of it. Must end before this.
  [[nodiscard]] std::unique_ptr<net::Driver> driver(Rank rank) {
    return std::make_unique<Driver>(*this, network_.driver(rank));
  }

 private:
  class Driver final : public net::Driver {
   public:
    Driver(SharedSim& sim, std::unique_ptr<net::Driver> inner) : sim_{sim}, inner_{std::move(inner)} {}

    [[nodiscard]] const char* name() const noexcept override { return inner_->name(); }
    [[nodiscard]] Rank self() const noexcept override { return inner_->self(); }
    [[nodiscard]] std::uint32_t rank_count() const noexcept override { return inner_->rank_count(); }
    [[nodiscard]] const Clock& clock() const noexcept override { return sim_.clock_; }
    [[nodiscard]] std::size_t packet_bytes_max() const noexcept override { return inner_->packet_bytes_max(); }
    [[nodiscard]] std::uint32_t packets_in_flight_max() const noexcept override {
      return inner_->packets_in_flight_max();
    }
    [[nodiscard]] std::uint32_t bulk_slot_count() const noexcept override { return inner_->bulk_slot_count(); }
    [[nodiscard]] net::Packet acquire() override {
      const std::lock_guard lock{sim_.mutex_};
      return inner_->acquire();
    }
    void recycle(net::Packet&& packet) noexcept override {
      const std::lock_guard lock{sim_.mutex_};
      inner_->recycle(std::move(packet));
    }
    [[nodiscard]] net::Post send(Rank to, net::Packet&& packet) override {
      const std::lock_guard lock{sim_.mutex_};
      return inner_->send(to, std::move(packet));
    }
    [[nodiscard]] net::Post send_bulk(const net::BulkSend& bulk) override {
      const std::lock_guard lock{sim_.mutex_};
      return inner_->send_bulk(bulk);
    }
    [[nodiscard]] net::Post receive_bulk(const net::BulkReceive& bulk) override {
      const std::lock_guard lock{sim_.mutex_};
      return inner_->receive_bulk(bulk);
    }
    [[nodiscard]] net::Polled poll(std::span<net::Arrival> arrivals, std::span<net::BulkDone> bulk) override {
      const std::lock_guard lock{sim_.mutex_};
      const net::Polled polled = inner_->poll(arrivals, bulk);
      if (polled.arrivals + polled.bulk == 0) {
        sim_.network_.advance();
      }
      return polled;
    }
    [[nodiscard]] bool is_idle() const noexcept override {
      const std::lock_guard lock{sim_.mutex_};
      return inner_->is_idle();
    }
    [[nodiscard]] bool is_busy(Rank to) const noexcept override {
      const std::lock_guard lock{sim_.mutex_};
      return inner_->is_busy(to);
    }

   private:
    SharedSim& sim_;
    std::unique_ptr<net::Driver> inner_;
  };

  std::mutex mutex_;
  SteadyClock clock_;
  net::SimNetwork network_;
};

using SimRank = task::test::FlowRank;

struct SimLayout {
  std::uint32_t ranks;
  std::uint32_t workers;
};

/// Runs `body` as every rank, a thread each; what each rank threw, or nothing.
inline std::vector<std::string> errors_of_simulated(const SimLayout& layout,
                                                    const net::SimOptions& options,
                                                    const std::function<void(SimRank&)>& body) {
  SharedSim sim{layout.ranks, options};
  std::vector<std::string> errors(layout.ranks);
  std::vector<std::unique_ptr<SimRank>> ranks;  // all stay until the last has ended
  for (std::uint32_t rank = 0; rank < layout.ranks; ++rank) {
    ranks.push_back(
        std::make_unique<SimRank>(sim.driver(Rank{rank}), task::SchedulerOptions{.worker_count = layout.workers}));
  }
  std::atomic<std::uint32_t> ended = 0;
  std::vector<std::jthread> threads;
  for (std::uint32_t rank = 0; rank < layout.ranks; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(*ranks[rank]);
        ranks[rank]->messages().drain();
      } catch (const std::exception& error) {
        errors[rank] = error.what();
      }
      ++ended;
      while (ended < layout.ranks) {
        (void)ranks[rank]->messages().progress();
        std::this_thread::yield();
      }
    });
  }
  threads.clear();
  return errors;
}

/// As above. Throws what the first rank that threw has thrown.
inline void run_simulated(const SimLayout& layout,
                          const net::SimOptions& options,
                          const std::function<void(SimRank&)>& body) {
  for (const std::string& error : errors_of_simulated(layout, options, body)) {
    if (!error.empty()) {
      throw Error{ErrorCode::user_task, error};
    }
  }
}

}  // namespace plait::data::test
