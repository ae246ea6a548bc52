// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"
#include "plait/comm/address.hpp"

namespace plait::comm::detail {

/// An active message that waits for its handler.
struct ArrivedActive {
  HandlerId handler;
  Rank source;
  Bytes payload;
};

/// The active messages that have arrived, oldest first.
using ArrivedActives = std::deque<ArrivedActive>;

/// The handlers of active messages by id, chosen by the program or claimed. A handler does not move until it is
/// removed. Threads: one at a time.
class Handlers {
 public:
  /// The program's own ids are below this.
  static constexpr HandlerId first_claimed{0x8000'0000U};

  /// An id that was never claimed before.
  [[nodiscard]] HandlerId claim() {
    claimed_.emplace_back();
    return HandlerId{static_cast<std::uint32_t>(first_claimed.value() + claimed_.size() - 1)};
  }
  /// Expects: `id` is the program's or claimed, and has no handler.
  void set(HandlerId id, Handler handler) {
    if (id < first_claimed && chosen_.size() <= id.value()) {
      chosen_.resize(id.value() + 1);
    }
    std::unique_ptr<Handler>* const entry = entry_of(id);
    expect(entry != nullptr, "an id that the program does not choose has been claimed");
    expect(*entry == nullptr, "an active message has one handler");
    *entry = std::make_unique<Handler>(std::move(handler));
  }
  void remove(HandlerId id) {
    if (std::unique_ptr<Handler>* const entry = entry_of(id)) {
      entry->reset();
    }
  }
  /// Null when there is none.
  [[nodiscard]] const Handler* find(HandlerId id) {
    const std::unique_ptr<Handler>* const entry = entry_of(id);
    return entry != nullptr ? entry->get() : nullptr;
  }

 private:
  [[nodiscard]] std::unique_ptr<Handler>* entry_of(HandlerId id) {
    const bool is_claimed = id >= first_claimed;
    auto& handlers = is_claimed ? claimed_ : chosen_;
    const std::uint32_t index = is_claimed ? id.value() - first_claimed.value() : id.value();
    return index < handlers.size() ? &handlers[index] : nullptr;
  }

  std::vector<std::unique_ptr<Handler>> chosen_;
  std::vector<std::unique_ptr<Handler>> claimed_;
};

}  // namespace plait::comm::detail
