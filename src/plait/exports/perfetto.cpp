// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/perfetto.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/exports/detail/perfetto_packets.hpp"
#include "plait/exports/message_sides.hpp"
#include "plait/exports/postings.hpp"
#include "plait/exports/samples.hpp"
#include "plait/exports/tracks.hpp"

namespace plait::exports {
namespace {

using detail::Fact;
using detail::FactValue;
using What = Track::What;

/// Numbers of tracks: bars have theirs in the high half of 64 bits.
constexpr std::uint64_t counter_tracks = std::uint64_t{1} << 59U;
constexpr std::uint64_t process_tracks = std::uint64_t{1} << 60U;
constexpr std::uint64_t sampled_tracks = std::uint64_t{1} << 58U;
/// Added to the number of a thread that has not called MPI: it has no worker's number.
constexpr std::uint32_t other_threads = 70'000;
constexpr const char* being_sent = "bytes being sent";
/// A message that begins or ends at a call with most messages at once: a packet's length has 14 bits.
constexpr std::size_t flows_max = 1000;

/// The numbers that belong to each of many rows.
class NumbersOfRows {
 public:
  void add(std::uint32_t row, std::uint64_t number) { entries_.emplace_back(row, number); }

  void sort(std::size_t rows) {
    std::ranges::stable_sort(entries_, {}, [](const auto& entry) { return entry.first; });
    starts_.assign(rows + 1, 0);
    numbers_.reserve(entries_.size());
    for (const auto& [row, number] : entries_) {
      ++starts_[row + std::size_t{1}];
      numbers_.push_back(number);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      starts_[row + 1] += starts_[row];
    }
    entries_ = {};
  }

  [[nodiscard]] std::span<const std::uint64_t> operator[](std::uint32_t row) const {
    const std::size_t count = std::min<std::size_t>(starts_[row + std::size_t{1}] - starts_[row], flows_max);
    return std::span{numbers_}.subspan(starts_[row], count);
  }

 private:
  std::vector<std::pair<std::uint32_t, std::uint64_t>> entries_;
  std::vector<std::uint32_t> starts_;
  std::vector<std::uint64_t> numbers_;
};

/// The flows that leave from, and arrive at, each call and each message's bar.
struct Flows {
  NumbersOfRows from_calls;
  NumbersOfRows to_calls;
  NumbersOfRows from_messages;
  NumbersOfRows to_messages;

  Flows(const RankOfRun& rank, std::span<const MessageSide> sides, const Postings& postings) {
    for (std::uint32_t row = 0; row < sides.size(); ++row) {
      const MessageSide& side = sides[row];
      if (side.is_received() && side.event->is_unfinished) {
        continue;
      }
      const std::uint32_t call = side.is_received() ? postings.ended_by(side) : postings.posted_by(side);
      if (call != Postings::none) {
        (side.is_received() ? to_calls : from_calls).add(call, side.flow);
      } else {
        (side.is_received() ? to_messages : from_messages).add(row, side.flow);
      }
    }
    from_calls.sort(rank.trace.calls.size());
    to_calls.sort(rank.trace.calls.size());
    from_messages.sort(sides.size());
    to_messages.sort(sides.size());
  }
};

/// The facts of one bar; those that are 0 are left out, but for ranks and communicators.
class Facts {
 public:
  void add(Fact fact, std::uint64_t value) {
    if (value > 0 || fact == Fact::peer || fact == Fact::communicator || fact == Fact::site) {
      values_[size_++] = {fact, value};
    }
  }
  void add_unless_nothing(Fact fact, std::uint32_t value) {
    if (value != trace::nothing) {
      add(fact, value);
    }
  }
  void clear() noexcept { size_ = 0; }
  [[nodiscard]] std::span<const FactValue> values() const noexcept { return {values_.data(), size_}; }

 private:
  std::array<FactValue, 8> values_{};
  std::size_t size_ = 0;
};

std::uint32_t thread_id(std::uint32_t rank, std::uint32_t worker) noexcept {
  return (rank + 1) * 100'000 + worker + 1;
}

std::uint64_t since(std::uint64_t earlier, std::uint64_t later) noexcept {
  return later > earlier ? later - earlier : 0;
}

}  // namespace

/// One rank after the other, into the packets of a file.
class PerfettoFile::Packets {
 public:
  Packets(const std::filesystem::path& file, SiteTexts texts) : out_{file}, texts_{std::move(texts)} {}

  void add(const RankOfRun& rank) {
    const std::uint32_t number = rank.trace.rank.value();
    out_.process(process_tracks + number, number + 1, fmt::format("rank {}", number));
    const std::vector<MessageSide> sides = message_sides(rank);
    const std::vector<Track> threads = thread_tracks(rank, names_);
    const Postings postings{rank, threads};
    const Flows flows{rank, sides, postings};
    const bool is_with_tasks = has_tasks(threads);
    OfRank of{rank, sides, postings, flows, {rank.trace, trace::Role::call_site, names_}};
    for (const Track& track : threads) {
      add(track, of, is_with_tasks);
    }
    for (const Track& track : row_tracks(rank, sides, names_)) {
      add(track, of, is_with_tasks);
    }
    add_being_sent(number, sides);
    add_counters(rank);
    add_counts(rank);
    add_samples(rank);
  }

  [[nodiscard]] std::uint64_t size() const noexcept { return out_.size(); }
  void complete() { out_.complete(); }

 private:
  struct OfRank {
    const RankOfRun& rank;
    std::span<const MessageSide> sides;
    const Postings& postings;
    const Flows& flows;
    NamesOfRank sites;
    Facts facts{};
  };

  void add(const Track& track, OfRank& of, bool is_with_tasks) {
    const std::uint64_t uuid = ++tracks_ << 32U;
    describe(track, uuid, of.rank.trace.rank.value(), is_with_tasks);
    for_each_edge(
        track,
        [&](const Bar& bar) {
          if (!out_.has_name(bar.name)) {
            out_.intern_name(bar.name, names_[bar.name].text);
          }
          detail::SliceBegin slice{uuid, bar.start, bar.name, {}, {}, {}};
          add_facts(track.what, bar, of);
          slice.facts = of.facts.values();
          if (track.what == What::calls) {
            slice.flows = of.flows.from_calls[bar.row];
            slice.flows_ended = of.flows.to_calls[bar.row];
          } else if (track.what == What::messages) {
            slice.flows = of.flows.from_messages[bar.row];
            slice.flows_ended = of.flows.to_messages[bar.row];
          }
          out_.begin(slice);
        },
        [&](const Bar& bar) { out_.end(uuid, bar.end); });
  }

  void describe(const Track& track, std::uint64_t uuid, std::uint32_t rank, bool is_with_tasks) {
    const std::uint64_t process = process_tracks + rank;
    if (track.what == What::tasks || (track.what == What::calls && !is_with_tasks)) {
      out_.thread(uuid, process, rank + 1, thread_id(rank, track.number), track.label(is_with_tasks));
    } else {
      out_.row(uuid, process, track.label(is_with_tasks));
    }
  }

  void add_facts(What what, const Bar& bar, OfRank& of) {
    of.facts.clear();
    if (what == What::tasks) {
      const trace::TaskEvent& task = of.rank.trace.tasks[bar.row].event;
      of.facts.add(Fact::step, task.step);
      of.facts.add(Fact::object, task.object);
      if (task.ready != nanoseconds{} && task.ready < task.start) {
        of.facts.add(Fact::waited_ns, since(of.rank.clock(task.ready), bar.start));
      }
    } else if (what == What::spans) {
      const trace::SpanEvent& span = of.rank.trace.spans[bar.row].event;
      of.facts.add(Fact::step, span.step);
      of.facts.add(Fact::object, span.object);
    } else if (what == What::messages) {
      add_message_facts(of.sides[bar.row], of);
    } else if (what == What::calls || what == What::collectives) {
      const trace::CallEvent& call = of.rank.trace.calls[bar.row].event;
      of.facts.add_unless_nothing(Fact::peer, call.peer);
      of.facts.add(Fact::bytes_given, call.bytes_given);
      of.facts.add(Fact::bytes_got, call.bytes_got);
      of.facts.add_unless_nothing(Fact::communicator, call.communicator);
      of.facts.add(Fact::completed, call.count);
      add_site(call.site, of);
    }
  }

  void add_message_facts(const MessageSide& side, OfRank& of) {
    of.facts.add_unless_nothing(Fact::peer, side.event->peer.value());
    of.facts.add(Fact::bytes, side.event->bytes);
    of.facts.add(Fact::tag, side.event->tag.value());
    of.facts.add(Fact::communicator, side.event->communicator);
    of.facts.add(Fact::took_ns, since(side.posted, side.completed));
    if (const std::uint32_t row = of.postings.posted_by(side); row != Postings::none) {
      const trace::CallEvent& call = of.rank.trace.calls[row].event;
      if (call.start <= side.event->posted && side.event->posted <= call.end) {
        add_site(call.site, of);
      }
    }
  }

  void add_site(trace::NameId site, OfRank& of) {
    if (!site) {
      return;
    }
    const std::uint32_t name = of.sites(site);
    if (!out_.has_site(name)) {
      const std::string& place = names_[name].text;
      const auto label = texts_.labels.find(place);
      out_.intern_site(name, label != texts_.labels.end() ? label->second : place);
    }
    of.facts.add(Fact::site, name);
  }

  void add_being_sent(std::uint32_t rank, std::span<const MessageSide> sides) {
    std::vector<std::pair<std::uint64_t, double>> changes;
    for (const MessageSide& side : sides) {
      if (!side.is_received()) {
        const auto bytes = static_cast<double>(side.event->bytes);
        changes.emplace_back(side.posted, bytes);
        if (!side.event->is_unfinished) {
          changes.emplace_back(side.completed, -bytes);
        }
      }
    }
    if (changes.empty()) {
      return;
    }
    std::ranges::stable_sort(changes, {}, [](const auto& change) { return change.first; });
    const std::uint64_t track = add_counter(rank, being_sent);
    double bytes = 0;
    for (const auto& [time, change] : changes) {
      bytes += change;
      out_.count(track, time, std::max(bytes, 0.0));
    }
  }

  void add_counters(const RankOfRun& rank) {
    NamesOfRank counters{rank.trace, trace::Role::counter, names_};
    std::unordered_map<std::uint32_t, std::uint64_t> tracks;
    for (const auto& [thread, counter] : rank.trace.counters) {
      const std::uint32_t name = counters(counter.name);
      auto [track, is_new] = tracks.try_emplace(name, 0);
      if (is_new) {
        track->second = add_counter(rank.trace.rank.value(), names_[name].text);
      }
      out_.count(track->second, rank.clock(counter.time), counter.value);
    }
  }

  /// What was counted in each execution of a region or task, at its end.
  void add_counts(const RankOfRun& rank) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> tracks;
    for (const Count& count : counts_of(rank, names_)) {
      auto [track, is_new] = tracks.try_emplace({count.worker, count.name}, 0);
      if (is_new) {
        const std::string thread = SampledThread{count.worker, 0, {}}.label();
        track->second = add_counter(rank.trace.rank.value(), fmt::format("{}, {}", names_[count.name].text, thread));
      }
      out_.count(track->second, count.end, count.value);
    }
  }

  void add_samples(const RankOfRun& rank) {
    const std::uint32_t number = rank.trace.rank.value();
    for (const SampledThread& thread : sampled_threads(rank, paths_)) {
      const std::uint32_t tid = thread_id(number, thread.has_worker() ? thread.worker : other_threads + thread.number);
      if (!thread.has_worker()) {
        out_.thread(sampled_tracks + tid, process_tracks + number, number + 1, tid, thread.label());
      }
      for (const PathSample& sample : thread.samples) {
        if (!std::exchange(has_samples_, true)) {
          out_.begin_samples(sample.interval_ns);
        }
        for (; paths_written_ < paths_.nodes().size(); ++paths_written_) {
          add_path(paths_written_);
        }
        out_.sample({sample.time, number + 1, tid, sample.interval_ns, sample.node});
      }
    }
  }

  void add_path(std::uint32_t node) {
    const std::vector<std::uint32_t> functions = paths_.functions_to(node);
    for (const std::uint32_t function : functions) {
      out_.intern_function(function, names_[function].text);
    }
    out_.intern_path(node, functions);
  }

  std::uint64_t add_counter(std::uint32_t rank, std::string_view name) {
    const std::uint64_t track = counter_tracks + counters_++;
    out_.counter(track, process_tracks + rank, name);
    return track;
  }

  detail::PerfettoPackets out_;
  SiteTexts texts_;
  Names names_;
  PathTree paths_{texts_, names_};
  std::uint64_t tracks_ = 0;
  std::uint64_t counters_ = 0;
  std::uint32_t paths_written_ = 0;
  bool has_samples_ = false;
};

PerfettoFile::PerfettoFile(const std::filesystem::path& file, SiteTexts texts)
    : packets_{std::make_unique<Packets>(file, std::move(texts))} {}

PerfettoFile::~PerfettoFile() = default;

void PerfettoFile::add(const RankOfRun& rank) {
  packets_->add(rank);
}

std::uint64_t PerfettoFile::packet_count() const noexcept {
  return packets_->size();
}

void PerfettoFile::complete() {
  packets_->complete();
}

}  // namespace plait::exports
