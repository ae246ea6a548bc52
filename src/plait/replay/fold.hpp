// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/error.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// Of an exchange that is made of copies: as many as a run can have.
inline constexpr std::uint64_t copied_ranks_max = 1U << 22U;

/// Returns the exchange on fewer ranks. Neighbouring ranks become one, which has the streams of all of them; messages
/// between them become messages of that rank to itself. Collectives become messages (`without_collectives`), as a rank
/// cannot enter one twice. Error: `bad_argument` if `ranks` is 0 or larger than the number of ranks.
[[nodiscard]] Result<Schedule> fold(const Schedule& schedule, std::uint32_t ranks);

/// Returns `times` copies of the exchange, side by side. Messages stay within their copy. Collectives of all ranks
/// whose data do not grow with the ranks (barrier, broadcast, reduce, all-reduce, scan) span all copies, with the root
/// in the first; the others stay within their copy. A notice reports this. Error: `bad_argument` if `times` is 0, or
/// for more than 2^22 ranks.
[[nodiscard]] Result<Schedule> tile(const Schedule& schedule, std::uint32_t times);

/// Returns the exchange on `ranks` ranks: folded, tiled, or tiled and then folded. Error: as `fold` and `tile`.
[[nodiscard]] Result<Schedule> onto_ranks(const Schedule& schedule, std::uint32_t ranks);

}  // namespace plait::replay
