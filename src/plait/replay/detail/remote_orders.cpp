// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/remote_orders.hpp"

#include <algorithm>
#include <map>

namespace plait::replay::detail {
namespace {

/// Of a message whose record is missing: its head.
constexpr std::uint64_t bytes_min = 64;

struct Posted {
  nanoseconds at{};
  std::uint64_t bytes = bytes_min;
};

/// The active messages that one rank has posted, by destination, in the order of time.
class ActiveMessages {
 public:
  explicit ActiveMessages(const RankTasks& tasks) {
    for (const auto& [thread, event] : tasks.trace().messages) {
      if (event.protocol == trace::Protocol::active_message && event.direction == trace::MessageDirection::sent) {
        to_[event.peer.value()].push_back({tasks.since_origin(event.posted), std::max(bytes_min, event.bytes)});
      }
    }
    for (auto& [rank, messages] : to_) {
      std::ranges::sort(messages, {}, &Posted::at);
    }
  }

  /// The last one to a rank that `sender` has posted before `until`; at its end, or at `until`, if there is none.
  [[nodiscard]] Posted last(std::uint32_t to, const Execution& sender, nanoseconds until) const {
    const nanoseconds latest = std::min(until, sender.end);
    if (const auto messages = to_.find(to); messages != to_.end()) {
      const auto after = std::ranges::upper_bound(messages->second, latest, {}, &Posted::at);
      if (after != messages->second.begin() && (after - 1)->at >= sender.start) {
        return *(after - 1);
      }
    }
    return {.at = latest};
  }

 private:
  std::map<std::uint32_t, std::vector<Posted>> to_;
};

}  // namespace

void order_remote(RunBuilder& builder, const std::vector<RankTasks>& ranks) {
  std::map<std::uint32_t, const RankTasks*> of_rank;
  std::map<std::uint32_t, ActiveMessages> posted;
  for (const RankTasks& tasks : ranks) {
    of_rank[tasks.trace().rank.value()] = &tasks;
  }
  for (const RankTasks& tasks : ranks) {
    const std::uint32_t to = tasks.trace().rank.value();
    for (const RemoteOrder& order : tasks.remote_orders()) {
      const auto from = of_rank.find(order.rank);
      const RunNode later = builder[order.node];
      const Execution* const sender =
          from == of_rank.end() ? nullptr : from->second->last_begun_before(order.id, later.start);
      if (sender == nullptr) {
        continue;  // of another step, or of a rank whose file is missing
      }
      const ActiveMessages& messages = posted.try_emplace(order.rank, *from->second).first->second;
      const Posted message = messages.last(to, *sender, later.start);
      const std::uint32_t send = builder.add({.role = NodeRole::send,
                                              .rank = order.rank,
                                              .step = sender->event->step,
                                              .start = message.at,
                                              .end = message.at});
      const std::uint32_t receive = builder.add(
          {.role = NodeRole::receive, .rank = to, .step = later.step, .start = message.at, .end = later.start});
      builder.spawn(sender->node, {send, message.at - sender->start});
      builder.message(
          {.send = send, .receive = receive, .bytes = message.bytes, .posted = message.at, .left = message.at});
      builder.order(receive, order.node);
    }
  }
}

}  // namespace plait::replay::detail
