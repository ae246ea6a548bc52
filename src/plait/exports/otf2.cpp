// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/otf2.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/exports/detail/otf2_definitions.hpp"
#include "plait/exports/detail/otf2_library.hpp"
#include "plait/exports/message_sides.hpp"
#include "plait/exports/postings.hpp"
#include "plait/exports/samples.hpp"
#include "plait/exports/tracks.hpp"

namespace plait::exports {
namespace {

using detail::Otf2Enum;
using detail::Otf2Events;
using detail::Otf2Location;
using detail::Otf2Reference;
using trace::CallClass;

constexpr const char* archive_name = "traces";
constexpr std::uint64_t event_chunk_bytes = 1 << 20;
constexpr std::uint64_t definition_chunk_bytes = 4 << 20;
constexpr Otf2Enum mode_write = 0;
constexpr Otf2Enum posix = 1;
constexpr Otf2Enum uncompressed = 1;
constexpr Otf2Enum do_flush = 1;
constexpr Otf2Enum type_double = 10;

/// An event that is no end of a bar. Of those at one time, what ends an operation comes before ends of bars, and what
/// begins one after them.
struct Point {
  enum class Order : std::uint8_t { ends, edge, begins };
  enum class Kind : std::uint8_t {
    send,
    receive,
    send_begun,
    send_complete,
    receive_begun,
    receive_complete,
    collective_begin,
    collective_end,
    collective_begun,
    collective_complete,
    counter,
    count,
    sample,
  };

  std::uint64_t time = 0;
  Order order = Order::edge;
  Kind kind = Kind::send;
  std::uint32_t row = 0;  ///< Place of its message side, call, counter or count; of a sample its call path.

  [[nodiscard]] auto key() const noexcept { return std::pair{time, order}; }
};

/// One location, with its events before they are written.
struct Location {
  Otf2Location number = 0;
  const Track* track = nullptr;
  std::vector<Point> points;
};

/// The locations of one rank.
struct Locations {
  std::vector<Location> all;
  std::unordered_map<std::uint32_t, std::size_t> of_calls;  ///< By worker.
  std::unordered_map<std::uint32_t, std::size_t> of_tasks;

  /// That of the thread's calls, else of its tasks, else the rank's first.
  Location& of(std::optional<std::uint32_t> worker) {
    for (const auto* known : {&of_calls, &of_tasks}) {
      if (const auto found = worker ? known->find(*worker) : known->end(); found != known->end()) {
        return all[found->second];
      }
    }
    return all.front();
  }
};

std::uint32_t worker_of(const trace::RankTrace& trace, std::uint32_t thread) {
  const WorkerId worker = trace.threads[thread].worker;
  return worker.value();  // 65535 for a thread that is no worker, as in tracks
}

Otf2Enum flush_before(void* /*data*/, Otf2Enum /*file*/, Otf2Location /*of*/, void* /*caller*/, bool /*final*/) {
  return do_flush;
}

/// Keeps the first error, which is the cause of the others.
detail::Otf2Status note_error(void* first,
                              const char* /*file*/,
                              std::uint64_t /*line*/,
                              const char* /*function*/,
                              detail::Otf2Status code,
                              const char* /*format*/,
                              va_list /*arguments*/) {
  auto& known = *static_cast<detail::Otf2Status*>(first);
  if (known == 0 && code > 0) {  // below 0 are warnings
    known = code;
  }
  return code;
}

}  // namespace

/// One rank after the other, into an archive.
class Otf2Archive::Writer {
 public:
  Writer(const std::filesystem::path& folder,
         const std::filesystem::path& library,
         const trace::Meta& meta,
         SiteTexts texts)
      : folder_{folder}, library_{library}, meta_{meta}, texts_{std::move(texts)} {
    std::error_code trouble;
    std::filesystem::create_directories(folder, trouble);
    if (trouble) {
      throw Error{ErrorCode::io, fmt::format("{} cannot be created ({})", folder.string(), trouble.message())};
    }
    otf2_.set_error_callback(note_error, &first_error_);
    attributes_ = otf2_.new_attributes();
    check(attributes_ == nullptr ? 1 : 0);
    archive_ = otf2_.open(
        folder.c_str(), archive_name, mode_write, event_chunk_bytes, definition_chunk_bytes, posix, uncompressed);
    check(archive_ == nullptr ? 1 : 0);
    check(otf2_.set_flush_callbacks(archive_, &flush_, nullptr));
    check(otf2_.set_serial(archive_));
    check(otf2_.set_creator(archive_, "plait"));
    check(otf2_.set_description(archive_, fmt::format("{}", fmt::join(meta.command, " ")).c_str()));
    check(otf2_.open_definitions(archive_));
    check(otf2_.open_events(archive_));
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  ~Writer() {
    if (archive_ != nullptr) {
      otf2_.close(archive_);
    }
    if (attributes_ != nullptr) {
      otf2_.delete_attributes(attributes_);
    }
    otf2_.set_error_callback(nullptr, nullptr);
  }

  void add(const RankOfRun& rank) {
    const std::vector<MessageSide> sides = message_sides(rank);
    const std::vector<Track> tracks = thread_tracks(rank, referred_.regions);
    add_communicators(rank.trace);
    Locations locations = make_locations(rank.trace.rank.value(), tracks);
    add_messages(rank, sides, Postings{rank, tracks}, locations);
    add_collectives(rank, locations);
    for (std::uint32_t row = 0; row < rank.trace.counters.size(); ++row) {
      locations.all.front().points.push_back(
          {rank.clock(rank.trace.counters[row].event.time), Point::Order::begins, Point::Kind::counter, row});
    }
    counts_ = counts_of(rank, referred_.metrics);
    sources_of_rank_.clear();
    for (std::uint32_t row = 0; row < counts_.size(); ++row) {
      locations.of(counts_[row].worker)
          .points.push_back({counts_[row].end, Point::Order::begins, Point::Kind::count, row});
    }
    add_samples(rank, locations);
    for (Location& location : locations.all) {
      write(location, rank, sides);
    }
  }

  [[nodiscard]] std::uint64_t event_count() const noexcept { return events_; }

  void complete(std::uint32_t rank_count) {
    for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
      if (!referred_.main_locations.contains(rank)) {  // it left no file
        Location empty = make_locations(rank, {}).all.front();
        write(empty, {}, {});
      }
    }
    check(otf2_.close_events(archive_));
    check(otf2_.close_definitions(archive_));
    referred_.contexts = paths_.nodes();
    detail::Otf2DefinitionWriter definitions{otf2_, otf2_.global_definitions(archive_)};
    check(definitions.write(referred_, meta_, rank_count));
    check(otf2_.close(std::exchange(archive_, nullptr)));
    check(first_error_);
  }

 private:
  void check(detail::Otf2Status status) {
    if (status != 0) {
      archive_ = nullptr;  // OTF2 3.2 frees memory twice when it closes an archive that could not be written
      throw Error{ErrorCode::io,
                  fmt::format("{}: OTF2 cannot write the archive ({}); is the disk full?",
                              folder_.string(),
                              otf2_.error_text(first_error_ != 0 ? first_error_ : status))};
    }
  }

  Locations make_locations(std::uint32_t rank, std::span<const Track> tracks) {
    Locations locations;
    const bool is_with_tasks = has_tasks(tracks);
    const auto add = [&](const Track* track, const std::string& label) {
      const Otf2Location number = referred_.locations.size();
      referred_.locations.push_back({fmt::format("rank {} {}", rank, label), rank, 0});
      locations.all.push_back({number, track, {}});
      if (track != nullptr && track->what != Track::What::spans) {
        (track->what == Track::What::calls ? locations.of_calls : locations.of_tasks)
            .emplace(track->number, locations.all.size() - 1);
      }
    };
    const auto main = std::ranges::find_if(tracks, [](const Track& track) { return track.what != Track::What::spans; });
    if (main == tracks.end()) {
      add(nullptr, "worker 0");  // MPI events and counters need one
    } else {
      add(&*main, main->label(is_with_tasks));
    }
    for (const Track& track : tracks) {
      if (main == tracks.end() || &track != &*main) {
        add(&track, track.label(is_with_tasks));
      }
    }
    referred_.main_locations[rank] = locations.all.front().number;
    return locations;
  }

  void add_communicators(const trace::RankTrace& trace) {
    for (const auto& [number, members] : trace.communicators) {
      if (number != 0) {
        auto [known, is_new] = referred_.communicators.try_emplace(number);
        if (is_new) {
          known->second = {static_cast<Otf2Reference>(referred_.communicators.size()), members};
        }
      }
    }
  }

  void add_messages(const RankOfRun& rank,
                    std::span<const MessageSide> sides,
                    const Postings& postings,
                    Locations& locations) {
    using Kind = Point::Kind;
    using Order = Point::Order;
    for (std::uint32_t row = 0; row < sides.size(); ++row) {
      const MessageSide& side = sides[row];
      const bool is_received = side.is_received();
      const bool has_ended = !side.event->is_unfinished;
      const std::uint32_t post = postings.posted_by(side);
      std::optional<std::uint32_t> poster;
      if (post != Postings::none) {
        const auto& [thread, call] = rank.trace.calls[post];
        poster = worker_of(rank.trace, thread);
        if (call.what == CallClass::message) {
          if (!is_received) {
            locations.of(poster).points.push_back({side.posted, Order::begins, Kind::send, row});
          } else if (has_ended) {
            locations.of(poster).points.push_back({side.completed, Order::ends, Kind::receive, row});
          }
          continue;
        }
      }
      locations.of(poster).points.push_back(
          {side.posted, Order::begins, is_received ? Kind::receive_begun : Kind::send_begun, row});
      if (has_ended) {
        const Kind kind = is_received ? Kind::receive_complete : Kind::send_complete;
        locations.of(side.worker.value()).points.push_back({side.completed, Order::ends, kind, row});
      }
    }
  }

  /// The samples of each thread at a location of their own.
  void add_samples(const RankOfRun& rank, Locations& locations) {
    const std::uint32_t number = rank.trace.rank.value();
    for (const SampledThread& thread : sampled_threads(rank, paths_)) {
      Location location{referred_.locations.size(), nullptr, {}};
      referred_.locations.push_back({fmt::format("rank {} samples of {}", number, thread.label()), number, 0});
      for (const PathSample& sample : thread.samples) {
        location.points.push_back({sample.time, Point::Order::begins, Point::Kind::sample, sample.node});
        referred_.interval_ns = std::min(referred_.interval_ns.value_or(sample.interval_ns), sample.interval_ns);
      }
      locations.all.push_back(std::move(location));
    }
  }

  void add_collectives(const RankOfRun& rank, Locations& locations) {
    using Kind = Point::Kind;
    for (std::uint32_t row = 0; row < rank.trace.calls.size(); ++row) {
      const auto& [thread, call] = rank.trace.calls[row];
      const bool is_begun = call.what == CallClass::begun_collective;
      if ((!is_begun && call.what != CallClass::collective) || !operation(rank.trace, call.function)) {
        continue;
      }
      std::vector<Point>& points = locations.of(worker_of(rank.trace, thread)).points;
      const std::uint64_t start = rank.clock(call.start);
      const std::uint64_t end = std::max(start, rank.clock(call.end));
      points.push_back({start, Point::Order::begins, is_begun ? Kind::collective_begun : Kind::collective_begin, row});
      points.push_back({end, Point::Order::ends, is_begun ? Kind::collective_complete : Kind::collective_end, row});
    }
  }

  std::optional<Otf2Enum> operation(const trace::RankTrace& trace, trace::NameId function) {
    const std::string& text = trace.name(trace::Role::function, function);
    const auto [found, is_new] = operations_.try_emplace(text);
    if (is_new) {
      found->second = detail::collective_operation(text);
    }
    return found->second;
  }

  /// The bars and the points of a location, merged by time.
  void write(Location& location, const RankOfRun& rank, std::span<const MessageSide> sides) {
    std::ranges::stable_sort(location.points, {}, &Point::key);
    Otf2Events* const out = otf2_.events_of(archive_, location.number);
    check(out == nullptr ? 1 : 0);
    std::uint64_t count = 0;
    auto point = location.points.begin();
    const auto points_before = [&](std::pair<std::uint64_t, Point::Order> edge) {
      for (; point != location.points.end() && point->key() < edge; ++point, ++count) {
        write(out, *point, rank, sides);
        note(point->time);
      }
    };
    if (location.track != nullptr) {
      for_each_edge(
          *location.track,
          [&](const Bar& bar) {
            points_before({bar.start, Point::Order::edge});
            check(otf2_.enter(out, attributes_of(*location.track, bar, rank.trace), bar.start, bar.name));
            note(bar.start);
            ++count;
          },
          [&](const Bar& bar) {
            points_before({bar.end, Point::Order::edge});
            check(otf2_.leave(out, nullptr, bar.end, bar.name));
            note(bar.end);
            ++count;
          });
    }
    points_before({~std::uint64_t{0}, Point::Order::begins});
    check(otf2_.close_events_of(archive_, out));
    check(otf2_.close_definitions_of(archive_, otf2_.definitions_of(archive_, location.number)));
    referred_.locations[location.number].events = count;
    events_ += count;
  }

  /// Of a call with a known call site, a list with it; null without.
  detail::Otf2Attributes* attributes_of(const Track& track, const Bar& bar, const trace::RankTrace& trace) {
    if (track.what != Track::What::calls) {
      return nullptr;
    }
    const trace::NameId site = trace.calls[bar.row].event.site;
    if (!site) {
      return nullptr;
    }
    const auto [known, is_new] = sources_of_rank_.try_emplace(site.value(), 0);
    if (is_new) {
      known->second = reference_of(texts_.source_of(trace.name(trace::Role::call_site, site)));
    }
    check(otf2_.add_source_location(attributes_, detail::otf2_call_site, known->second));
    return attributes_;
  }

  Otf2Reference reference_of(const SourceLine& source) {
    const auto number = static_cast<Otf2Reference>(referred_.sources.size());
    const auto [known, is_new] = sources_.try_emplace({source.file, source.line}, number);
    if (is_new) {
      referred_.sources.push_back(source);
    }
    return known->second;
  }

  void note(std::uint64_t time) noexcept {
    referred_.first_event = std::min(referred_.first_event.value_or(time), time);
    referred_.last_event = std::max(referred_.last_event, time);
  }

  void write(Otf2Events* out, const Point& point, const RankOfRun& rank, std::span<const MessageSide> sides) {
    switch (point.kind) {
      case Point::Kind::counter:
        write_counter(out, point, rank.trace);
        break;
      case Point::Kind::count:
        check(otf2_.metric(
            out, nullptr, point.time, counts_[point.row].name, 1, &type_double, &counts_[point.row].value));
        break;
      case Point::Kind::sample:
        check(otf2_.sample(out, nullptr, point.time, point.row, detail::otf2_nothing, detail::otf2_interrupts));
        break;
      case Point::Kind::collective_begin:
      case Point::Kind::collective_end:
      case Point::Kind::collective_begun:
      case Point::Kind::collective_complete:
        write_collective(out, point, rank.trace);
        break;
      default:
        write_message(out, point, sides[point.row]);
    }
  }

  void write_message(Otf2Events* out, const Point& point, const MessageSide& side) {
    const trace::MessageEvent& event = *side.event;
    const auto [communicator, peer] = member(event.communicator, event.peer.value());
    const auto tag = static_cast<std::uint32_t>(event.tag.value());
    const std::uint64_t request = point.row;
    switch (point.kind) {
      case Point::Kind::send:
        check(otf2_.send(out, nullptr, point.time, peer, communicator, tag, event.bytes));
        break;
      case Point::Kind::receive:
        check(otf2_.receive(out, nullptr, point.time, peer, communicator, tag, event.bytes));
        break;
      case Point::Kind::send_begun:
        check(otf2_.send_begun(out, nullptr, point.time, peer, communicator, tag, event.bytes, request));
        break;
      case Point::Kind::send_complete:
        check(otf2_.send_complete(out, nullptr, point.time, request));
        break;
      case Point::Kind::receive_begun:
        check(otf2_.receive_begun(out, nullptr, point.time, request));
        break;
      default:
        check(otf2_.receive_complete(out, nullptr, point.time, peer, communicator, tag, event.bytes, request));
    }
  }

  void write_collective(Otf2Events* out, const Point& point, const trace::RankTrace& trace) {
    const trace::CallEvent& call = trace.calls[point.row].event;
    const std::uint64_t request = trace.messages.size() + point.row;
    if (point.kind == Point::Kind::collective_begin) {
      check(otf2_.collective_begin(out, nullptr, point.time));
    } else if (point.kind == Point::Kind::collective_begun) {
      check(otf2_.collective_begun(out, nullptr, point.time, request));
    } else {
      const Otf2Enum what = operation(trace, call.function).value();
      const auto [communicator, root] = member(call.communicator, call.peer);
      if (point.kind == Point::Kind::collective_end) {
        check(
            otf2_.collective_end(out, nullptr, point.time, what, communicator, root, call.bytes_given, call.bytes_got));
      } else {
        check(otf2_.collective_complete(
            out, nullptr, point.time, what, communicator, root, call.bytes_given, call.bytes_got, request));
      }
    }
  }

  void write_counter(Otf2Events* out, const Point& point, const trace::RankTrace& trace) {
    const trace::CounterEvent& counter = trace.counters[point.row].event;
    const std::string text = trace.name(trace::Role::counter, counter.name);
    const Otf2Reference metric = referred_.metrics.number(Names::Kind::counter, text);
    check(otf2_.metric(out, nullptr, point.time, metric, 1, &type_double, &counter.value));
  }

  /// A communicator, and the place of a rank of the run in it: itself where it is not known there.
  std::pair<Otf2Reference, std::uint32_t> member(std::uint32_t communicator, std::uint32_t rank) const {
    const auto found = referred_.communicators.find(communicator);
    if (found == referred_.communicators.end()) {
      return {detail::otf2_world, rank};
    }
    const auto& members = found->second.members;
    const auto place = std::ranges::find(members, rank);
    return {found->second.reference,
            place == members.end() ? rank : static_cast<std::uint32_t>(place - members.begin())};
  }

  std::filesystem::path folder_;
  detail::Otf2Library library_;
  const detail::Otf2Functions& otf2_ = library_.functions();
  trace::Meta meta_;
  detail::Otf2FlushCallbacks flush_{flush_before, nullptr};
  detail::Otf2Archive* archive_ = nullptr;
  detail::Otf2Attributes* attributes_ = nullptr;
  detail::Otf2Status first_error_ = 0;
  detail::Otf2Referred referred_;
  SiteTexts texts_;
  PathTree paths_{texts_, referred_.regions};
  std::vector<Count> counts_;  ///< Of the present rank.
  std::map<std::pair<std::string, std::uint32_t>, Otf2Reference> sources_;
  std::unordered_map<std::uint32_t, Otf2Reference> sources_of_rank_;  ///< By number of the site in the present rank.
  std::unordered_map<std::string, std::optional<Otf2Enum>> operations_;
  std::uint64_t events_ = 0;
};

Otf2Archive::Otf2Archive(const std::filesystem::path& folder,
                         const std::filesystem::path& library,
                         const trace::Meta& meta,
                         SiteTexts texts)
    : writer_{std::make_unique<Writer>(folder, library, meta, std::move(texts))} {}

Otf2Archive::~Otf2Archive() = default;

void Otf2Archive::add(const RankOfRun& rank) {
  writer_->add(rank);
}

std::uint64_t Otf2Archive::event_count() const noexcept {
  return writer_->event_count();
}

void Otf2Archive::complete(std::uint32_t rank_count) {
  writer_->complete(rank_count);
}

}  // namespace plait::exports
