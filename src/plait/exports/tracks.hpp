// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plait/exports/message_sides.hpp"
#include "plait/exports/names.hpp"
#include "plait/exports/run_files.hpp"

namespace plait::exports {

/// A bar in a row of bars.
struct Bar {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint32_t name = 0;  ///< In `Names`.
  std::uint32_t row = 0;   ///< Place of its event in the rank's events of that kind, or in `MessageSide`s.
};

/// A row of bars that nest: no two overlap unless one contains the other.
struct Track {
  enum class What : std::uint8_t { spans, tasks, calls, collectives, messages, gaps };

  What what = What::tasks;
  std::uint32_t number = 0;  ///< Of the worker (65535: a thread that is no worker), or of the row.
  std::vector<Bar> bars;     ///< By start, the longer first.

  /// As users read it. `has_tasks`: the rank has tracks of tasks, too.
  [[nodiscard]] std::string label(bool has_tasks) const;
};

/// Rows for the messages, or non-blocking collectives, of a rank; more at once share the last one.
inline constexpr std::uint32_t rows_max = 32;

/// The tracks of a rank: spans, then tasks, then calls, each by worker. Cost: sorts the events.
[[nodiscard]] std::vector<Track> thread_tracks(const RankOfRun& rank, Names& names);

/// Those that lie across its threads: non-blocking collectives and messages in rows, poll gaps.
[[nodiscard]] std::vector<Track> row_tracks(const RankOfRun& rank, std::span<const MessageSide> sides, Names& names);

[[nodiscard]] bool has_tasks(std::span<const Track> tracks) noexcept;

/// Calls `begin(bar)` and `end(bar)` for both ends of each bar, in an order that nests.
template <class Begin, class End>
void for_each_edge(const Track& track, Begin&& begin, End&& end) {
  std::vector<const Bar*> open;
  for (const Bar& bar : track.bars) {
    for (; !open.empty() && open.back()->end <= bar.start; open.pop_back()) {
      end(*open.back());
    }
    begin(bar);
    open.push_back(&bar);
  }
  for (; !open.empty(); open.pop_back()) {
    end(*open.back());
  }
}

}  // namespace plait::exports
