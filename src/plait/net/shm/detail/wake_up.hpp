// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/clock.hpp"

namespace plait::net::detail::shm {

/// Sleeps until `notify_change` is called in any process for this place in shared memory, or for `longest`, unless
/// `word` has another value than `expected` already. May also end for no reason.
void wait_for_change(std::uint32_t& word, std::uint32_t expected, nanoseconds longest) noexcept;

/// Ends `wait_for_change` in all threads that sleep. Cost: a system call of about 1 us, and what waking takes.
void notify_change(std::uint32_t& word) noexcept;

}  // namespace plait::net::detail::shm
