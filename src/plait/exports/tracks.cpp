// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/tracks.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace plait::exports {
namespace {

using What = Track::What;
using trace::CallClass;

constexpr std::uint32_t no_worker = 65535;
constexpr const char* unpolled = "no thread polled the network";

/// Sorts the bars, and cuts those that reach beyond the end of one in which they began.
void nest(std::vector<Bar>& bars) {
  std::ranges::stable_sort(
      bars, [](const Bar& a, const Bar& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
  std::vector<std::uint64_t> open_ends;
  for (Bar& bar : bars) {
    while (!open_ends.empty() && open_ends.back() <= bar.start) {
      open_ends.pop_back();
    }
    if (!open_ends.empty()) {
      bar.end = std::min(bar.end, open_ends.back());
    }
    open_ends.push_back(bar.end);
  }
}

/// Bars of one kind of event, by worker.
class ByWorker {
 public:
  ByWorker(const RankOfRun& rank, What what) : rank_{rank}, what_{what} {}

  void add(std::uint32_t thread, nanoseconds start, nanoseconds end, std::uint32_t name, std::size_t row) {
    if (thread != last_thread_) {
      const WorkerId worker = rank_.trace.threads[thread].worker;
      last_ = &bars_[worker ? worker.value() : no_worker];
      last_thread_ = thread;
    }
    const std::uint64_t begun = rank_.clock(start);
    last_->push_back({begun, std::max(begun, rank_.clock(end)), name, static_cast<std::uint32_t>(row)});
  }

  void move_to(std::vector<Track>& tracks) {
    for (auto& [worker, bars] : bars_) {
      nest(bars);
      tracks.push_back({what_, worker, std::move(bars)});
    }
  }

 private:
  const RankOfRun& rank_;
  What what_;
  std::map<std::uint32_t, std::vector<Bar>> bars_;
  std::vector<Bar>* last_ = nullptr;
  std::uint32_t last_thread_ = ~std::uint32_t{0};
};

/// Puts each bar into the first row that is free at its start.
std::vector<Track> in_rows(What what, std::vector<Bar> bars) {
  std::ranges::stable_sort(bars, {}, &Bar::start);
  std::vector<Track> rows;
  std::vector<std::uint64_t> free;
  for (const Bar& bar : bars) {
    const auto found = std::ranges::find_if(free, [&](std::uint64_t until) { return until <= bar.start; });
    auto row = static_cast<std::uint32_t>(found - free.begin());
    if (row == free.size() && row < rows_max) {
      free.push_back(0);
      rows.push_back({what, row, {}});
    }
    row = std::min(row, rows_max - 1);
    free[row] = std::max(free[row], bar.end);
    rows[row].bars.push_back(bar);
  }
  for (Track& row : rows) {
    nest(row.bars);
  }
  return rows;
}

void add_calls(const RankOfRun& rank, Names& names, std::vector<Track>& tracks) {
  NamesOfRank functions{rank.trace, trace::Role::function, names};
  ByWorker calls{rank, What::calls};
  for (std::size_t row = 0; row < rank.trace.calls.size(); ++row) {
    const auto& [thread, call] = rank.trace.calls[row];
    if (call.what != CallClass::begun_collective) {
      const std::uint32_t name = functions(call.function);
      names.note_class(name, call.what);
      calls.add(thread, call.start, call.end, name, row);
    }
  }
  calls.move_to(tracks);
}

std::vector<Bar> begun_collectives(const RankOfRun& rank, Names& names) {
  NamesOfRank functions{rank.trace, trace::Role::function, names};
  std::vector<Bar> bars;
  for (std::size_t row = 0; row < rank.trace.calls.size(); ++row) {
    const trace::CallEvent& call = rank.trace.calls[row].event;
    if (call.what == CallClass::begun_collective) {
      const std::uint64_t start = rank.clock(call.start);
      bars.push_back(
          {start, std::max(start, rank.clock(call.end)), functions(call.function), static_cast<std::uint32_t>(row)});
    }
  }
  return bars;
}

}  // namespace

std::string Track::label(bool has_tasks) const {
  if (what == What::tasks || what == What::calls) {
    const bool is_beside_tasks = has_tasks && what == What::calls;
    const char* const noun = what == What::calls ? "thread" : "worker";
    const std::string thread = number == no_worker ? "other thread" : fmt::format("{} {}", noun, number);
    return is_beside_tasks ? thread + " calls" : thread;
  }
  constexpr std::array<const char*, 6> words{"phases", "", "", "non-blocking collectives", "messages", "poll gaps"};
  const char* const word = words[static_cast<std::size_t>(what)];
  return number == 0 ? word : fmt::format("{} {}", word, number + 1);
}

bool has_tasks(std::span<const Track> tracks) noexcept {
  return std::ranges::any_of(tracks, [](const Track& track) { return track.what == What::tasks; });
}

std::vector<Track> thread_tracks(const RankOfRun& rank, Names& names) {
  std::vector<Track> tracks;
  NamesOfRank span_names{rank.trace, trace::Role::span, names};
  ByWorker spans{rank, What::spans};
  for (std::size_t row = 0; row < rank.trace.spans.size(); ++row) {
    const auto& [thread, span] = rank.trace.spans[row];
    spans.add(thread, span.start, span.end, span_names(span.name), row);
  }
  spans.move_to(tracks);
  NamesOfRank kinds{rank.trace, trace::Role::task, names};
  ByWorker tasks{rank, What::tasks};
  for (std::size_t row = 0; row < rank.trace.tasks.size(); ++row) {
    const auto& [thread, task] = rank.trace.tasks[row];
    if (task.role == trace::TaskRole::compute) {
      tasks.add(thread, task.start, task.end, kinds(task.kind), row);
    }
  }
  tasks.move_to(tracks);
  add_calls(rank, names, tracks);
  return tracks;
}

std::vector<Track> row_tracks(const RankOfRun& rank, std::span<const MessageSide> sides, Names& names) {
  std::vector<Track> tracks = in_rows(What::collectives, begun_collectives(rank, names));
  const std::uint32_t send = names.number(Names::Kind::send, "send");
  const std::uint32_t receive = names.number(Names::Kind::receive, "receive");
  std::vector<Bar> messages;
  messages.reserve(sides.size());
  for (const MessageSide& side : sides) {
    messages.push_back({side.posted,
                        side.completed,
                        side.is_received() ? receive : send,
                        static_cast<std::uint32_t>(messages.size())});
  }
  std::ranges::move(in_rows(What::messages, std::move(messages)), std::back_inserter(tracks));
  Track gaps{What::gaps, 0, {}};
  for (const auto& [thread, gap] : rank.trace.gaps) {
    const std::uint64_t start = rank.clock(gap.start);
    gaps.bars.push_back({start,
                         std::max(start, rank.clock(gap.end)),
                         names.number(Names::Kind::poll_gap, unpolled),
                         static_cast<std::uint32_t>(gaps.bars.size())});
  }
  if (!gaps.bars.empty()) {
    nest(gaps.bars);
    tracks.push_back(std::move(gaps));
  }
  return tracks;
}

}  // namespace plait::exports
