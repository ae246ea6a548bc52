// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/comm/options.hpp"
#include "plait/net/driver.hpp"

namespace plait::comm::detail {

/// Memory for packed segments of non-contiguous messages, bounded and reused.
///
/// Reuse matters: memory of this size that is freed goes back to the system, which has to clear its pages again.
/// Threads: one at a time. Cost: linear in the buffers kept, which are few.
class Staging {
 public:
  /// `bytes_max` bounds what is in use, `kept_bytes_max` what is kept for later. One buffer may exceed each.
  Staging(std::size_t bytes_max, std::size_t kept_bytes_max) : bytes_max_{bytes_max}, kept_bytes_max_{kept_bytes_max} {}

  /// Whether `bytes` more are within the bound, or nothing is in use.
  [[nodiscard]] bool has_room(std::size_t bytes) const noexcept {
    return in_use_bytes_ == 0 || in_use_bytes_ + bytes <= bytes_max_;
  }
  /// Returns a buffer of at least `bytes`, whose content is undefined.
  [[nodiscard]] Bytes take(std::size_t bytes) {
    const auto fits = std::ranges::find_if(kept_, [&](const Bytes& buffer) { return buffer.size() >= bytes; });
    Bytes buffer = fits != kept_.end() ? take_kept(fits) : Bytes(bytes);
    in_use_bytes_ += buffer.size();
    return buffer;
  }
  /// Returns a buffer from `take`. Buffers that were kept longest are freed for it.
  void put(Bytes&& buffer) {
    in_use_bytes_ -= buffer.size();
    kept_bytes_ += buffer.size();
    kept_.push_back(std::move(buffer));
    while (kept_bytes_ > kept_bytes_max_ && kept_.size() > 1) {
      (void)take_kept(kept_.begin());
    }
  }

  [[nodiscard]] std::size_t in_use_bytes() const noexcept { return in_use_bytes_; }
  [[nodiscard]] std::size_t kept_bytes() const noexcept { return kept_bytes_; }

 private:
  [[nodiscard]] Bytes take_kept(std::vector<Bytes>::iterator place) {
    Bytes buffer = std::move(*place);
    kept_.erase(place);
    kept_bytes_ -= buffer.size();
    return buffer;
  }

  std::size_t bytes_max_;
  std::size_t kept_bytes_max_;
  std::size_t in_use_bytes_ = 0;
  std::size_t kept_bytes_ = 0;
  std::vector<Bytes> kept_;  ///< Oldest first.
};

/// One for the segments of one direction: it keeps as much as two messages have in flight.
[[nodiscard]] inline Staging staging_of(const EndpointOptions& options) {
  const std::size_t kept = 2 * options.segments_in_flight * options.segment_bytes;
  return {options.copy_memory_bytes_max, std::min(kept, options.copy_memory_bytes_max)};
}

/// At the end of an endpoint: the driver, which ends later, may still move packed segments of a run that has failed.
template <class Segments>
void keep_in_flight(Segments& segments, net::Driver& driver) {
  for (auto& segment : segments) {
    if (!segment.copy.empty()) {
      driver.keep(std::move(segment.copy));
    }
  }
}

}  // namespace plait::comm::detail
