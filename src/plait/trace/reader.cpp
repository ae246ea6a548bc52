// SPDX-License-Identifier: Apache-2.0
#include "plait/trace/reader.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/trace/detail/block_checksum.hpp"
#include "plait/trace/detail/decode.hpp"
#include "plait/trace/detail/layout.hpp"
#include "plait/trace/detail/text.hpp"
#include "plait/trace/match_by_order.hpp"

namespace plait::trace {
namespace {

/// Notices of one file that are given one by one.
constexpr std::size_t notices_max = 20;

/// Turns records into events, one after another.
class Collector {
 public:
  Collector(RankTrace& trace, std::string file) : trace_{trace}, file_{std::move(file)} {}

  /// Takes the records of a chunk: of its blocks that are not damaged, up to the first of kind 0. `first` is the number
  /// of its first record in the file.
  void take_chunk(std::span<const std::byte> chunk, std::uint64_t first) {
    record_ = first;
    const std::vector<detail::BlockState> states = detail::block_states(chunk, is_checked_);
    is_checked_ = is_checked_ || std::ranges::find(states, detail::BlockState::sound) != states.end();
    note_empty(chunk);
    for (std::size_t block = 0; block < states.size(); ++block) {
      const std::size_t begin = block * detail::block_bytes;
      record_ = first + begin / detail::record_bytes;
      const auto records = chunk.subspan(begin, std::min(detail::block_bytes, chunk.size() - begin));
      if (states[block] == detail::BlockState::damaged) {
        leave_out_block(records.size(), block == 0);
      } else if (!take_records(records, block == 0)) {
        return;
      }
    }
  }

  void finish() {
    if (is_checked_ && empty_between_ > 0) {
      trace_.notices.push_back(fmt::format(
          "{}: {} chunk(s) have zeros only, but others follow: the file was not copied whole, or is damaged",
          file_,
          empty_between_));
    }
    if (left_out_ > notices_max) {
      trace_.notices.push_back(fmt::format("{}: {} more records were left out", file_, left_out_ - notices_max));
    }
    if (unknown_ > 0) {
      trace_.notices.push_back(
          fmt::format("{}: {} records are of kinds that this plait does not know, and were left out; a newer plait "
                      "made the run: update to see them",
                      file_,
                      unknown_));
    }
  }

 private:
  /// A chunk gets its first record as soon as it is there: one of zeros before others was lost.
  void note_empty(std::span<const std::byte> chunk) {
    if (std::ranges::all_of(chunk, [](std::byte byte) { return byte == std::byte{0}; })) {
      ++empty_latest_;
    } else {
      empty_between_ += std::exchange(empty_latest_, 0);
    }
  }

  /// Whether records may follow in the next block of the chunk.
  bool take_records(std::span<const std::byte> records, bool is_head) {
    if (records.size() < detail::record_bytes || kind_of(records) == detail::Kind::none) {
      return false;
    }
    if (is_head && kind_of(records) != detail::Kind::chunk) {
      leave_out("a chunk that does not begin as one");
      return false;
    }
    for (; records.size() >= detail::record_bytes && kind_of(records) != detail::Kind::none;
         records = records.subspan(detail::record_bytes), ++record_, is_head = false) {
      if (kind_of(records) == detail::Kind::chunk && !is_head) {
        leave_out("a chunk that begins inside another");
      } else if (!detail::is_known(kind_of(records), detail::Records{})) {
        ++unknown_;
      } else if (const detail::Trouble trouble = decode(records.data()); trouble.words != nullptr) {
        leave_out(fmt::format("{} {}", trouble.noun, trouble.words));
      }
    }
    return records.empty();
  }

  /// With the first block of a chunk, the thread of the others is lost.
  void leave_out_block(std::size_t bytes, bool is_head) {
    leave_out(fmt::format("{} bytes are damaged (their checksum differs)", bytes));
    if (is_head) {
      take(detail::ChunkRecord{.thread = detail::no_worker, .name = "of a damaged block"});
    }
  }

  static detail::Kind kind_of(std::span<const std::byte> record) noexcept {
    return static_cast<detail::Kind>(record.front());
  }

  detail::Trouble decode(const std::byte* record) {
    const auto take_timed = [this](const auto& event, nanoseconds latest) {
      take(event);
      trace_.last_event = std::max(trace_.last_event, latest);
    };
    return detail::decode(record, trace_.rank_count, take_timed, detail::Records{});
  }

  void take(const auto& event) { trace_.add(thread_, event); }

  void take(const detail::ChunkRecord& chunk) {
    const WorkerId worker{chunk.thread};  // 65535 is the id that names nothing
    static_assert(!WorkerId{detail::no_worker});
    std::string name = detail::storable_text(chunk.name, text_bytes_max);
    const auto known = std::ranges::find_if(
        trace_.threads, [&](const TracedThread& thread) { return thread.worker == worker && thread.name == name; });
    thread_ = static_cast<std::uint32_t>(known - trace_.threads.begin());
    if (known == trace_.threads.end()) {
      trace_.threads.push_back({worker, std::move(name)});
    }
  }

  void take(const detail::BlockChecksumRecord& /*checked*/) {}

  void take(const detail::NameRecord& name) {
    trace_.names[static_cast<std::size_t>(name.role)][NameId{name.number}] =
        detail::storable_text(name.text, text_bytes_max);
  }

  void take(const GraphTaskEvent& task) {
    const GraphTask known{task.graph, task.place, task.role, task.kind};
    if (trace_.graph_tasks.empty() || trace_.graph_tasks.back() != known) {  // else its record goes on
      trace_.graph_tasks.push_back(known);
    }
    for (const std::uint32_t later : task.later) {
      trace_.dependencies.push_back({task.graph, task.place, later});
    }
  }

  void take(const FlowTaskEvent& task) {
    if (trace_.flow_tasks.empty() || trace_.flow_tasks.back().id != task.id) {  // else its record goes on
      trace_.flow_tasks.push_back({task.role, task.communicator, task.id, task.submitted, task.tag, task.priority, {}});
    }
    auto& accesses = trace_.flow_tasks.back().accesses;
    accesses.insert(accesses.end(), task.accesses.begin(), task.accesses.end());
  }

  void take(const GraphClaimsEvent& task) {
    const auto is_same = [&](const GraphClaims& last) { return last.graph == task.graph && last.place == task.place; };
    if (trace_.graph_claims.empty() || !is_same(trace_.graph_claims.back())) {
      trace_.graph_claims.push_back({task.graph, task.place, {}});
    }
    auto& claims = trace_.graph_claims.back().claims;
    claims.insert(claims.end(), task.claims.begin(), task.claims.end());
  }

  void take(const TaskOrderEvent& task) {
    const auto is_same = [&](const TaskOrder& last) { return last.id == task.id && last.time == task.time; };
    if (trace_.task_orders.empty() || !is_same(trace_.task_orders.back())) {  // else its record goes on
      trace_.task_orders.push_back({task.id, task.time, task.submitted, {}});
    }
    auto& earlier = trace_.task_orders.back().earlier;
    earlier.insert(earlier.end(), task.earlier.begin(), task.earlier.end());
  }

  void take(const CommunicatorEvent& communicator) {
    auto& members = trace_.communicators[communicator.communicator];
    members.resize(communicator.size, nothing);
    std::ranges::copy(communicator.members, members.begin() + communicator.first);
  }

  void take(const SharesEvent& shares) {
    auto& bytes = trace_.shares[shares.call];
    bytes.resize(std::max<std::size_t>(bytes.size(), shares.first + shares.bytes.size()));
    std::ranges::copy(shares.bytes, bytes.begin() + shares.first);
  }

  /// The bins of the latest sum of either kind, which precedes them.
  void take(const SumTimesEvent& times) {
    constexpr std::size_t bin_count = std::tuple_size_v<SumTimes>;
    if (trace_.engine_sums.size() != trace_.sum_times.engine.size()) {
      latest_times_ = &trace_.sum_times.engine;
    } else if (trace_.sums.size() != trace_.sum_times.calls.size()) {
      latest_times_ = &trace_.sum_times.calls;
    }
    if (latest_times_ == nullptr || times.low + times.times.size() > bin_count) {
      leave_out("durations of no sum");
      return;
    }
    trace_.sum_times.calls.resize(trace_.sums.size());
    trace_.sum_times.engine.resize(trace_.engine_sums.size());
    std::ranges::copy(times.times, latest_times_->back().begin() + times.low);
  }

  void leave_out(std::string_view trouble) {
    if (++left_out_ <= notices_max) {
      trace_.notices.push_back(fmt::format("{}: event {}: {}; left out", file_, record_, trouble));
    }
  }

  RankTrace& trace_;
  std::string file_;
  std::uint32_t thread_ = 0;
  std::uint64_t record_ = 0;
  std::size_t left_out_ = 0;
  std::size_t empty_latest_ = 0;                   ///< Chunks of zeros since the last used one.
  std::size_t empty_between_ = 0;                  ///< ... and before it.
  bool is_checked_ = false;                        ///< The file has checksums.
  std::vector<SumTimes>* latest_times_ = nullptr;  ///< Of the trace: those of the sum before.
  std::size_t unknown_ = 0;                        ///< Records of kinds of later versions.
};

/// What makes a file unusable as a whole; nothing when nothing does.
std::optional<std::string> why_not(const detail::Header& header) {
  if (header.magic != detail::magic) {
    return "is no plait trace (it does not begin with PLAITTRC)";
  }
  if (header.version > detail::version) {
    return fmt::format("was made by a newer plait (format {}): update plait, which reads format {} here",
                       header.version,
                       detail::version);
  }
  if (header.version != detail::version) {
    return fmt::format("is of version {} of the format; this plait reads version {}", header.version, detail::version);
  }
  if (header.record_bytes != detail::record_bytes) {
    return fmt::format("has records of {} bytes instead of {}", header.record_bytes, detail::record_bytes);
  }
  if (header.chunk_bytes < detail::chunk_bytes_min || header.chunk_bytes % detail::record_bytes != 0) {
    return fmt::format("has chunks of {} bytes, which is no multiple of 64 from 128", header.chunk_bytes);
  }
  if (header.rank_count > detail::rank_count_max || header.rank >= header.rank_count) {
    return fmt::format("claims to be rank {} of {}", header.rank, header.rank_count);
  }
  if (header.wall_clock_ns < 0 || header.clock_ns < 0) {
    return "claims to have begun before 1970, or before its clock";
  }
  return std::nullopt;
}

std::filesystem::path rank_file(const std::filesystem::path& folder, std::uint32_t rank) {
  return folder / fmt::format("rank-{:04}.plt", rank);
}

}  // namespace

std::string RankTrace::name(Role role, NameId id) const {
  const Names& known = names[static_cast<std::size_t>(role)];
  const auto found = known.find(id);
  return found != known.end() ? found->second : fmt::format("#{}", id.value());
}

Result<RankTrace> read_rank_trace(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  const auto refuse = [&](ErrorCode code, std::string_view why) {
    return Error{code, fmt::format("{}: {}", name, why)};
  };
  std::error_code trouble;
  const std::uintmax_t file_bytes = std::filesystem::file_size(file, trouble);
  std::ifstream in{file, std::ios::binary};
  if (trouble || !in) {
    return refuse(ErrorCode::io, fmt::format("cannot be opened ({})", trouble ? trouble.message() : "no permission?"));
  }
  if (file_bytes < detail::header_bytes) {
    return refuse(ErrorCode::bad_input, fmt::format("is {} bytes long, shorter than a header", file_bytes));
  }
  detail::Header header;
  in.read(reinterpret_cast<char*>(&header), sizeof header);
  if (const auto why = in ? why_not(header) : "cannot be read"; why) {
    return refuse(ErrorCode::bad_input, *why);
  }
  RankTrace trace;
  trace.rank = Rank{header.rank};
  trace.rank_count = header.rank_count;
  trace.wall_clock = nanoseconds{header.wall_clock_ns};
  trace.clock = nanoseconds{header.clock_ns};
  Collector collector{trace, name};
  in.seekg(detail::header_bytes);
  // A damaged header may claim chunks far larger than the file.
  std::vector<std::byte> chunk(std::min<std::uintmax_t>(header.chunk_bytes, file_bytes - detail::header_bytes));
  for (std::uint64_t first = 0; in && !chunk.empty(); first += chunk.size() / detail::record_bytes) {
    in.read(reinterpret_cast<char*>(chunk.data()), static_cast<std::streamsize>(chunk.size()));
    collector.take_chunk(std::span{chunk}.first(static_cast<std::size_t>(in.gcount())), first);
  }
  if (in.bad()) {
    return refuse(ErrorCode::io, "cannot be read to its end");
  }
  collector.finish();
  return trace;
}

ClockLine RunTrace::clock_line(Rank rank) const {
  const RankTrace& trace = ranks.at(rank.value());
  if (rank == Rank{0}) {
    return {};
  }
  return fit_clock(trace.clocks, trace.last_event, trace.wall_clock - ranks.front().wall_clock);
}

Result<RunTrace> read_run(const std::filesystem::path& folder) {
  RunTrace run;
  if (std::filesystem::exists(folder / "meta.json")) {
    Result<Meta> meta = read_meta(folder);
    if (!meta) {
      return meta.error();
    }
    run.meta = std::move(meta).value();
  }
  std::uint32_t rank_count = 1;
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    Result<RankTrace> read = read_rank_trace(rank_file(folder, rank));
    if (!read) {
      return read.error();
    }
    RankTrace trace = std::move(read).value();
    if (rank == 0) {
      rank_count = trace.rank_count;
    }
    if (trace.rank != Rank{rank} || trace.rank_count != rank_count) {
      return Error{ErrorCode::bad_input,
                   fmt::format("{}: claims to be rank {} of {}, but the run has {} ranks; are "
                               "files of two runs in one folder?",
                               rank_file(folder, rank).filename().string(),
                               trace.rank.value(),
                               trace.rank_count,
                               rank_count)};
    }
    run.ranks.push_back(std::move(trace));
  }
  match_by_order(run.ranks);
  return run;
}

}  // namespace plait::trace
