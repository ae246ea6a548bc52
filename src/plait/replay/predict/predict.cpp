// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/predict.hpp"

#include <algorithm>

#include "plait/replay/predict/detail/engine.hpp"

namespace plait::replay {

nanoseconds Prediction::communication() const {
  nanoseconds sum{};
  for (const RankTimes& rank : ranks) {
    sum += std::max(nanoseconds{0}, rank.end - rank.compute);
  }
  return ranks.empty() ? sum : sum / static_cast<std::int64_t>(ranks.size());
}

nanoseconds Prediction::wait() const {
  nanoseconds sum{};
  for (const RankTimes& rank : ranks) {
    sum += rank.wait;
  }
  return ranks.empty() ? sum : sum / static_cast<std::int64_t>(ranks.size());
}

Result<Prediction> predict(const Schedule& schedule, const Platform& platform, const PredictOptions& options) {
  Result<std::uint32_t> hosts = hosts_of(platform, static_cast<std::uint32_t>(schedule.ranks.size()));
  if (!hosts) {
    return hosts.error();
  }
  try {
    return predicting::Engine{schedule, platform, options, hosts.value()}.run();
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace plait::replay
