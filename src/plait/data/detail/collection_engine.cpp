// SPDX-License-Identifier: Apache-2.0
// Elements and phases; messages.cpp and moves.cpp have the rest.
#include "plait/data/detail/collection_engine.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "plait/comm/collectives/barrier.hpp"
#include "plait/data/turn.hpp"

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
  comm::barrier(group_).wait();  // from now on messages may come
}

CollectionEngine::~CollectionEngine() {
  endpoint_.off(handler_);
  run_.reset();
  for (const auto& list : {&outside_, &unknown_}) {
    for (const auto& [to, mail] : *list) {
      mail->kind->drop(mail);
    }
  }
  for (const auto& [id, element] : table_) {
    kind_.destroy(element);
  }
}

Rank CollectionEngine::home(ElementId id) const {
  return shape_.is_regular() && id.value() < shape_.count() ? options_.mapping(id) : beyond_(id);
}

// ---- elements ----

void CollectionEngine::insert(ElementId id, Element* element) {
  element->id = id;
  element->engine = this;
  element->object = id.value();
  element->ending = this;
  element->label = &label_;
  element->body = [element](task::TaskContext& context) { element->engine->run(*element, context.worker()); };
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
  forwarded_.store(0, std::memory_order_relaxed);  // nobody else is there
  lost_count_ = 0;
  lost_.clear();
  for (WorkerState& worker : workers_) {
    worker.turns = worker.messages = worker.messages_sent = worker.bytes_sent = 0;
  }
  termination_.begin(++phase_);
}

PhaseReport CollectionEngine::run_phase(const PhaseWork& work, std::string_view name) {
  const nanoseconds start = recorder_.now();
  begin_phase(name);
  work_ = work;
  run_.emplace(scheduler_, [this] { return describe_waiting(); });
  start_elements();
  for (const auto& [to, mail] : std::exchange(outside_, {})) {
    deliver(route(to), to, *mail, nullptr);
  }
  open_for_messages();
  run_->help_until([this] { return termination_.is_over() || (look() && termination_.is_over()); });
  close_phase();
  return report(start);
}

void CollectionEngine::start_elements() {
  for (Element* const element : local()) {
    element->is_due = true;
    (void)element->mailbox.begin();  // none is busy
  }
  for (Element* const element : local()) {
    element->waits.store(1, std::memory_order_relaxed);  // published by the queue
    element->weight_ns = element->cost_ns;
    run_->submit(*element);
  }
}

/// From here on what comes is handled, after what has come already.
void CollectionEngine::open_for_messages() {
  {
    const std::lock_guard lock{early_lock_};
    for (const Bytes& message : std::exchange(early_, {})) {
      Head head;
      std::memcpy(&head, message.data(), sizeof head);
      handle(head, std::span{message}.subspan(sizeof head));
      handled_.fetch_add(1, std::memory_order_release);  // with counts()
    }
    open_phase_ = phase_;
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
  {
    const std::lock_guard lock{early_lock_};
    open_phase_ = 0;
  }
  take_out_erased();
  for (const auto& [to, mail] : std::exchange(unknown_, {})) {
    lose(mail->from, to);
    mail->kind->drop(mail);
  }
  has_failed_ = false;
}

void CollectionEngine::take_out_erased() {
  for (Element* const element : std::exchange(erased_, {})) {
    table_.erase(element->id.value());
    kind_.destroy(element);
    is_order_old_ = true;
  }
}

PhaseReport CollectionEngine::report(nanoseconds start) {
  PhaseReport report{.took = recorder_.now() - start,
                     .forwarded = forwarded_.load(std::memory_order_relaxed),  // all have ended
                     .lost_count = lost_count_,
                     .lost = std::move(lost_)};
  for (const WorkerState& worker : workers_) {
    report.turns += worker.turns;
    report.messages += worker.messages;
    report.messages_sent += worker.messages_sent;
    report.bytes_sent += worker.bytes_sent;
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

// ---- turns ----

void CollectionEngine::run(Element& element, WorkerId worker) {
  WorkerState& state = workers_[worker.value()];
  const nanoseconds start = recorder_.now();
  Turn turn{*this, element, worker};
  const auto fail = [&](std::string_view what) {
    return Error{ErrorCode::user_task,
                 fmt::format("element {} of '{}' on rank {} threw in phase '{}'{}",
                             element.id.value(),
                             options_.name,
                             self_.value(),
                             label_.name,
                             what)};
  };
  Mail* mail = nullptr;
  try {
    if (std::exchange(element.is_due, false) && work_.call != nullptr) {
      work_.call(work_.function, element.value, turn);
      ++state.turns;
    }
    mail = element.mailbox.take_all();
    while (mail != nullptr) {
      if (element.is_erased) {
        lose(mail->from, element.id);
      } else {
        mail->kind->call(*mail, element.value, turn);
        ++state.messages;
      }
      Mail* const gone = std::exchange(mail, mail->next);
      gone->kind->drop(gone);
    }
  } catch (...) {
    while (mail != nullptr) {
      Mail* const gone = std::exchange(mail, mail->next);
      gone->kind->drop(gone);
    }
    element.busy += recorder_.now() - start;
    try {
      throw;
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw fail(fmt::format(": {}", error.what()));
    } catch (...) {
      throw fail(" something that is no exception");
    }
  }
  element.busy += recorder_.now() - start;
}

/// The worker has left the element: those that its turn has woken may run, and it again if mail has come meanwhile.
void CollectionEngine::ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept {
  auto& element = static_cast<Element&>(node);
  if (std::exchange(element.is_waking, false)) {
    sink.again(element);
    return;
  }
  for (Element* woken = std::exchange(element.first_woken, nullptr); woken != nullptr;) {
    Element* const next = std::exchange(woken->next_woken, nullptr);
    sink.again(*woken);
    woken = next;
  }
  if (!element.mailbox.end()) {  // after which it may be another worker's
    sink.again(element);
  }
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
