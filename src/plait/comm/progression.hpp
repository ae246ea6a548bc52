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

/// Who looks at the network while the program computes. docs/progression.md says which to choose and what each costs.
enum class ProgressionMode : std::uint8_t {
  none,        ///< Nobody: messages move when the program calls. Any thread may call.
  timer,       ///< One thread, now and then, while something is in flight and nobody else has looked lately.
  idle_cores,  ///< A thread on each core that runs only when the core has nothing else to do.
  dedicated,   ///< One thread that has a core for itself, and looks all the time while something is in flight.
};

/// "none", "timer", "idle", "dedicated".
[[nodiscard]] const char* to_string(ProgressionMode mode) noexcept;
/// The mode of that name; nothing for any other text.
[[nodiscard]] std::optional<ProgressionMode> progression_mode(std::string_view name) noexcept;

struct ProgressionOptions {
  ProgressionMode mode = ProgressionMode::timer;
  /// The timer's pauses: the shorter after a look that moved something, the longer after many that did not.
  nanoseconds period_min = std::chrono::microseconds{500};
  nanoseconds period_max = std::chrono::microseconds{1000};
  /// A look that moved something is followed by the next at once, up to this long: then others get the core.
  nanoseconds burst_max = std::chrono::microseconds{500};
  /// Threads go on looking so long after the last thing was in flight, then sleep until there is something again.
  nanoseconds linger = std::chrono::milliseconds{20};
  /// Pause between looks for active messages, which come unasked, once handlers are set; 0 = such looks are left to the
  /// program.
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
  Progression(Progression&&) = delete;
  Progression& operator=(Progression&&) = delete;
  /// Waits until the threads have gone; at most a poll's length.
  ~Progression() override;

 private:
  class Need;

  void ring() noexcept override;
  void run_timer();
  [[nodiscard]] bool look_until_still();
  void run_idle_core(int core);
  void run_dedicated();
  /// Sleeps until something is in flight. False when it is time to end.
  bool sleep_until_needed();
  [[nodiscard]] bool is_ending() const noexcept { return is_ending_.load(std::memory_order_acquire); }

  Endpoint& endpoint_;
  const ProgressionOptions options_;
  std::atomic<bool> is_ending_ = false;
  std::atomic<std::uint32_t> rings_ = 0;  ///< Changes when something comes into flight, and at the end.
  std::vector<std::jthread> threads_;     // last: gone before what they use
};

}  // namespace plait::comm
