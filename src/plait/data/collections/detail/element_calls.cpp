// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/element_calls.hpp"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "plait/data/collections/element_context.hpp"
#include "plait/data/collections/engine/mailroom.hpp"
#include "plait/task/run/detail/failure.hpp"
#include "plait/task/task_context.hpp"

namespace plait::data::detail {

namespace {

/// Messages that were taken out of a mailbox. The rest is dropped when an element throws.
struct TakenMail {
  explicit TakenMail(Mail* its_first) noexcept : first{its_first} {}
  TakenMail(const TakenMail&) = delete;
  TakenMail& operator=(const TakenMail&) = delete;
  ~TakenMail() {
    while (first != nullptr) {
      drop_first();
    }
  }
  Mail* take_first() noexcept { return std::exchange(first, first->next); }
  void drop_first() noexcept {
    Mail* const gone = take_first();
    gone->kind->drop(gone);
  }

  Mail* first;
};

/// The time of a batch: long beside a task's own cost, short beside a polling gap or the end of a phase.
constexpr nanoseconds batch_aim = std::chrono::microseconds{10};
/// When a batch has taken so long, the rest of it goes to any worker.
constexpr nanoseconds batch_max = 3 * batch_aim;
constexpr float smoothing = 0.25F;
constexpr std::size_t described_max = 20;

void learn(float& mean_ns, nanoseconds took) noexcept {
  const auto cost = std::max(1.0F, static_cast<float>(took.count()));
  mean_ns = mean_ns == 0 ? cost : mean_ns + smoothing * (cost - mean_ns);
}

}  // namespace

ElementCalls::ElementCalls(const EngineParts& parts)
    : parts_{parts},
      info_{parts.info},
      workers_(parts.info.scheduler.worker_count()),
      trace_{parts.info.recorder.thread(WorkerId{}, fmt::format("order of {}", parts.info.name))} {}

void ElementCalls::adopt(ElementId id, Element& element) {
  element.id = id;
  element.object = id.value();
  element.ending = this;
  element.label = &parts_.phase.label();
  element.body = [this, &element](task::TaskContext& context) { execute(element, context.worker()); };
}

void ElementCalls::adopt_in_phase(ElementId id, Element& element) {
  adopt(id, element);
  element.phase = static_cast<std::uint32_t>(parts_.phase.number());
  element.next_step = work_.steps;
}

/// Makes tasks of idle elements that have something to do: batches of short ones, any other alone, and each alone when
/// tasks are recorded.
class ElementCalls::Batches {
 public:
  Batches(const CollectionInfo& info, float Element::* cost) noexcept
      : cost_{cost}, short_ns_{info.recorder.is_on() ? 0 : task::detail::short_ns} {}

  /// Calls `start(Element&)` with the first of a batch, if that is full now, or with an element alone.
  template <class Start>
  void add(Element& element, Start start) {
    const float cost = element.*cost_;
    if (cost == 0 || cost >= short_ns_) {
      element.cost_ns = cost;
      element.weight_ns = std::max(cost, task::detail::short_ns);  // no other run's short tasks go first for ever
      start(element);
      return;
    }
    (first_ == nullptr ? first_ : last_->next_in_batch) = &element;
    last_ = &element;
    sum_ns_ += cost;
    if (sum_ns_ >= static_cast<float>(batch_aim.count())) {
      end(start);
    }
  }
  template <class Start>
  void end(Start start) {
    if (first_ != nullptr) {
      first_->cost_ns = std::exchange(sum_ns_, 0.0F);
      first_->weight_ns = task::detail::short_ns;  // after all long ones, in the order in which they came
      start(*std::exchange(first_, nullptr));
    }
  }

 private:
  float Element::* const cost_;
  const float short_ns_;
  Element* first_ = nullptr;
  Element* last_ = nullptr;
  float sum_ns_ = 0;
};

void ElementCalls::begin(PhaseWork work, PhaseGate* gate, std::span<Element* const> elements) {
  work_ = std::move(work);
  gate_ = work_.steps > 0 ? gate : nullptr;
  begun_ = elements.size();
  for (WorkerState& worker : workers_) {
    worker.steps = worker.messages = worker.through = 0;
  }
  if (gate_ == nullptr) {
    submit_all(elements);
  } else {
    submit_through_gate(elements);
  }
}

void ElementCalls::submit_all(std::span<Element* const> elements) {
  const auto submit = [this](Element& element) {
    element.waits.store(1, std::memory_order_relaxed);  // published by the queue
    parts_.phase.run()->submit(element);
  };
  Batches batches{info_, &Element::step_ns};
  for (Element* const element : elements) {
    if (element->mailbox.begin()) {  // else an element that runs already has sent a message, which starts it
      batches.add(*element, submit);
    }
  }
  batches.end(submit);
}

/// Elements that must wait are marked as busy before the first one starts, so that no message can start them.
void ElementCalls::submit_through_gate(std::span<Element* const> elements) {
  task::OpenRun& run = *parts_.phase.run();
  std::vector<Element*> open;
  std::vector<Element*> held;
  for (Element* const element : elements) {
    const bool is_open = gate_->is_open(element->id);
    (is_open ? open : held).push_back(element);
    if (!is_open) {
      const bool was_idle = element->mailbox.begin();
      expect(was_idle, "no element runs before its phase");
      element->is_waking = true;
      run.expect_end(*element);
    }
  }
  submit_all(open);
  for (Element* const element : held) {
    const auto start = [&run, element] {
      if (!run.has_failed()) {
        run.has_ended(*element);
      }
    };
    if (gate_->enter(element->id, start)) {
      start();
    }
  }
}

/// Executes a batch, whose task is its first element.
void ElementCalls::execute(Element& first, WorkerId worker) {
  WorkerState& state = workers_[worker.value()];
  const nanoseconds start = info_.recorder.now();
  nanoseconds now = start;
  Element* next = &first;
  do {
    Element& element = *next;
    next = std::exchange(element.next_in_batch, nullptr);
    ElementContext context{parts_.mail, element, worker};
    if (trace_.is_on()) {
      state.recorded_as = parts_.phase.run()->id_of(element);  // each is alone in its task
      state.earlier.clear();
    }
    const std::uint64_t steps_before = state.steps;
    try {
      call(element, context, state);
    } catch (...) {
      throw_as_error(element);
    }
    const nanoseconds took = info_.recorder.now() - now;
    now += took;
    element.busy += took;
    learn(state.steps > steps_before ? element.step_ns : element.mail_ns, took);
    if (trace_.is_on()) {
      record_order(element, state);
    }
    if (&element != &first) {
      let_go(element, state);
    }
  } while (next != nullptr && now - start < batch_max);
  state.rest = next;
  state.last_call_end = now;
}

/// Writes what the execution of an element came after: its last one, and the senders of its messages.
void ElementCalls::record_order(Element& element, WorkerState& state) {
  const std::uint64_t before = std::exchange(element.recorded_as, state.recorded_as);
  if (before != 0 && before != state.recorded_as) {
    state.earlier.push_back(before);
  }
  if (!state.earlier.empty()) {
    const std::lock_guard lock{trace_lock_};
    trace_.task_order({.id = state.recorded_as, .time = info_.recorder.now(), .earlier = state.earlier});
  }
}

void ElementCalls::call(Element& element, ElementContext& context, WorkerState& state) {
  if (const auto phase = static_cast<std::uint32_t>(parts_.phase.number()); element.phase != phase) {
    element.phase = phase;
    element.next_step = 0;
    element.needed = Element::not_asked;
    element.recorded_as = 0;  // the program orders phases
  }
  const bool was_erased = element.is_erased;
  const bool has_step = work_.inputs == nullptr && element.next_step < work_.steps && !was_erased;
  if (has_step) {
    work_.call(work_.function, element.value, context, element.next_step);
    count_step(element, state);
  }
  take_mail(element, context, state, !has_step);
  if (work_.inputs != nullptr && !element.is_erased) {
    take_step(element, context, state);
  }
  if (element.is_erased && !was_erased) {
    end_erased(element, state);
  }
}

void ElementCalls::count_step(Element& element, WorkerState& state) {
  ++state.steps;
  if (++element.next_step == work_.steps) {
    ++state.through;
    if (gate_ != nullptr) {
      gate_->leave(element.id);
    }
  }
}

void ElementCalls::end_erased(Element& element, WorkerState& state) {
  if (std::exchange(element.next_step, work_.steps) < work_.steps) {
    ++state.through;
    if (gate_ != nullptr) {
      gate_->leave(element.id);
    }
  }
  for (Mail* const input : std::exchange(element.inputs, {})) {
    parts_.news.lose(input->from, element.id);
    input->kind->drop(input);
  }
  parts_.news.erased_here(element);
  if (const Rank at_home = parts_.places.home(element.id); at_home != info_.self) {
    parts_.links.post(at_home, {.kind = MessageKind::erased, .to = element.id.value()});
  }
}

void ElementCalls::take_mail(Element& element, ElementContext& context, WorkerState& state, bool needs_mail) {
  TakenMail mail{element.mailbox.take_all()};
  while (mail.first != nullptr) {
    if (mail.first->sent_by != 0 && needs_mail) {
      state.earlier.push_back(mail.first->sent_by);
    }
    if (element.is_erased) {
      parts_.news.lose(mail.first->from, element.id);
    } else if (mail.first->step == no_step || work_.inputs == nullptr) {
      mail.first->kind->call(*mail.first, element.value, context);
      ++state.messages;
    } else {
      throw_unless_expected(element, *mail.first);
      element.inputs.push_back(mail.take_first());
      continue;
    }
    mail.drop_first();
  }
}

void ElementCalls::throw_unless_expected(const Element& element, const Mail& input) const {
  if (input.step >= element.next_step && input.step < work_.steps) {
    return;
  }
  throw Error{
      ErrorCode::user_task,
      fmt::format("element {} of '{}' has got an input of step {} from element {} {}",
                  element.id.value(),
                  info_.name,
                  input.step,
                  input.from.value(),
                  input.step < work_.steps
                      ? std::string{"after that step: does inputs() count all that are sent?"}
                      : fmt::format("in {} steps, which are counted from 0: send none in the last", work_.steps))};
}

/// Executes the next step if all its inputs have come.
void ElementCalls::take_step(Element& element, ElementContext& context, WorkerState& state) {
  element.has_more = false;
  if (element.next_step >= work_.steps) {
    return;
  }
  const std::uint64_t step = element.next_step;
  if (element.needed == Element::not_asked) {
    element.needed = work_.inputs(work_.inputs_function, element.value, step);
  }
  const auto come = static_cast<std::uint64_t>(std::ranges::count(element.inputs, step, &Mail::step));
  if (come < element.needed) {
    return;
  }
  if (come > element.needed) {
    throw Error{
        ErrorCode::user_task,
        fmt::format("element {} of '{}' has got {} inputs of step {}, and inputs() returned {}: it must count all "
                    "that are sent",
                    element.id.value(),
                    info_.name,
                    come,
                    step,
                    element.needed)};
  }
  // In the order of each sender; the same order in every run.
  std::ranges::stable_sort(element.inputs, {}, [](const Mail* input) { return std::pair{input->step, input->from}; });
  for (std::uint64_t i = 0; i < come; ++i) {
    Mail& input = *element.inputs[i];
    input.kind->call(input, element.value, context);
    ++state.messages;
  }
  for (std::uint64_t i = 0; i < come; ++i) {
    element.inputs[i]->kind->drop(element.inputs[i]);
  }
  element.inputs.erase(element.inputs.begin(), element.inputs.begin() + static_cast<std::ptrdiff_t>(come));
  work_.call(work_.function, element.value, context, step);
  count_step(element, state);
  element.needed = Element::not_asked;
  element.has_more = element.next_step < work_.steps;
}

/// Inside a catch block: throws the exception as an `Error` that names the element.
void ElementCalls::throw_as_error(const Element& element) const {
  const std::string culprit = fmt::format("element {} of '{}' on rank {} threw in phase '{}'",
                                          element.id.value(),
                                          info_.name,
                                          info_.self.value(),
                                          parts_.phase.label().name);
  const Error error = task::detail::current_error(culprit);
  if (error.code() == ErrorCode::bad_input) {  // a message that does not unpack
    throw Error{ErrorCode::bad_input, fmt::format("{}: {}", culprit, error.what())};
  }
  throw Error{error};
}

/// The worker is done with the element, which runs once more if there is more for it to do.
void ElementCalls::let_go(Element& element, WorkerState& state) noexcept {
  if (element.has_more || !element.mailbox.end()) {  // after which another worker may execute it
    note_woken(element, state);
  }
}

void ElementCalls::note_woken(Element& element, WorkerState& state) noexcept {
  (state.first_woken == nullptr ? state.first_woken : state.last_woken->next_in_batch) = &element;
  state.last_woken = &element;
}

void ElementCalls::wake(Element& element, WorkerId worker) noexcept {
  if (worker) {
    note_woken(element, workers_[worker.value()]);
    return;
  }
  task::OpenRun* const run = parts_.phase.run();
  if (run != nullptr && !run->has_failed()) {
    element.is_waking = true;
    run->expect_end(element);
    run->has_ended(element);
  }
}

/// A task has ended: elements that it has woken may run, and the rest of its batch.
void ElementCalls::ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept {
  auto& first = static_cast<Element&>(node);
  const auto again = [&sink](Element& element) { sink.again(element); };
  if (std::exchange(first.is_waking, false)) {
    again(first);
    return;
  }
  WorkerState& state = workers_[first.last_worker.value()];
  let_go(first, state);
  for (Element* next = std::exchange(state.rest, nullptr); next != nullptr;) {
    again(*std::exchange(next, std::exchange(next->next_in_batch, nullptr)));  // each alone: any may be the long one
  }
  Batches batches{info_, work_.inputs == nullptr ? &Element::mail_ns : &Element::step_ns};
  for (Element* next = std::exchange(state.first_woken, nullptr); next != nullptr;) {
    batches.add(*std::exchange(next, std::exchange(next->next_in_batch, nullptr)), again);
  }
  batches.end(again);
  state.overhead += info_.recorder.now() - state.last_call_end;
}

// ---- after a phase ----

std::optional<Error> ElementCalls::unfinished(std::span<Element* const> elements) const {
  std::uint64_t through = 0;
  for (const WorkerState& worker : workers_) {
    through += worker.through;
  }
  if (through == begun_ || work_.steps == 0) {
    return {};
  }
  std::string text;
  std::size_t count = 0;
  for (const Element* const element : elements) {
    if (element->next_step < work_.steps && ++count <= described_max) {
      text += fmt::format("{}element {} in step {} ({} of {} have come)",
                          count > 1 ? ", " : "",
                          element->id.value(),
                          element->next_step,
                          std::ranges::count(element->inputs, element->next_step, &Mail::step),
                          element->needed);
    }
  }
  return Error{ErrorCode::user_task,
               fmt::format("phase '{}' of '{}' cannot end: {} elements on rank {} wait for inputs that were not "
                           "sent: {}{}; does each step send as many as inputs() returns?",
                           parts_.phase.label().name,
                           info_.name,
                           count,
                           info_.self.value(),
                           text,
                           count > described_max ? ", ..." : "")};
}

void ElementCalls::report(PhaseReport& report) {
  for (const WorkerState& worker : workers_) {
    report.steps += worker.steps;
    report.messages += worker.messages;
  }
  work_.keeps.reset();
}

nanoseconds ElementCalls::overhead() const noexcept {
  nanoseconds sum{};
  for (const WorkerState& worker : workers_) {
    sum += worker.overhead;
  }
  return sum;
}

void ElementCalls::reset_overhead() noexcept {
  for (WorkerState& worker : workers_) {
    worker.overhead = {};
  }
}

}  // namespace plait::data::detail
