// SPDX-License-Identifier: Apache-2.0
#include "alltoall/overlap.hpp"

#include <algorithm>
#include <utility>

#include "support/stopwatch.hpp"

namespace alltoall {

Parts parts_of(const std::vector<Turn>& after) {
  std::vector<double> communication;
  std::vector<double> work;
  for (const Turn& turn : after) {
    communication.push_back(turn.total - turn.work);
    work.push_back(turn.work);
  }
  return {bench::median(std::move(communication)), bench::median(std::move(work))};
}

double best_overlap(const Turn& after, const Turn& during) {
  const double hideable = std::min(after.total - after.work, after.work);
  return hideable > 0 ? (after.total - during.total) / hideable : 0;
}

std::vector<double> overlaps(const std::vector<Turn>& after, const std::vector<Turn>& during) {
  const Parts parts = parts_of(after);
  const double hideable = std::min(parts.communication, parts.work);
  std::vector<double> values;
  for (std::size_t turn = 0; turn < std::min(after.size(), during.size()); ++turn) {
    if (hideable > 0) {
      values.push_back((after[turn].total - during[turn].total) / hideable);
    }
  }
  return values;
}

}  // namespace alltoall
