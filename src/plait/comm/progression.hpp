// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "plait/base/clock.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

/// Which threads poll the network while the program computes. docs/explanation/progression.md describes which to choose
/// and the cost of each.
enum class ProgressionMode : std::uint8_t {
  none,        ///< None: messages move when the program calls. Any thread may call.
  timer,       ///< One thread, periodically, while something is in flight and no other thread has polled recently.
  idle_cores,  ///< A thread on each core that runs only when the core has nothing else to do.
  dedicated,   ///< One thread with a core for itself polls all the time while something is in flight.
};

/// "none", "timer", "idle", "dedicated".
[[nodiscard]] const char* to_string(ProgressionMode mode) noexcept;
/// The mode of that name; nothing for any other text.
[[nodiscard]] std::optional<ProgressionMode> progression_mode(std::string_view name) noexcept;

struct ProgressionOptions {
  ProgressionMode mode = ProgressionMode::timer;
  /// The timer's pauses: the shorter after a poll that moved data, the longer after many that did not.
  nanoseconds period_min = std::chrono::microseconds{500};
  nanoseconds period_max = std::chrono::microseconds{1000};
  /// A poll that moved data is followed by the next at once, up to this long: then others get the core.
  nanoseconds burst_max = std::chrono::microseconds{500};
  /// Threads poll this long after something was last in flight, then sleep until something is again.
  nanoseconds linger = std::chrono::milliseconds{20};
  /// Pause between polls for active messages, which may arrive at any time once handlers are set; 0: only the program
  /// polls for them.
  nanoseconds listen_period = std::chrono::milliseconds{5};
  /// The dedicated thread's core, as the system numbers them; -1 = the last one that this process may use.
  int core = -1;
};

/// Threads that make progress for an endpoint in the background.
///
/// When nothing is in flight they sleep in the kernel, without a time limit (unless handlers are set, see
/// `listen_period`), and cost nothing; starting something then wakes one, which costs the sender a system call of about
/// 2 us, once after each `linger`. Callbacks then run on these threads, too. Threads: made and ended by one.
class Progression final : private Doorbell {
 public:
  Progression(Endpoint& endpoint, const ProgressionOptions& options);
  Progression(const Progression&) = delete;
  Progression& operator=(const Progression&) = delete;
  /// Waits until the threads have ended; at most a poll's length.
  ~Progression() override;

 private:
  class Need;

  void ring() noexcept override;
  void run_timer();
  [[nodiscard]] bool poll_until_still();
  void run_idle_core(int core);
  void run_dedicated();
  /// Sleeps until something is in flight. False when it is time to end.
  bool sleep_until_needed();
  [[nodiscard]] bool is_ending() const noexcept { return is_ending_.load(std::memory_order_acquire); }

  Endpoint& endpoint_;
  const ProgressionOptions options_;
  std::atomic<bool> is_ending_ = false;
  std::atomic<std::uint32_t> rings_ = 0;  ///< Changes when something comes into flight, and at the end.
  std::vector<std::jthread> threads_;     // last: ended before what they use
};

}  // namespace plait::comm
