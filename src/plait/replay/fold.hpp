// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "plait/base/error.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay {

/// The exchange on fewer ranks: neighbouring ranks share one, each keeps its streams. Messages between ranks that share
/// one become messages of a rank to itself. Collectives become messages (`without_collectives`), as a rank cannot enter
/// one twice. Error: `bad_argument` when `ranks` is 0 or more than there are.
[[nodiscard]] Result<Schedule> fold(const Schedule& schedule, std::uint32_t ranks);

/// The exchange `times` times beside itself. Messages stay within each copy: a rank at the edge of a copy keeps its
/// neighbours there. Of collectives of all ranks those whose data does not grow with the ranks (barrier, broadcast,
/// reduce, all-reduce, scan) are entered by all copies together, roots are in the first copy; all others stay within
/// each copy. A notice reports it. Error: `bad_argument` when `times` is 0 or there would be more than 2^22 ranks.
[[nodiscard]] Result<Schedule> tile(const Schedule& schedule, std::uint32_t times);

/// Fewer ranks by `fold`; more by `tile`, folded where the number is no multiple. Error: as those.
[[nodiscard]] Result<Schedule> onto_ranks(const Schedule& schedule, std::uint32_t ranks);

}  // namespace plait::replay
