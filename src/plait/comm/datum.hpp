// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/promise.hpp"

namespace plait::comm {

/// Data that is being made, and that several ranks want: the sends that are asked for before it is ready leave as one
/// multicast.
///
///     Datum tile{endpoint, bytes, tag};
///     tile.send(Rank{3}); tile.send(Rank{5}, 1); ...   // by whoever learns of a reader
///     ... compute the bytes ...
///     tile.ready();                                    // they leave; later sends leave at once
///
/// Threads: any. Ends after its requests are complete. Each rank once: a rank that is named again before the data is
/// ready gets one message, and both requests are complete when that has left.
class Datum {
 public:
  /// Borrows `endpoint` and `data`, which must stay until all requests are complete.
  Datum(Endpoint& endpoint, std::span<const std::byte> data, Tag tag, CommId comm = world)
      : endpoint_{endpoint}, data_{data}, tag_{tag}, comm_{comm} {}

  /// Sends the data to `to` when it is ready. Throws: as `Endpoint::send`, when it is ready already.
  Request send(Rank to, std::int16_t priority = 0);

  /// Lets what was asked for leave. Throws: as `Endpoint::send`.
  void ready();

 private:
  Endpoint& endpoint_;
  std::span<const std::byte> data_;
  Tag tag_;
  CommId comm_;
  SpinLock mutex_;
  bool is_ready_ = false;
  std::vector<Destination> to_;
  std::vector<Promise> promises_;
};

}  // namespace plait::comm
