// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/unmeasured.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "plait/replay/detail/places.hpp"

namespace plait::replay {
namespace {

/// The longest message of the curves of a link; 0: it has none, so that its line is for all sizes.
std::uint64_t longest_measured(const LinkCosts& costs) {
  std::uint64_t longest = 0;
  for (const std::vector<ByteTime>* const curve :
       {&costs.moving, &costs.processor.sending, &costs.processor.receiving}) {
    longest = curve->empty() ? longest : std::max(longest, curve->back().bytes);
  }
  return longest;
}

struct Beyond {
  std::uint64_t messages = 0;
  std::uint64_t longest = 0;
};

void report(const char* where, const Beyond& beyond, std::uint64_t measured, std::vector<std::string>& sentences) {
  if (beyond.messages > 0) {
    sentences.push_back(
        fmt::format("{} messages {} have up to {} bytes, and the platform's measurements end at {}: their times "
                    "continue the last line; calibrate with longer messages",
                    beyond.messages,
                    where,
                    beyond.longest,
                    measured));
  }
}

}  // namespace

std::vector<std::string> unmeasured(const Schedule& schedule, const Platform& platform) {
  const std::uint64_t measured_between = longest_measured(platform.between_hosts);
  const std::uint64_t measured_within = longest_measured(platform.within_host);
  Beyond between;
  Beyond within;
  std::uint64_t of_one_host = 0;
  detail::for_each_operation(schedule, [&](const detail::Place& place, const Operation& operation) {
    if (operation.action != Action::send) {
      return;
    }
    const bool is_within = place.rank / platform.ranks_per_host == operation.peer / platform.ranks_per_host;
    of_one_host += is_within ? 1 : 0;
    const std::uint64_t measured = is_within ? measured_within : measured_between;
    if (measured > 0 && operation.bytes > measured) {
      Beyond& beyond = is_within ? within : between;
      ++beyond.messages;
      beyond.longest = std::max(beyond.longest, operation.bytes);
    }
  });
  std::vector<std::string> sentences;
  if (of_one_host > 0 && !platform.has_within_host) {
    sentences.push_back(
        fmt::format("the platform has no \"within_host\": {} messages between ranks of one host take as long as those "
                    "between hosts; plait fit --within measures it",
                    of_one_host));
  }
  report("between hosts", between, measured_between, sentences);
  report("within a host", within, measured_within, sentences);
  if (platform.slowdown_at_once > 1 && platform.ranks_per_host > 1 && !platform.shares_cores()) {
    sentences.push_back(fmt::format(
        "ranks of a host compute {:.2f} times as long when all do at once: they share the threads of cores, "
        "or memory; computing times are those of the recording, which contain it only on as many ranks",
        platform.slowdown_at_once));
  }
  return sentences;
}

}  // namespace plait::replay
