// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/datum.hpp"

#include <memory>
#include <mutex>
#include <utility>

namespace plait::comm {

Request Datum::send(Rank to, std::int16_t priority) {
  {
    const std::lock_guard lock{mutex_};
    if (!is_ready_) {
      to_.push_back({.rank = to, .priority = priority});
      return promises_.emplace_back(endpoint_).request();
    }
  }
  return endpoint_.send({to, tag_, comm_}, data_, {.priority = priority});
}

void Datum::ready() {
  std::vector<Destination> to;
  auto promises = std::make_shared<std::vector<Promise>>();  // a callback is copied
  {
    const std::lock_guard lock{mutex_};
    is_ready_ = true;
    to = std::exchange(to_, {});
    promises->swap(promises_);
  }
  if (to.empty()) {
    return;
  }
  Request sent = to.size() == 1
                     ? endpoint_.send({to.front().rank, tag_, comm_}, data_, {.priority = to.front().priority})
                     : endpoint_.multicast(std::move(to), tag_, data_, {}, comm_);
  sent.then([promises](const Status& status) {
    for (Promise& promise : *promises) {
      promise.complete(status);
    }
  });
}

}  // namespace plait::comm
