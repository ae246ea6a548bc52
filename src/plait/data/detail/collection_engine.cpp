// SPDX-License-Identifier: Apache-2.0
// Elements and phases; turns.cpp, messages.cpp and moves.cpp have the rest.
#include "plait/data/detail/collection_engine.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "plait/comm/collectives/reduce.hpp"
#include "plait/data/detail/all_ranks.hpp"

namespace plait::data::detail {

namespace {

/// Communicators of collections begin here; the program's own are taken to be below.
constexpr std::uint32_t first_comm = 0xda7'0000;
constexpr std::size_t described_max = 20;
constexpr std::size_t lost_named_max = 100;

CollectionOptions with_mapping(CollectionOptions options, const Shape& shape, std::uint32_t rank_count) {
  if (!options.mapping) {
    options.mapping = shape.is_regular() ? block(shape, rank_count) : scattered(rank_count);
  }
  return options;
}

}  // namespace

void origin_of_methods() {}

CollectionEngine::CollectionEngine(const Parts& parts,
                                   const Shape& shape,
                                   CollectionOptions options,
                                   const ElementKind& kind)
    : endpoint_{parts.endpoint},
      scheduler_{parts.scheduler},
      recorder_{parts.recorder},
      self_{endpoint_.self()},
      rank_count_{endpoint_.rank_count()},
      shape_{shape},
      options_{with_mapping(std::move(options), shape, rank_count_)},
      beyond_{scattered(rank_count_)},
      kind_{kind},
      handler_{endpoint_.claim_handler()},
      group_{endpoint_, comm::CommId{first_comm + (handler_.value() & 0xffffU)}},
      termination_{self_,
                   rank_count_,
                   [this](Rank to, const Termination::Note& note) {
                     Bytes message(sizeof(MessageKind) + sizeof note);
                     constexpr MessageKind what = MessageKind::termination;
                     std::memcpy(message.data(), &what, sizeof what);
                     std::memcpy(message.data() + sizeof what, &note, sizeof note);
                     endpoint_.post(to, handler_, message);
                   }},
      workers_(scheduler_.worker_count()),
      next_out_{std::make_unique<std::atomic<std::uint32_t>[]>(rank_count_)},
      next_in_(rank_count_) {
  endpoint_.on(handler_, [this](const comm::ActiveMessage& message) { arrive(message); });
  try {
    throw_if_programs_differ();  // when all have come here, messages may come
  } catch (...) {
    endpoint_.off(handler_);
    throw;
  }
}

/// Methods travel as distances in the code, which must be the same on all ranks.
void CollectionEngine::throw_if_programs_differ() {
  const auto distance = static_cast<std::int64_t>(std::bit_cast<std::uintptr_t>(kind_.destroy) -
                                                  std::bit_cast<std::uintptr_t>(&origin_of_methods));
  std::array<std::int64_t, 2> largest{distance, -distance};
  settle(group_, comm::all_reduce(group_, std::span{largest}, comm::Maximum{}));
  if (largest[0] != -largest[1]) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the ranks that make collection '{}' do not run the same program, or make different "
                            "collections: start one binary on all, and make collections in the same order",
                            options_.name)};
  }
}

CollectionEngine::~CollectionEngine() {
  endpoint_.off(handler_);
  run_.reset();
  for (const auto& list : {&outside_, &unknown_}) {
    for (const auto& [to, mail] : *list) {
      mail->kind->drop(mail);
    }
  }
  for (const Table* const table : {&table_, &fresh_}) {
    for (const auto& [id, element] : *table) {
      kind_.destroy(element);
    }
  }
}

Rank CollectionEngine::home(ElementId id) const {
  return shape_.is_regular() && id.value() < shape_.count() ? options_.mapping(id) : beyond_(id);
}

// ---- elements ----

void CollectionEngine::prepare(ElementId id, Element& element) {
  element.id = id;
  element.object = id.value();
  element.ending = this;
  element.label = &label_;
  element.body = [this, &element](task::TaskContext& context) { run(element, context.worker()); };
}

void CollectionEngine::insert(ElementId id, Element* element) {
  prepare(id, *element);
  table_.emplace(id.value(), element);
  is_order_old_ = true;
}

Element* CollectionEngine::find(ElementId id) const {
  const auto place = table_.find(id.value());
  return place == table_.end() ? nullptr : place->second;
}

std::span<Element* const> CollectionEngine::local() {
  if (std::exchange(is_order_old_, false)) {
    order_.clear();
    for (const auto& [id, element] : table_) {
      order_.push_back(element);
    }
    std::ranges::sort(order_, {}, &Element::id);
  }
  return order_;
}

void CollectionEngine::reset_loads() {
  for (Element* const element : local()) {
    element->busy = {};
    element->sent.clear();
  }
  overhead_ = {};
  arriving_ns_.store(0, std::memory_order_relaxed);  // a statistic, as below
}

nanoseconds CollectionEngine::overhead() const noexcept {
  return overhead_ + nanoseconds{arriving_ns_.load(std::memory_order_relaxed)};
}

// ---- phases ----

void CollectionEngine::throw_if_failed() const {
  if (has_failed_) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("collection '{}' has failed before: it can only be ended", options_.name)};
  }
}

/// What one rank asks wrongly of all ends the run on all.
void CollectionEngine::fail_all(const Error& error) {
  has_failed_ = true;
  endpoint_.stop_all(error);
  throw Error{error};
}

void CollectionEngine::begin_phase(std::string_view name) {
  throw_if_failed();
  has_failed_ = true;  // until it has ended well
  label_.name = name.empty() ? options_.name : name;
  label_.trace_name = recorder_.name(trace::Role::task, label_.name);
  apply_known();
  forwarded_.store(0, std::memory_order_relaxed);  // nobody else is there, for this and the next
  forwarded_again_.store(0, std::memory_order_relaxed);
  messages_sent_.store(0, std::memory_order_relaxed);
  bytes_sent_.store(0, std::memory_order_relaxed);
  lost_count_ = 0;
  lost_.clear();
  for (WorkerState& worker : workers_) {
    worker.turns = worker.messages = worker.through = 0;
    worker.in_turns = {};
  }
  termination_.begin(++phase_);
}

PhaseReport CollectionEngine::run_phase(const PhaseWork& work, std::string_view name) {
  const nanoseconds start = recorder_.now();
  const nanoseconds busy_before = busy_of_workers();
  begin_phase(name);
  work_ = work;
  run_.emplace(scheduler_, [this] { return describe_waiting(); });
  begin_turns();
  for (const auto& [to, head] : std::exchange(later_, {})) {
    post(to, head, {});
  }
  for (const auto& [to, mail] : std::exchange(outside_, {})) {
    deliver(route(to), to, *mail, {});
  }
  open_for_messages();
  run_->help_until([this] {
    if (std::exchange(workers_.front().has_run, false)) {  // asked after a task: there may be more
      return termination_.is_over();
    }
    return termination_.is_over() || (look() && termination_.is_over());
  });
  close_phase();
  overhead_ += busy_of_workers() - busy_before;
  for (const WorkerState& worker : workers_) {
    overhead_ -= worker.in_turns;
  }
  throw_if_unfinished();
  return report(start);
}

/// From here on what comes is handled, after what has come already.
void CollectionEngine::open_for_messages() {
  try {
    const std::lock_guard lock{early_lock_};
    for (const Bytes& message : std::exchange(early_, {})) {
      Head head;
      std::memcpy(&head, message.data(), sizeof head);
      handle(head, std::span{message}.subspan(sizeof head));
      handled_.fetch_add(1, std::memory_order_release);  // with counts()
    }
    open_phase_ = phase_;
  } catch (const Error& error) {
    fail_all(error);  // as the endpoint does when a handler throws
  }
  const std::lock_guard lock{look_lock_};
  can_look_ = true;
}

void CollectionEngine::close_phase() {
  {
    const std::lock_guard lock{look_lock_};
    can_look_ = false;
  }
  if (run_) {
    run_->close();
    run_.reset();
  }
  endpoint_.flush();  // others learn of the end from here, and this rank may block elsewhere next
  {
    const std::lock_guard lock{early_lock_};
    open_phase_ = 0;
  }
  adopt_news();
  for (const auto& [to, mail] : std::exchange(unknown_, {})) {
    lose(mail->from, to);
    mail->kind->drop(mail);
  }
  has_failed_ = false;
}

/// What was learnt during a phase holds from its end on.
void CollectionEngine::adopt_news() {
  for (const auto& [id, element] : std::exchange(fresh_, {})) {
    table_.emplace(id, element);
    is_order_old_ = true;
  }
  for (const auto& [id, rank] : std::exchange(registered_, {})) {
    away_.insert_or_assign(id, rank);
  }
  fresh_count_.store(0, std::memory_order_relaxed);  // nobody else is there
  for (Element* const element : std::exchange(erased_, {})) {
    table_.erase(element->id.value());
    kind_.destroy(element);
    is_order_old_ = true;
  }
  for (const ElementId id : std::exchange(gone_, {})) {
    away_.erase(id.value());
  }
}

/// Nothing is on its way any more: what an element still waits for does not come.
void CollectionEngine::throw_if_unfinished() {
  std::uint64_t through = 0;
  for (const WorkerState& worker : workers_) {
    through += worker.through;
  }
  if (through == started_ || work_.steps == 0) {
    return;
  }
  std::string text;
  std::size_t count = 0;
  for (const Element* const element : local()) {
    if (element->next_step < work_.steps && ++count <= described_max) {
      const auto come =
          static_cast<std::uint64_t>(std::ranges::count(element->inputs, element->next_step, &Mail::step));
      text += fmt::format("{}element {} in step {} ({} of {} have come)",
                          count > 1 ? ", " : "",
                          element->id.value(),
                          element->next_step,
                          come,
                          element->needed);
    }
  }
  fail_all(Error{ErrorCode::user_task,
                 fmt::format("phase '{}' of '{}' cannot end: {} elements on rank {} wait for inputs that nobody has "
                             "sent: {}{}; does each step send as many as inputs() says?",
                             label_.name,
                             options_.name,
                             count,
                             self_.value(),
                             text,
                             count > described_max ? ", ..." : "")});
}

nanoseconds CollectionEngine::busy_of_workers() const {
  nanoseconds busy{};
  for (const task::WorkerTimes& times : scheduler_.worker_times()) {
    busy += times.busy;
  }
  return busy;
}

PhaseReport CollectionEngine::report(nanoseconds start) {
  PhaseReport report{.took = recorder_.now() - start,
                     .messages_sent = messages_sent_.load(std::memory_order_relaxed),
                     .bytes_sent = bytes_sent_.load(std::memory_order_relaxed),
                     .forwarded = forwarded_.load(std::memory_order_relaxed),  // all have ended
                     .forwarded_again = forwarded_again_.load(std::memory_order_relaxed),
                     .lost_count = lost_count_,
                     .lost = std::move(lost_)};
  for (const WorkerState& worker : workers_) {
    report.turns += worker.turns;
    report.messages += worker.messages;
  }
  return report;
}

Counts CollectionEngine::counts() const noexcept {
  // What was handled is read first: its effects are then seen by whoever looks for tasks. With post() and accept().
  const std::uint64_t handled = handled_.load(std::memory_order_acquire);
  return {.sent = sent_.load(std::memory_order_acquire), .handled = handled};
}

/// Tells that this rank is quiet, if it is. From any thread.
bool CollectionEngine::look() noexcept {
  const std::unique_lock lock{look_lock_, std::try_to_lock};
  if (!lock.owns_lock() || !can_look_) {
    return false;
  }
  const Counts before = counts();
  if ((run_ && !run_->is_quiet()) || counts() != before) {
    return false;
  }
  try {
    termination_.quiet(before);
  } catch (const Error&) {
    return false;  // the network has failed: who waits will be told
  }
  return true;
}

std::string CollectionEngine::describe_waiting() const {
  if (!termination_.is_over()) {
    const Counts now = counts();
    return fmt::format("the ends of phase '{}' of '{}' on other ranks (here {} messages were sent, {} handled)",
                       label_.name,
                       options_.name,
                       now.sent,
                       now.handled);
  }
  return "nothing";
}

void CollectionEngine::lose(ElementId from, ElementId to) {
  const std::lock_guard lock{news_lock_};
  ++lost_count_;
  if (lost_.size() < lost_named_max) {
    lost_.push_back({from, to});
  }
}

}  // namespace plait::data::detail
