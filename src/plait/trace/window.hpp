// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "plait/base/clock.hpp"
#include "plait/trace/profile_options.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::trace {

/// The windows of this rank.
///
/// Threads: any. Cost: a few nanoseconds a question.
class Windows {
 public:
  /// Gives the regions numbers in `recorder`.
  Windows(const WindowOptions& options, Recorder& recorder);

  /// Sets what to add to this rank's times to get those of rank 0, so that windows of all ranks coincide.
  void align(nanoseconds offset) noexcept { offset_.store(offset.count(), std::memory_order_relaxed); }

  /// Whether a window is open at any time from `start` to `end`. The first time in each window of time, records it.
  [[nodiscard]] bool overlaps(nanoseconds start, nanoseconds end, ThreadRecorder& recorder) noexcept {
    return period_.count() != 0 ? overlaps_time(start, end, recorder) : overlaps_region(start, end);
  }

  /// A region begins or ends. Opens and closes windows of regions, and records them.
  void region_begins(NameId region, nanoseconds now, ThreadRecorder& recorder) noexcept;
  void region_ends(NameId region, nanoseconds now, ThreadRecorder& recorder) noexcept;

 private:
  static constexpr nanoseconds::rep never = std::numeric_limits<nanoseconds::rep>::max();

  [[nodiscard]] bool overlaps_time(nanoseconds start, nanoseconds end, ThreadRecorder& recorder) noexcept;
  [[nodiscard]] bool overlaps_region(nanoseconds start, nanoseconds end) const noexcept {
    // A time near an edge may count to either side: the two loads are not one.
    return end.count() >= start_.load(std::memory_order_relaxed) &&
           start.count() < end_.load(std::memory_order_relaxed);
  }

  const nanoseconds length_;
  const nanoseconds period_;
  const std::uint32_t every_;
  NameId from_;
  NameId to_;
  std::atomic<nanoseconds::rep> offset_ = 0;
  std::atomic<std::int64_t> recorded_ = -1;  ///< The latest window of time that has a record.
  // Of regions: the latest window.
  std::atomic<nanoseconds::rep> start_ = never;
  std::atomic<nanoseconds::rep> end_ = never;
  std::atomic<std::uint32_t> begins_ = 0;  ///< Of the region that opens windows.
};

}  // namespace plait::trace
