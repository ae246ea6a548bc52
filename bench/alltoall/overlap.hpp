// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace alltoall {

/// One variant's time on the slowest rank, in seconds: the median of the iterations of one turn.
struct Turn {
  double total = 0;
  double work = 0;
};

/// Seconds of communication and of work, of a variant that does its work after the communication.
struct Parts {
  double communication = 0;
  double work = 0;
};

/// The medians of the turns.
[[nodiscard]] Parts parts_of(const std::vector<Turn>& after);

/// The overlap of each pair of turns: (T_B - T_N) / min(communication, work), where B does the work after the
/// communication and N during it. 1: all that could be hidden was hidden. Below 0: N was slower. Both lists have the
/// order in which the variants alternated; a turn without its partner is ignored.
[[nodiscard]] std::vector<double> overlaps(const std::vector<Turn>& after, const std::vector<Turn>& during);

/// The overlap of the best times of either, which estimates that of an undisturbed machine. 0 when there was nothing to
/// hide.
[[nodiscard]] double best_overlap(const Turn& after, const Turn& during);

}  // namespace alltoall
