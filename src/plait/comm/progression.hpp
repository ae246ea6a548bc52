// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

/// Which threads poll the network while the program computes; docs/explanation/progression.md compares them.
enum class ProgressionMode : std::uint8_t {
  none,        ///< None: messages move only while the program calls the endpoint.
  timer,       ///< One thread, periodically, while anything is in flight and no other thread has polled recently.
  idle_cores,  ///< A thread on each core that runs only when the core has nothing else to do.
  dedicated,   ///< One thread with its own core polls continuously while anything is in flight; without one, `timer`.
  automatic,   ///< What a runtime has measured to be better on this machine; else as `timer`.
};

/// "none", "timer", "idle", "dedicated", "automatic".
[[nodiscard]] const char* to_string(ProgressionMode mode) noexcept;
/// The mode of that name; nothing for any other text.
[[nodiscard]] std::optional<ProgressionMode> progression_mode(std::string_view name) noexcept;

/// What threads of a `Progression` poll beside its endpoint. Threads: any.
class PolledBeside {
 public:
  virtual ~PolledBeside() = default;
  /// Whether anything is in flight. A hint without memory ordering.
  [[nodiscard]] virtual bool needs_polls() const noexcept = 0;
  virtual void poll() noexcept = 0;
  /// As `Endpoint::arm`.
  [[nodiscard]] virtual bool arm(const std::function<void()>* doorbell) = 0;
};

struct ProgressionOptions {
  ProgressionMode mode = ProgressionMode::automatic;
  /// Pauses of the timer: `period_min` after a poll with which a packet came or bulk data ended, then twice as long
  /// each time, up to `period_bulk` while bulk data moves, else to `period_max`.
  nanoseconds period_min = std::chrono::microseconds{100};
  nanoseconds period_max = std::chrono::microseconds{1000};
  nanoseconds period_bulk = std::chrono::microseconds{2000};
  /// The timer polls without pauses while data moves, at most for this time.
  nanoseconds burst_max = std::chrono::microseconds{500};
  /// Threads poll for this time after anything was last in flight, then sleep until anything is again.
  nanoseconds linger = std::chrono::milliseconds{2};
  /// Pause between polls for active messages, puts and gets, which may arrive at any time; 0: only the program polls.
  nanoseconds listen_period = std::chrono::milliseconds{5};
  /// Core of the dedicated thread, in the system's numbering; -1: the last one that this process may use. When others
  /// use a quarter of it, or it is the only one, the thread becomes the timer.
  int core = -1;
  /// Called first by each thread; may be empty.
  std::function<void()> thread_start;
  /// Polled by the same threads, if there is any; must outlive them.
  PolledBeside* beside = nullptr;
  /// Records what the timer takes of the processor, if there is one and it is on; must outlive the threads.
  trace::Recorder* recorder = nullptr;
};

/// Threads that make progress for an endpoint in the background.
///
/// When nothing is in flight they sleep without a timeout (with handlers or exposed memory: `listen_period`). The next
/// operation wakes one, which costs a system call of about 2 us. Callbacks may run on these threads. Threads:
/// constructed and destroyed by one.
class Progression {
 public:
  Progression(Endpoint& endpoint, const ProgressionOptions& options);
  Progression(const Progression&) = delete;
  Progression& operator=(const Progression&) = delete;
  /// Waits for the threads to end, at most for the length of a poll.
  ~Progression();

  /// A long transfer has begun: the timer polls soon, also if it rests as other threads polled. Threads: any. Cost: a
  /// load, or a system call once in a rest.
  void hurry() noexcept;

 private:
  class Need;

  void ring() noexcept;
  [[nodiscard]] bool needs_polls() const noexcept;
  /// Whether polls in the background move what takes long.
  [[nodiscard]] bool has_much_under_way() const noexcept;
  /// What a poll moved, from the least to the most.
  enum class Moved : std::uint8_t { nothing, perhaps, more, messages };
  Moved poll();
  /// False when something is in flight already.
  [[nodiscard]] bool arm(const std::function<void()>* doorbell);
  void run_timer();
  /// The timer of a rank whose threads an executor carries.
  void run_carried(Executor& executor);
  [[nodiscard]] bool do_others_poll(std::uint64_t seen) const;
  Moved poll_until_still();
  /// Sleeps for `period` or, while polls are of use, until `hurry`; for longer when they are not.
  void rest(const Need& need, nanoseconds period);
  /// Ends a rest.
  void wake() noexcept;
  void run_idle_core(int core);
  void run_dedicated();
  /// Sleeps until something is in flight. False when it is time to end.
  bool sleep_until_needed();
  [[nodiscard]] bool is_ending() const noexcept { return is_ending_.load(std::memory_order_acquire); }

  Endpoint& endpoint_;
  const ProgressionOptions options_;
  const std::function<void()> doorbell_ = [this] { ring(); };
  const std::function<void()> helper_ = [this] { wake(); };
  std::atomic<bool> is_ending_ = false;
  std::atomic<std::uint32_t> rings_ = 0;  ///< Changes when something comes into flight, and at the end.
  std::mutex rest_mutex_;
  std::condition_variable rest_over_;
  bool is_hurried_ = false;
  std::atomic<bool> is_resting_ = false;
  bool is_carried_ = false;            ///< `run_carried` has not returned.
  std::vector<std::jthread> threads_;  // last: ended before what they use
};

}  // namespace plait::comm
