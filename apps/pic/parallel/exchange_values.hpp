// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "plait/plait.hpp"

#include "pic/ranks.hpp"

namespace pic {

/// Sends the values of `out[r]` to each rank r. Returns the values received, by sender. Collective.
template <class T>
[[nodiscard]] std::vector<T> exchange_values(Ranks& ranks, const std::vector<std::vector<T>>& out) {
  std::vector<plait::Bytes> sent(out.size());
  std::vector<plait::Bytes> received(out.size());
  for (std::size_t r = 0; r < out.size(); ++r) {
    sent[r] = out[r].empty() ? plait::Bytes{} : plait::data::pack(out[r]);
  }
  ranks.exchange_unknown(sent, received);
  std::vector<T> in;
  for (const plait::Bytes& bytes : received) {
    if (!bytes.empty()) {
      std::ranges::move(plait::data::unpack_as<std::vector<T>>(bytes), std::back_inserter(in));
    }
  }
  return in;
}

}  // namespace pic
