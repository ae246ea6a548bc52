// SPDX-License-Identifier: Apache-2.0
#include "plait/testing/world.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/clock.hpp"
#include "plait/base/error.hpp"

namespace plait::test {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds quiet_max{5};  ///< After a rank has failed.
constexpr std::chrono::seconds grace{10};     ///< Between stopping the ranks and ending the process.
constexpr std::chrono::milliseconds watch_interval{50};

/// Begins the error of every wait in a stopped test; endpoint and runtime pass on its text.
constexpr const char* stop_text = "the test was stopped";

/// Unwinds a rank that succeeded, where another has failed.
struct Abandoned {};

/// The ranks' threads and their common network.
class Crew {
 public:
  explicit Crew(const World& world) : world_{world}, errors_(world.ranks), is_running_(world.ranks, true) {
    if (const auto* simulated = std::get_if<net::SimOptions>(&world.network)) {
      sim_.emplace(world.ranks, *simulated);
    } else {
      loopback_.emplace(world.ranks, std::get<net::LoopbackOptions>(world.network));
    }
  }

  std::vector<std::exception_ptr> run(const RankFunction& rank) {
    std::vector<std::jthread> threads;
    for (std::uint32_t self = 0; self < world_.ranks; ++self) {
      threads.emplace_back([&, self] { run_rank(self, rank); });
    }
    watch();
    threads.clear();
    return std::move(errors_);
  }

 private:
  class WatchedDriver;

  void run_rank(std::uint32_t self, const RankFunction& rank) {
    bool has_performed = false;
    try {
      rank(driver(Rank{self}), [&](comm::Endpoint& messages, const std::function<void()>& body) {
        has_performed = true;
        perform(self, messages, body);
      });
    } catch (const Abandoned&) {  // another rank's error
    } catch (...) {
      note(self);
    }
    if (!has_performed) {
      ++begun_;
      end(self);
    }
    const std::lock_guard lock{mutex_};
    ++threads_ended_;
    changed_.notify_one();
  }

  /// Notes that the body of a rank has returned.
  void end(std::uint32_t self) {
    const std::lock_guard lock{mutex_};
    is_running_[self] = false;
    ++ended_;
  }

  void perform(std::uint32_t self, comm::Endpoint& messages, const std::function<void()>& body) {
    ++begun_;
    try {
      while (begun_.load() < world_.ranks && !has_failed_.load()) {
        (void)messages.progress();
        std::this_thread::yield();
      }
      body();
      messages.drain();
    } catch (...) {
      note(self);
    }
    end(self);
    while (ended_.load() < world_.ranks) {
      (void)messages.progress();
      std::this_thread::yield();
    }
    if (has_failed_.load()) {
      throw Abandoned{};
    }
  }

  /// Keeps the exception that is being handled.
  void note(std::uint32_t self) {
    const std::lock_guard lock{mutex_};
    if (errors_[self] == nullptr) {
      errors_[self] = std::current_exception();
    }
    last_moved_.store(steady_clock::now());
    has_failed_.store(true);
  }

  /// Ranks whose bodies have not returned.
  [[nodiscard]] std::vector<std::uint32_t> running() const {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < world_.ranks; ++rank) {
      if (is_running_[rank]) {
        ranks.push_back(rank);
      }
    }
    return ranks;
  }

  /// Returns when all ranks have ended.
  void watch() {
    const steady_clock::time_point limit = steady_clock::now() + world_.time_max;
    steady_clock::time_point stopped_at{};
    std::unique_lock lock{mutex_};
    while (threads_ended_ < world_.ranks) {
      changed_.wait_for(lock, watch_interval);
      const steady_clock::time_point now = steady_clock::now();
      const bool is_quiet = has_failed_.load() && now - last_moved_.load() > quiet_max;
      if (is_stopped_.load()) {
        if (now - stopped_at > grace) {
          std::fputs(
              fmt::format("plait::testing: ranks {} neither return nor poll the network: the process ends here\n",
                          fmt::join(running(), ", "))
                  .c_str(),
              stderr);
          std::_Exit(EXIT_FAILURE);  // no destructor could wait for those ranks
        }
      } else if (now > limit || is_quiet) {
        stopped_at = now;
        reason_ = is_quiet ? fmt::format(
                                 "{}: a rank has failed, and no data has moved for {} s", stop_text, quiet_max.count())
                           : fmt::format("{} after {} ms: ranks {} had not returned",
                                         stop_text,
                                         world_.time_max.count(),
                                         fmt::join(running(), ", "));
        is_stopped_.store(true, std::memory_order_release);  // with acquire in throw_if_stopped()
      }
    }
  }

  void throw_if_stopped() const {
    if (is_stopped_.load(std::memory_order_acquire)) {  // with release in watch()
      throw Error{ErrorCode::timeout, reason_};
    }
  }

  [[nodiscard]] std::unique_ptr<net::Driver> driver(Rank rank);
  /// A simulated network is one thread's at a time.
  [[nodiscard]] std::unique_lock<std::mutex> lock_network() {
    return sim_ ? std::unique_lock{network_mutex_} : std::unique_lock<std::mutex>{};
  }

  const World& world_;
  std::optional<net::LoopbackNetwork> loopback_;
  std::optional<net::SimNetwork> sim_;
  SteadyClock clock_;
  std::mutex network_mutex_;

  std::mutex mutex_;  ///< Of what follows, but for atomics.
  std::condition_variable changed_;
  std::vector<std::exception_ptr> errors_;
  std::vector<bool> is_running_;  ///< Of each rank's body.
  std::uint32_t threads_ended_ = 0;
  std::string reason_;                    ///< Constant once `is_stopped_`.
  std::atomic<std::uint32_t> begun_ = 0;  ///< Ranks that have come to their body.
  std::atomic<std::uint32_t> ended_ = 0;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::atomic<steady_clock::time_point> last_moved_{};
};

/// A driver that a test can stop, and that several threads' ranks can use on one simulated network, whose clock
/// advances whenever a rank polls and finds nothing.
class Crew::WatchedDriver final : public net::Driver {
 public:
  WatchedDriver(Crew& crew, std::unique_ptr<net::Driver> inner)
      : Driver{traits_of(crew, *inner)}, crew_{crew}, inner_{std::move(inner)} {}
  WatchedDriver(const WatchedDriver&) = delete;
  WatchedDriver& operator=(const WatchedDriver&) = delete;
  ~WatchedDriver() override {
    const auto lock = crew_.lock_network();
    inner_.reset();
  }

  [[nodiscard]] net::Packet acquire() override {
    const auto lock = crew_.lock_network();
    return inner_->acquire();
  }
  void recycle(net::Packet&& packet) noexcept override {
    const auto lock = crew_.lock_network();
    inner_->recycle(std::move(packet));
  }
  [[nodiscard]] net::Post send(Rank to, net::Packet&& packet) override {
    const auto lock = crew_.lock_network();
    return inner_->send(to, std::move(packet));
  }
  [[nodiscard]] net::Post send_bulk(const net::BulkSend& bulk) override {
    const auto lock = crew_.lock_network();
    return inner_->send_bulk(bulk);
  }
  [[nodiscard]] net::Post receive_bulk(const net::BulkReceive& bulk) override {
    const auto lock = crew_.lock_network();
    return inner_->receive_bulk(bulk);
  }
  [[nodiscard]] net::Polled poll(std::span<net::Arrival> arrivals, std::span<net::BulkDone> bulk) override {
    crew_.throw_if_stopped();
    const auto lock = crew_.lock_network();
    const net::Polled polled = inner_->poll(arrivals, bulk);
    if (polled.arrivals + polled.bulk > 0) {
      crew_.last_moved_.store(steady_clock::now(), std::memory_order_relaxed);
    } else if (crew_.sim_) {
      crew_.sim_->advance();
    }
    return polled;
  }
  [[nodiscard]] bool is_full() const noexcept override {
    const auto lock = crew_.lock_network();
    return inner_->is_full();
  }
  [[nodiscard]] bool is_idle() const noexcept override {
    const auto lock = crew_.lock_network();
    return inner_->is_idle();
  }
  [[nodiscard]] bool is_busy(Rank to) const noexcept override {
    const auto lock = crew_.lock_network();
    return inner_->is_busy(to);
  }

 private:
  static net::DriverTraits traits_of(const Crew& crew, const net::Driver& inner) {
    net::DriverTraits traits = inner.traits();
    traits.clock = crew.sim_ ? &crew.clock_ : &inner.clock();
    return traits;
  }

  Crew& crew_;
  std::unique_ptr<net::Driver> inner_;
};

std::unique_ptr<net::Driver> Crew::driver(Rank rank) {
  const auto lock = lock_network();
  return std::make_unique<WatchedDriver>(*this, sim_ ? sim_->driver(rank) : loopback_->driver(rank));
}

std::string text_of(const std::exception_ptr& error) {
  if (error == nullptr) {
    return {};
  }
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& one) {
    return one.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

bool is_stop(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& one) {
    return one.code() == ErrorCode::timeout && std::string{one.what()}.find(stop_text) != std::string::npos;
  } catch (...) {
    return false;
  }
}

}  // namespace

std::vector<std::exception_ptr> run_threads(const World& world, const RankFunction& rank) {
  return Crew{world}.run(rank);
}

std::vector<std::string> texts_of(const std::vector<std::exception_ptr>& errors) {
  std::vector<std::string> texts;
  for (const std::exception_ptr& error : errors) {
    texts.push_back(text_of(error));
  }
  return texts;
}

void throw_first(const std::vector<std::exception_ptr>& errors) {
  std::exception_ptr first;
  for (const std::exception_ptr& error : errors) {
    if (error != nullptr && (first == nullptr || (is_stop(first) && !is_stop(error)))) {
      first = error;
    }
  }
  if (first != nullptr) {
    std::rethrow_exception(first);
  }
}

}  // namespace plait::test
