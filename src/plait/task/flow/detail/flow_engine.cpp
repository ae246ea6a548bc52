// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/flow_engine.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task::detail {

namespace {

constexpr std::uint64_t submissions_between_polls = 256;  // at the network; a power of two
constexpr int polls_before_report = 64;                   // and before the first question; a power of two

constexpr KindName data_kind{.name = "a new datum", .hash = hash_of("a new datum")};
constexpr KindName send_kind{.name = "send", .hash = hash_of("send")};
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

std::optional<TransferCheck> make_transfer_check(comm::Endpoint& endpoint,
                                                 comm::CommId comm,
                                                 const FlowOptions& options,
                                                 const DataStore& data) {
  if (options.submission == Submission::every_task) {
    return std::nullopt;
  }
  return std::optional<TransferCheck>{std::in_place, endpoint, comm, data};
}

/// FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv) of the ranks that own pieces.
std::uint32_t hash_of_owners(const GridLayout& layout) {
  std::uint32_t hash = 0x811c'9dc5U;
  for (std::uint32_t row = 0; row < layout.rows; ++row) {
    for (std::uint32_t column = 0; column < layout.columns; ++column) {
      hash = (hash ^ layout.owner(row, column).value()) * 0x0100'0193U;
    }
  }
  return hash;
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
      data_{*this, self_, endpoint.rank_count(), options.submission},
      records_{endpoint, scheduler, recorder, options, comms_[0]},
      transfers_{make_transfer_check(endpoint, comms_[0], options, data_)},
      values_{records_, endpoint, comms_[0], options_.fanout, transfers_ ? &*transfers_ : nullptr} {}

void FlowEngine::abandon() noexcept {
  records_.front().abandon();
  check_.stop();
  if (transfers_) {
    transfers_->stop();
  }
}

FlowEngine::~FlowEngine() {
  records_.drop_all();
  for (Datum& datum : data_.all()) {
    values_.forget(datum);
  }
}

// ---- data ----

Datum& FlowEngine::add(Rank owner, std::size_t bytes, std::byte* memory) {
  Datum& datum = data_.add(owner, bytes, memory);
  const AccessNote note{&datum, Mode::write};
  log_.add(data_kind, owner, {&note, 1});
  return datum;
}

DataStore::Grid& FlowEngine::add_grid(GridLayout layout) {
  std::string what = fmt::format("a new grid {} of {} x {}", layout.name, layout.rows, layout.columns);
  if (submits_every_task()) {
    what += fmt::format(" with owners {:08x}", hash_of_owners(layout));
  }
  log_.add(kind(what), Rank{}, {});
  return data_.add_grid(std::move(layout));
}

std::span<std::byte> FlowEngine::local_bytes(Datum& datum) {
  if (datum.owner != self_) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "{} has no memory on rank {}: it is rank {}'s", name_of(datum), self_.value(), datum.owner.value())};
  }
  if (!is_quiet() && datum.is_written) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("tasks may use {}: call wait() before reading it", name_of(datum))};
  }
  datum.local->has_value = true;
  return {datum.local->home->memory, datum.bytes};
}

// ---- submission ----

Record* FlowEngine::enter(const KindName& kind, const SubmitOptions& options, std::span<const AccessNote> accesses) {
  const Rank executes = options.on ? options.on : rank_that_executes(accesses);
  note_submission(kind, executes, accesses);
  if (concerns(executes, accesses)) {
    return enter_here(kind, options.priority, executes, accesses);
  }
  if (submits_every_task()) {
    for (const AccessNote& access : accesses) {
      if (!only_reads(access.mode)) {
        values_.written(*access.datum, executes);
      }
    }
  }
  return nullptr;
}

void FlowEngine::note_submission(const KindName& kind, Rank executes, std::span<const AccessNote> accesses) {
  if (submits_every_task()) {
    log_.add(kind, executes, accesses);
  }
  if (++submitted_ % submissions_between_polls == 0) {
    check_periodically();
  }
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
  expect_rank(kind, executes);
  if (!submits_every_task()) {
    expect_owner_writes(kind, executes, accesses);
  }
  bring_inputs(kind, priority, executes, accesses);
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

void FlowEngine::bring_inputs(const KindName& kind, int priority, Rank executes, std::span<const AccessNote> accesses) {
  for (const AccessNote& access : accesses) {
    if (access.mode == Mode::reduce) {
      continue;
    }
    values_.end_reduction(*access.datum);
    if (access.mode != Mode::write) {
      if (executes == self_ || access.datum->owner == self_) {
        values_.select(access, kind);
      }
      values_.bring(*access.datum, executes, priority);
    }
  }
}

void FlowEngine::expect_rank(const KindName& kind, Rank rank) {
  if (rank.value() >= endpoint_.rank_count()) {
    records_.front().fail(Error{
        ErrorCode::bad_argument,
        fmt::format(
            "rank {} cannot execute '{}': this run has {} ranks", rank.value(), kind.name, endpoint_.rank_count())});
  }
}

/// In a flow of own tasks, other ranks than these two would not learn where the value is.
void FlowEngine::expect_owner_writes(const KindName& kind, Rank executes, std::span<const AccessNote> accesses) {
  for (const AccessNote& access : accesses) {
    if (only_reads(access.mode) || (access.datum->owner == executes && access.mode != Mode::reduce)) {
      continue;
    }
    records_.front().fail(Error{
        ErrorCode::bad_argument,
        fmt::format("'{}', executed by rank {}, {} {}, which rank {} owns: where ranks submit only their own tasks, a "
                    "task writes data of its rank, and does not reduce; submit every task, or write other data",
                    kind.name,
                    executes.value(),
                    access.mode == Mode::reduce ? "reduces" : "writes",
                    name_of(*access.datum),
                    access.datum->owner.value())});
  }
}

void FlowEngine::send(const AccessNote& access, std::span<const Rank> to, int priority) {
  if (submits_every_task()) {
    for (const Rank rank : to) {
      note_submission(send_kind, rank, {&access, 1});
      if (concerns(rank, {&access, 1})) {
        open();
        expect_rank(send_kind, rank);
        bring_inputs(send_kind, priority, rank, {&access, 1});
        throttle();
      }
    }
    return;
  }
  note_submission(send_kind, self_, {&access, 1});
  if (access.datum->owner == self_) {
    open();
    for (const Rank rank : to) {
      expect_rank(send_kind, rank);
    }
    values_.select(access, send_kind);
    values_.send_to(*access.datum, to, priority);
    throttle();
  }
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
    if (submits_every_task()) {
      check_.report_checkpoint();
    }
    poll_checks(0);
  } catch (const Error& error) {
    records_.front().fail(error);
  }
}

/// `polls`: of this wait.
void FlowEngine::poll_checks(int polls) {
  if (polls == polls_before_report) {
    check_.report();
  }
  check_.poll();
  if (transfers_) {
    if (polls >= polls_before_report && std::has_single_bit(static_cast<unsigned>(polls))) {
      transfers_->ask(records_.missing());
    }
    transfers_->poll();
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
      polls = std::min(polls + 1, std::numeric_limits<int>::max() - 1);
      poll_checks(polls);
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
  note_submission(flush_kind, datum.owner, {&note, 1});
  if (!submits_every_task()) {
    values_.drop_copy(datum);
    return;
  }
  if (!datum.local && !datum.is_reducing) {
    datum.holder = datum.owner;
    return;
  }
  open();
  values_.flush(datum);
}

void FlowEngine::wait() {
  log_.add(wait_kind, Rank{}, {});
  ++submitted_;
  open();
  values_.flush_all();
  if (transfers_) {
    transfers_->report();  // before this rank waits: others may wait for what it does not send
  }
  help_until([this] { return records_.front().unfinished() == 0; });
  if (transfers_) {
    help_until([this] { return transfers_->has_matched(); });
  }
  if (endpoint_.rank_count() > 1) {
    try {
      check_.report();
      check_.report_end();
    } catch (const Error& error) {
      records_.front().fail(error);
    }
    help_until([this] { return check_.have_all_ended(); });
  }
  if (transfers_) {
    transfers_->begin_epoch();
  }
  records_.front().close();
}

FlowStatistics FlowEngine::statistics() const {
  FlowStatistics statistics = records_.statistics();
  statistics.submitted = submitted_;
  return statistics;
}

}  // namespace plait::task::detail
