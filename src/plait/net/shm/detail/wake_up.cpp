// SPDX-License-Identifier: Apache-2.0
// std::atomic's wait has no time limit, and works within a process only.
#include "plait/net/shm/detail/wake_up.hpp"

#include <chrono>
#include <ctime>
#include <limits>
#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace plait::net::detail::shm {

void wait_for_change(std::uint32_t& word, std::uint32_t expected, nanoseconds longest) noexcept {
  prctl(PR_SET_TIMERSLACK, 1UL);  // Linux else adds 50 us to each sleep of this thread
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(longest);
  const std::timespec time{static_cast<std::time_t>(whole.count()), static_cast<long>((longest - whole).count())};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, &time, nullptr, 0);
}

void notify_change(std::uint32_t& word) noexcept {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, std::numeric_limits<int>::max(), nullptr, nullptr, 0);
}

}  // namespace plait::net::detail::shm
