// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/flow_engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task::detail {

namespace {

constexpr std::uint64_t submissions_between_polls = 256;  // at the network; a power of two
constexpr int polls_before_report = 64;

constexpr KindName data_kind{.name = "a new datum", .hash = hash_of("a new datum")};
constexpr KindName flush_kind{.name = "flush", .hash = hash_of("flush")};
constexpr KindName wait_kind{.name = "wait", .hash = hash_of("wait")};

Rank rank_that_executes(std::span<const AccessNote> accesses) {
  for (const AccessNote& access : accesses) {
    if (!only_reads(access.mode) && access.mode != Mode::reduce) {
      return access.datum->owner;
    }
  }
  for (const AccessNote& access : accesses) {
    if (access.mode != Mode::reduce) {  // a contribution is made where there is what it is made of
      return access.datum->owner;
    }
  }
  return accesses.front().datum->owner;
}

}  // namespace

FlowEngine::FlowEngine(comm::Endpoint& endpoint,
                       Scheduler& scheduler,
                       trace::Recorder& recorder,
                       const FlowOptions& options)
    : endpoint_{endpoint},
      options_{options},
      self_{endpoint.self()},
      comms_{endpoint.claim_comms(1)},
      check_{endpoint, comms_[0], log_},
      records_{endpoint, scheduler, recorder, options, comms_[0]},
      values_{records_, self_, endpoint.rank_count(), comms_[0], options_.fanout} {}

void FlowEngine::abandon() noexcept {
  records_.front().abandon();
  check_.stop();
}

FlowEngine::~FlowEngine() {
  records_.drop_all();
  for (Datum& datum : data_) {
    values_.forget(datum);
  }
  for (Place* const home : homes_) {
    delete home;
  }
  std::ranges::for_each(home_memory_, free_aligned);
}

// ---- data ----

Datum& FlowEngine::add(Rank owner, std::size_t bytes, std::byte* memory, const Piece& piece) {
  if (owner.value() >= endpoint_.rank_count()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} cannot own data: this run has {} ranks", owner.value(), endpoint_.rank_count())};
  }
  Datum& datum = data_.emplace_back(*this, static_cast<std::uint32_t>(data_.size()), owner);
  datum.bytes = bytes;
  datum.collection = piece.collection;
  datum.row = piece.row;
  datum.column = piece.column;
  if (owner == self_) {
    LocalDatum& local = Values::local_of(datum);
    local.home = homes_.emplace_back(new Place{});
    local.home->bytes = bytes;
    local.home->memory = memory != nullptr ? memory : home_memory_.emplace_back(allocate_aligned(bytes));
    local.current = local.home;
    local.has_value = memory != nullptr;
  }
  const AccessNote note{&datum, Mode::write};
  log_.add(data_kind, owner, {&note, 1});
  return datum;
}

std::span<std::byte> FlowEngine::local_bytes(Datum& datum) {
  if (datum.owner != self_) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "{} has no memory on rank {}: it is rank {}'s", name_of(datum), self_.value(), datum.owner.value())};
  }
  if (!is_quiet() && datum.version > 0) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("tasks may use {}: call wait() before reading it", name_of(datum))};
  }
  datum.local->has_value = true;
  return {datum.local->home->memory, datum.bytes};
}

// ---- submission ----

Record* FlowEngine::enter(const KindName& kind, const SubmitOptions& options, std::span<const AccessNote> accesses) {
  const Rank executes = options.on ? options.on : rank_that_executes(accesses);
  log_.add(kind, executes, accesses);
  if (log_.count() % submissions_between_polls == 0) {
    check_periodically();
  }
  if (!concerns(executes, accesses)) {
    for (const AccessNote& access : accesses) {
      if (!only_reads(access.mode)) {
        values_.written(*access.datum, executes);
      }
    }
    return nullptr;
  }
  return enter_here(kind, options.priority, executes, accesses);
}

/// Whether this rank executes the task, has data for it, or data that it changes.
bool FlowEngine::concerns(Rank executes, std::span<const AccessNote> accesses) const noexcept {
  bool concerns = executes == self_;
  for (const AccessNote& access : accesses) {
    const Datum& datum = *access.datum;
    concerns |= datum.holder == self_ || datum.is_reducing || access.mode == Mode::reduce ||
                (datum.local && !only_reads(access.mode));
  }
  return concerns;
}

Record* FlowEngine::enter_here(const KindName& kind,
                               int priority,
                               Rank executes,
                               std::span<const AccessNote> accesses) {
  open();
  throw_if_named_twice(accesses);
  if (executes.value() >= endpoint_.rank_count()) {
    records_.front().fail(Error{ErrorCode::bad_argument,
                                fmt::format("rank {} cannot execute '{}': this run has {} ranks",
                                            executes.value(),
                                            kind.name,
                                            endpoint_.rank_count())});
  }
  for (const AccessNote& access : accesses) {
    if (access.mode != Mode::reduce) {
      values_.end_reduction(*access.datum);
      if (access.mode != Mode::write) {
        values_.bring(*access.datum, executes, priority);
      }
    }
  }
  Record* const task = executes == self_ ? &records_.make(Part::task, kind, priority) : nullptr;
  for (const AccessNote& access : accesses) {
    if (access.mode == Mode::reduce) {
      values_.contribute(task, *access.datum, executes);
      continue;
    }
    if (task != nullptr) {
      values_.use_in_task(*task, *access.datum, access.mode);
    }
    if (!only_reads(access.mode)) {
      values_.written(*access.datum, executes);
    }
  }
  if (task != nullptr) {
    records_.count(*task);
  } else {
    throttle();
  }
  return task;
}

Record& FlowEngine::enter_local(const KindName& kind, int priority) {
  open();
  Record& task = records_.make(Part::task, kind, priority);
  records_.count(task);
  return task;
}

void FlowEngine::launch(Record& task) {
  records_.begin(task);
  throttle();
}

void FlowEngine::throw_if_named_twice(std::span<const AccessNote> accesses) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (accesses[i].datum == accesses[j].datum) {
        records_.front().fail(
            Error{ErrorCode::bad_argument,
                  fmt::format("a task names {} twice: name it once, with all that the task does to it",
                              name_of(*accesses[i].datum))});
      }
    }
  }
}

void FlowEngine::open() {
  records_.front().throw_if_failed();
  records_.front().open();
}

// ---- waiting ----

void FlowEngine::check_periodically() {
  if (endpoint_.rank_count() == 1) {
    return;
  }
  records_.front().throw_if_failed();
  endpoint_.progress();
  if (const auto failure = endpoint_.failure()) {
    records_.front().mark_failed();
    throw Error{*failure};
  }
  try {
    if (log_.count() % SubmissionLog::checkpoint_every == 0) {
      check_.report();
    }
    check_.poll();
  } catch (const Error& error) {
    records_.front().fail(error);
  }
}

/// Executes tasks meanwhile. Reports to the others how far this rank is, unless the wait is short.
void FlowEngine::help_until(const std::function<bool()>& is_done) {
  std::optional<Error> trouble;
  int polls = 0;
  records_.front().run().help_until([&] {
    if (is_done()) {
      return true;
    }
    try {
      if (++polls == polls_before_report) {
        check_.report();
      }
      check_.poll();
      records_.throw_if_memory_blocks();
    } catch (const Error& error) {
      trouble = error;
    }
    return trouble.has_value();
  });
  if (trouble) {
    records_.front().fail(*trouble);
  }
  records_.front().throw_if_failed();
}

void FlowEngine::throttle() {
  if (records_.front().is_full()) {
    help_until([this] { return records_.front().has_room(); });
  }
}

void FlowEngine::flush(Datum& datum) {
  const AccessNote note{&datum, Mode::read_write};
  log_.add(flush_kind, datum.owner, {&note, 1});
  if (!datum.local && !datum.is_reducing) {
    datum.holder = datum.owner;
    return;
  }
  open();
  values_.flush(datum);
}

void FlowEngine::wait() {
  log_.add(wait_kind, Rank{}, {});
  open();
  values_.flush_all();
  help_until([this] { return records_.front().unfinished() == 0; });
  if (endpoint_.rank_count() > 1) {
    try {
      check_.report();
      check_.report_end();
    } catch (const Error& error) {
      records_.front().fail(error);
    }
    help_until([this] { return check_.have_all_ended(); });
  }
  records_.front().close();
}

FlowStatistics FlowEngine::statistics() const {
  FlowStatistics statistics = records_.statistics();
  statistics.submitted = log_.count() - data_.size();
  return statistics;
}

}  // namespace plait::task::detail
