// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/run_files.hpp"

#include <algorithm>
#include <future>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::exports {
namespace {

bool is_rank_file(const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  return file.extension() == ".plt" && stem.size() > 5 && stem.starts_with("rank-") &&
         std::all_of(stem.begin() + 5, stem.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::vector<std::filesystem::path> rank_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code trouble;
  for (const auto& entry : std::filesystem::directory_iterator{folder, trouble}) {
    if (is_rank_file(entry.path())) {
      found.push_back(entry.path());
    }
  }
  std::ranges::sort(found);
  return found;
}

/// The messages of an engine that carried those of the program's calls: they are the same.
void leave_out_carried(trace::RankTrace& trace) {
  if (std::ranges::any_of(trace.engines, &trace::EngineEvent::carries_calls)) {
    std::erase_if(trace.messages, [](const auto& message) { return !message.event.is_matched_by_order; });
  }
}

}  // namespace

RunFiles::RunFiles(std::filesystem::path folder) : files_{rank_files(folder)} {
  if (files_.empty()) {
    throw Error{ErrorCode::bad_input, fmt::format("{}: holds no rank-NNNN.plt; give a run's folder", folder.string())};
  }
  if (std::filesystem::exists(folder / "meta.json")) {
    meta_ = trace::read_meta(folder).value();
  }
}

void RunFiles::for_each_rank(const std::function<void(const RankOfRun&)>& visit) {
  const auto read = [this](std::size_t file) {
    return std::async(std::launch::async, [path = files_[file]] { return trace::read_rank_trace(path); });
  };
  std::optional<RankOfRun> first;  // without its events: what the clocks of the others refer to
  auto next = read(0);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    Result<trace::RankTrace> found = next.get();
    if (i + 1 < files_.size()) {
      next = read(i + 1);
    }
    if (!found) {
      notices_.push_back(fmt::format("{}; it was left out", found.error().what()));
      continue;
    }
    RankOfRun rank{std::move(found).value(), {}};
    leave_out_carried(rank.trace);
    if (!accept(rank.trace, files_[i].filename().string())) {
      continue;
    }
    if (!first) {
      first.emplace();
      first->trace.wall_clock = rank.trace.wall_clock;
      first->trace.clock = rank.trace.clock;
    }
    const trace::ClockLine line =
        rank.trace.rank == Rank{0}
            ? trace::ClockLine{}
            : fit_clock(rank.trace.clocks, rank.trace.last_event, rank.trace.wall_clock - first->trace.wall_clock);
    rank.clock = ExportClock{line, first->trace.clock};
    visit(rank);
  }
  if (!first) {
    throw Error{ErrorCode::bad_input, notices_.front()};
  }
  if (seen_.size() < rank_count_) {
    notices_.push_back(
        fmt::format("the files of {} of {} ranks are missing or unreadable", rank_count_ - seen_.size(), rank_count_));
  }
}

/// A second file of the same rank, or of a run with another number of ranks, is left out.
bool RunFiles::accept(const trace::RankTrace& trace, const std::string& file) {
  for (const std::string& notice : trace.notices) {
    notices_.push_back(notice);
  }
  const bool is_known = std::ranges::find(seen_, trace.rank.value()) != seen_.end();
  if (is_known) {
    notices_.push_back(fmt::format("{} claims to be rank {} as well; it was left out", file, trace.rank.value()));
    return false;
  }
  seen_.push_back(trace.rank.value());
  rank_count_ = std::max(rank_count_, trace.rank_count);
  return true;
}

}  // namespace plait::exports
