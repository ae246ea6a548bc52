// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/flow_engine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task::detail {

namespace {

constexpr std::uint64_t submissions_between_looks = 256;  // at the network; a power of two
constexpr int described_max = 20;
constexpr int looks_before_telling = 64;

constexpr KindName data_kind{.name = "a new datum", .hash = hash_of("a new datum")};
constexpr KindName flush_kind{.name = "flush", .hash = hash_of("flush")};
constexpr KindName flush_all_kind{.name = "flush_all", .hash = hash_of("flush_all")};
constexpr KindName wait_kind{.name = "wait", .hash = hash_of("wait")};

bool has_checks([[maybe_unused]] ReadChecks wish) {
#ifdef PLAIT_CHECKS
  return wish != ReadChecks::never;
#else
  return wish == ReadChecks::always;
#endif
}

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
      scheduler_{scheduler},
      recorder_{recorder},
      options_{options},
      self_{endpoint.self()},
      checks_reads_{has_checks(options.read_checks)},
      check_{endpoint, options.comm, log_},
      memory_{options.copy_bytes_max, std::max<std::uint64_t>(options.receive_ahead, 1)} {
  if (options.window == 0) {
    throw Error{ErrorCode::bad_argument, "a flow needs a window of at least 1 task"};
  }
}

void FlowEngine::abandon() noexcept {
  run_.reset();
  check_.stop();
}

FlowEngine::~FlowEngine() {
  run_.reset();
  for (const auto& record : pool_.all()) {
    if (record->kernel_place != nullptr) {
      if (record->coroutine) {
        record->coroutine.destroy();
      }
      record->destroy(*record);
    }
    for (const Use& use : record->uses) {  // of a failed run
      leave(*use.place);
    }
  }
  for (Datum& datum : data_) {
    if (datum.local) {
      forget_present(datum);
      retire(datum.local->partial);
    }
  }
  for (Place* const home : homes_) {
    delete home;
  }
  std::ranges::for_each(home_memory_, free_aligned);
}

// ---- data and kinds ----

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
    LocalDatum& local = local_of(datum);
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

const std::string& FlowEngine::add_collection(std::string_view name) {
  return names_.emplace_back(name);
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
                fmt::format("tasks may be at work on {}: call wait() before looking at it", name_of(datum))};
  }
  datum.local->has_value = true;
  return {datum.local->home->memory, datum.bytes};
}

const KindName& FlowEngine::kind(std::string_view name) {
  const auto known = std::ranges::find(kinds_, name, &KindName::name);
  if (known != kinds_.end()) {
    return *known;
  }
  const std::string& kept = names_.emplace_back(name);
  return kinds_.emplace_back(KindName{.name = kept, .hash = hash_of(kept)});
}

const Label& FlowEngine::label(const KindName& kind) {
  std::unique_ptr<Label>& known = labels_[&kind];
  if (!known) {
    known = std::make_unique<Label>(Label{std::string{kind.name}, recorder_.name(trace::Role::task, kind.name)});
  }
  return *known;
}

// ---- submission ----

Record* FlowEngine::enter(const KindName& kind, const SubmitOptions& options, std::span<const AccessNote> accesses) {
  const Rank executes = options.on ? options.on : rank_that_executes(accesses);
  log_.add(kind, executes, accesses);
  if (log_.count() % submissions_between_looks == 0) {
    now_and_then();
  }
  if (!concerns(executes, accesses)) {
    for (const AccessNote& access : accesses) {
      if (!only_reads(access.mode)) {
        written(*access.datum, executes);
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
  throw_if_failed();
  open();
  throw_if_named_twice(accesses);
  if (executes.value() >= endpoint_.rank_count()) {
    fail(Error{ErrorCode::bad_argument,
               fmt::format("rank {} cannot execute '{}': this run has {} ranks",
                           executes.value(),
                           kind.name,
                           endpoint_.rank_count())});
  }
  for (const AccessNote& access : accesses) {
    if (access.mode != Mode::reduce) {
      end_reduction(*access.datum);
      if (access.mode != Mode::write) {
        bring(*access.datum, executes, priority);
      }
    }
  }
  Record* const task = executes == self_ ? &make(Part::task, kind, priority) : nullptr;
  for (const AccessNote& access : accesses) {
    if (access.mode == Mode::reduce) {
      contribute(task, *access.datum, executes);
      continue;
    }
    if (task != nullptr) {
      use_in_task(*task, *access.datum, access.mode);
    }
    if (!only_reads(access.mode)) {
      written(*access.datum, executes);
    }
  }
  if (task != nullptr) {
    count(*task);
  } else {
    throttle();
  }
  return task;
}

/// What it needs has been asked for by its number.
void FlowEngine::count(Record& task) {
  ++task_count_;
  task.is_counted = true;
}

Record& FlowEngine::enter_local(const KindName& kind, int priority) {
  throw_if_failed();
  open();
  Record& task = make(Part::task, kind, priority);
  count(task);
  return task;
}

void FlowEngine::launch(Record& task) {
  begin(task);
  throttle();
}

void FlowEngine::throw_if_named_twice(std::span<const AccessNote> accesses) {
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (accesses[i].datum == accesses[j].datum) {
        fail(Error{ErrorCode::bad_argument,
                   fmt::format("a task names {} twice: name it once, with all that the task does to it",
                               name_of(*accesses[i].datum))});
      }
    }
  }
}

Record& FlowEngine::make(Part part, const KindName& kind, int priority) {
  Record& record = pool_.take(*this, part);
  record.label = &label(kind);
  record.weight_ns = static_cast<decltype(record.weight_ns)>(priority);
  record.urgency_of_messages = static_cast<std::int16_t>(std::clamp(priority, -32'768, 32'767));
  return record;
}

/// Lets a record start as soon as what it waits for has ended.
void FlowEngine::begin(Record& record) {
  unfinished_.fetch_add(1, std::memory_order_relaxed);  // this thread reads it
  if (record.part != Part::gate) {
    run_->expect_end(record);
  }
  if (record.waits.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // with end()
    hand_over(record, nullptr);
  }
}

void FlowEngine::open() {
  if (!run_) {
    run_.emplace(scheduler_, [this] { return describe_waiting(); });
  }
}

void FlowEngine::fail(const Error& error) {
  open();
  run_->fail(error);
  throw_if_failed();
  throw Error{error};  // not reached: what has failed throws
}

void FlowEngine::throw_if_failed() {
  if (has_failed_) {
    throw Error{ErrorCode::bad_argument, "this flow has failed before: it can only be ended"};
  }
  if (run_ && run_->has_failed()) {
    has_failed_ = true;
    run_->close();
  }
}

// ---- waiting ----

void FlowEngine::now_and_then() {
  if (endpoint_.rank_count() == 1) {
    return;
  }
  throw_if_failed();
  endpoint_.progress();
  if (const auto failure = endpoint_.failure()) {
    has_failed_ = true;
    throw Error{*failure};
  }
  try {
    if (log_.count() % SubmissionLog::checkpoint_every == 0) {
      check_.tell();
    }
    check_.look();
  } catch (const Error& error) {
    fail(error);
  }
}

/// Executes tasks meanwhile. Tells the others how far this rank is only when the wait is not a short one.
void FlowEngine::help_until(const std::function<bool()>& is_done) {
  std::optional<Error> trouble;
  int looks = 0;
  run_->help_until([&] {
    if (is_done()) {
      return true;
    }
    try {
      if (++looks == looks_before_telling) {
        check_.tell();
      }
      check_.look();
      throw_if_memory_blocks();
    } catch (const Error& error) {
      trouble = error;
    }
    return trouble.has_value();
  });
  if (trouble) {
    fail(*trouble);
  }
  throw_if_failed();
}

void FlowEngine::throttle() {
  if (unfinished() >= options_.window) {
    const std::uint32_t enough = options_.window - (options_.window + 3) / 4;
    help_until([this, enough] { return unfinished() <= enough; });
  }
}

/// When nothing on this rank moves by itself, and this thread will add nothing, then only memory could help.
void FlowEngine::throw_if_memory_blocks() {
  if (in_motion_.load(std::memory_order_acquire) > 0 || !memory_.is_asked()) {  // with release in end()
    return;
  }
  give_memory(nullptr);
  if (in_motion_.load(std::memory_order_acquire) == 0 && memory_.is_asked()) {
    throw Error{
        ErrorCode::out_of_memory,
        fmt::format("copies of other ranks' data may take {} bytes on rank {}, but its next task needs {}: raise "
                    "copy_bytes_max, or flush data that is not read any more",
                    memory_.bytes_max(),
                    self_.value(),
                    memory_.bytes_needed())};
  }
}

void FlowEngine::flush(Datum& datum) {
  const AccessNote note{&datum, Mode::read_write};
  log_.add(flush_kind, datum.owner, {&note, 1});
  if (!datum.local && !datum.is_reducing) {
    datum.holder = datum.owner;
    return;
  }
  throw_if_failed();
  open();
  end_reduction(datum);
  go_home(datum);
  if (datum.local) {
    forget_sent(*datum.local);
    if (datum.holder != self_) {
      forget_present(datum);
    }
  }
}

void FlowEngine::flush_all() {
  log_.add(flush_all_kind, Rank{}, {});
  bring_all_home();
}

void FlowEngine::bring_all_home() {
  throw_if_failed();
  open();
  for (Datum* const datum : std::exchange(reducing_, {})) {
    datum->is_listed_as_reducing = false;
    end_reduction(*datum);
  }
  for (Datum* const datum : std::exchange(away_, {})) {
    datum->is_away = false;
    go_home(*datum);
  }
  for (Datum* const datum : std::exchange(copies_, {})) {
    datum->local->is_listed = false;
    if (datum->owner != self_) {
      forget_present(*datum);
    }
  }
  ++epoch_;
}

void FlowEngine::wait() {
  log_.add(wait_kind, Rank{}, {});
  bring_all_home();
  help_until([this] { return unfinished() == 0; });
  if (endpoint_.rank_count() > 1) {
    check_ended();
    help_until([this] { return check_.have_all_ended(); });
  }
  try {
    run_->close();
  } catch (const Error&) {
    has_failed_ = true;
    throw;
  }
  run_.reset();
}

void FlowEngine::check_ended() {
  try {
    check_.tell();
    check_.tell_ended();
  } catch (const Error& error) {
    fail(error);
  }
}

FlowStatistics FlowEngine::statistics() const {
  return {.submitted = log_.count() - data_.size(),
          .executed = ended_tasks_.load(std::memory_order_relaxed),
          .messages_sent = messages_sent_.load(std::memory_order_relaxed),
          .ranks_sent_to = ranks_sent_to_.load(std::memory_order_relaxed),
          .bytes_sent = bytes_sent_.load(std::memory_order_relaxed),
          .messages_received = messages_received_.load(std::memory_order_relaxed),
          .records_peak = pool_.all().size(),
          .copy_bytes = memory_.bytes_in_use(),
          .copy_bytes_peak = memory_.bytes_peak()};
}

std::string FlowEngine::describe_waiting() const {
  std::string text;
  int count = 0;
  for (const auto& record : pool_.all()) {
    {
      const std::lock_guard lock{record->lock};
      if (record->has_ended || record->part == Part::gate || record->part == Part::passing_on) {
        continue;
      }
    }
    if (++count > described_max) {
      return text + ", ...";
    }
    text += count > 1 ? ", " : "";
    text += record->label->name;
    const std::uint32_t waits = record->waits.load(std::memory_order_relaxed);
    if (waits > 0) {
      text += fmt::format(" (for {} others)", waits);
    } else if (record->part == Part::receive) {
      text += fmt::format(" (from rank {})", record->address.rank.value());
    }
  }
  return count > 0 ? text : "the other ranks' ends of wait()";
}

}  // namespace plait::task::detail
