// SPDX-License-Identifier: Apache-2.0
// What an element does when a worker has it: its steps, and the messages that have come.
#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "plait/data/detail/collection_engine.hpp"
#include "plait/data/turn.hpp"

namespace plait::data::detail {

namespace {

/// Mail that was taken out of a box; what is left when an element throws is dropped.
struct TakenMail {
  explicit TakenMail(Mail* its_first) noexcept : first{its_first} {}
  TakenMail(const TakenMail&) = delete;
  TakenMail& operator=(const TakenMail&) = delete;
  TakenMail(TakenMail&&) = delete;
  TakenMail& operator=(TakenMail&&) = delete;
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

/// What a bunch shall take: long beside a task's own cost, short beside a poll gap or the end of a phase.
constexpr nanoseconds bunch_aim = std::chrono::microseconds{10};
/// When it has taken so long, what is left of it goes to whoever has time.
constexpr nanoseconds bunch_max = 3 * bunch_aim;
constexpr float smoothing = 0.25F;

void learn(float& mean_ns, nanoseconds took) noexcept {
  const auto cost = std::max(1.0F, static_cast<float>(took.count()));
  mean_ns = mean_ns == 0 ? cost : mean_ns + smoothing * (cost - mean_ns);
}

}  // namespace

void CollectionEngine::count_step(Element& element, WorkerState& state) const noexcept {
  ++state.turns;
  state.through += ++element.next_step == work_.steps ? 1U : 0U;
}

/// Makes tasks of elements, which have something to do and are nobody's: those that are known to be short together, any
/// other alone, and each alone when tasks are recorded.
class CollectionEngine::Bunches {
 public:
  Bunches(const CollectionEngine& engine, float Element::* cost) noexcept
      : cost_{cost}, short_ns_{engine.recorder_.is_on() ? 0 : task::detail::short_ns} {}

  /// Calls `start(Element&)` with the first of a bunch, if that is full now, or with an element alone.
  template <class Start>
  void add(Element& element, Start start) {
    const float cost = element.*cost_;
    if (cost == 0 || cost >= short_ns_) {
      element.cost_ns = element.weight_ns = cost;
      start(element);
      return;
    }
    (first_ == nullptr ? first_ : last_->next_in_bunch) = &element;
    last_ = &element;
    sum_ns_ += cost;
    if (sum_ns_ >= static_cast<float>(bunch_aim.count())) {
      end(start);
    }
  }
  template <class Start>
  void end(Start start) {
    if (first_ != nullptr) {
      first_->cost_ns = std::exchange(sum_ns_, 0.0F);
      first_->weight_ns = task::detail::short_ns;  // after all that are long, in the order in which they came
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

/// All elements of this rank have something to do.
void CollectionEngine::begin_turns() {
  const auto submit = [this](Element& element) {
    element.waits.store(1, std::memory_order_relaxed);  // published by the queue
    run_->submit(element);
  };
  started_ = local().size();
  Bunches bunches{*this, &Element::turn_ns};
  for (Element* const element : local()) {
    if (element->mailbox.begin()) {  // else a message has come from one that runs already
      bunches.add(*element, submit);
    }
  }
  bunches.end(submit);
}

/// A bunch, to which the task of its first element belongs.
void CollectionEngine::run(Element& first, WorkerId worker) {
  WorkerState& state = workers_[worker.value()];
  const nanoseconds start = recorder_.now();
  nanoseconds now = start;
  Element* next = &first;
  do {
    Element& element = *next;
    next = std::exchange(element.next_in_bunch, nullptr);
    Turn turn{*this, element, worker};
    const std::uint64_t turns_before = state.turns;
    try {
      take_turn(element, turn, state);
    } catch (...) {
      throw_as_error(element);
    }
    const nanoseconds took = recorder_.now() - now;
    now += took;
    element.busy += took;
    learn(state.turns > turns_before ? element.turn_ns : element.mail_ns, took);
    if (&element != &first) {
      leave(element, state);
    }
  } while (next != nullptr && now - start < bunch_max);
  state.rest = next;
  state.has_run = true;
  state.in_turns += now - start;
}

void CollectionEngine::take_turn(Element& element, Turn& turn, WorkerState& state) {
  if (element.phase != static_cast<std::uint32_t>(phase_)) {
    element.phase = static_cast<std::uint32_t>(phase_);
    element.next_step = 0;
    element.needed = Element::not_asked;
  }
  const bool was_erased = element.is_erased;
  if (work_.inputs == nullptr && element.next_step < work_.steps && !was_erased) {
    work_.call(work_.function, element.value, turn, element.next_step);
    count_step(element, state);
  }
  take_mail(element, turn, state);
  if (work_.inputs != nullptr && !element.is_erased) {
    take_step(element, turn, state);
  }
  if (element.is_erased && !was_erased) {
    state.through += element.next_step < work_.steps ? 1U : 0U;
    element.next_step = work_.steps;
    for (Mail* const input : std::exchange(element.inputs, {})) {
      lose(input->from, element.id);
      input->kind->drop(input);
    }
    {
      const std::lock_guard lock{news_lock_};
      erased_.push_back(&element);
    }
    if (const Rank at_home = home(element.id); at_home != self_) {
      post(at_home, {.kind = MessageKind::erased, .to = element.id.value()}, {});
    }
  }
}

void CollectionEngine::take_mail(Element& element, Turn& turn, WorkerState& state) {
  TakenMail mail{element.mailbox.take_all()};
  while (mail.first != nullptr) {
    if (element.is_erased) {
      lose(mail.first->from, element.id);
    } else if (mail.first->step == no_step || work_.inputs == nullptr) {
      mail.first->kind->call(*mail.first, element.value, turn);
      ++state.messages;
    } else {
      throw_unless_expected(element, *mail.first);
      element.inputs.push_back(mail.take_first());
      continue;
    }
    mail.drop_first();
  }
}

/// Of an input that has come.
void CollectionEngine::throw_unless_expected(const Element& element, const Mail& input) const {
  if (input.step >= element.next_step && input.step < work_.steps) {
    return;
  }
  throw Error{
      ErrorCode::user_task,
      fmt::format("element {} of '{}' has got an input of step {} from element {} {}",
                  element.id.value(),
                  options_.name,
                  input.step,
                  input.from.value(),
                  input.step < work_.steps
                      ? std::string{"after that step: does inputs() count all that are sent?"}
                      : fmt::format("in {} steps, which are counted from 0: send none in the last", work_.steps))};
}

/// The next step, if all its inputs are there.
void CollectionEngine::take_step(Element& element, Turn& turn, WorkerState& state) {
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
    throw Error{ErrorCode::user_task,
                fmt::format("element {} of '{}' has got {} inputs of step {}, and inputs() says {}: it must count all "
                            "that are sent",
                            element.id.value(),
                            options_.name,
                            come,
                            step,
                            element.needed)};
  }
  // Of one sender in their order; the same order in every run.
  std::ranges::stable_sort(element.inputs, {}, [](const Mail* input) { return std::pair{input->step, input->from}; });
  for (std::uint64_t i = 0; i < come; ++i) {
    Mail& input = *element.inputs[i];
    input.kind->call(input, element.value, turn);
    ++state.messages;
  }
  for (std::uint64_t i = 0; i < come; ++i) {
    element.inputs[i]->kind->drop(element.inputs[i]);
  }
  element.inputs.erase(element.inputs.begin(), element.inputs.begin() + static_cast<std::ptrdiff_t>(come));
  work_.call(work_.function, element.value, turn, step);
  count_step(element, state);
  element.needed = Element::not_asked;
  element.has_more = element.next_step < work_.steps;
}

/// With an exception at hand: throws it, as an `Error` that names the element.
void CollectionEngine::throw_as_error(const Element& element) const {
  const auto user_error = [&](std::string_view what) {
    return Error{ErrorCode::user_task,
                 fmt::format("element {} of '{}' on rank {} threw in phase '{}'{}",
                             element.id.value(),
                             options_.name,
                             self_.value(),
                             label_.name,
                             what)};
  };
  try {
    throw;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_input) {  // a message that does not unpack
      throw Error{ErrorCode::bad_input, user_error(fmt::format(": {}", error.what())).what()};
    }
    throw;
  } catch (const std::exception& error) {
    throw user_error(fmt::format(": {}", error.what()));
  } catch (...) {
    throw user_error(" something that is no exception");
  }
}

/// The worker has left the element, which runs once more if there is more for it to do.
void CollectionEngine::leave(Element& element, WorkerState& state) noexcept {
  if (element.has_more || !element.mailbox.end()) {  // after which it may be another worker's
    wake(element, state);
  }
}

void CollectionEngine::wake(Element& element, WorkerState& state) noexcept {
  (state.first_woken == nullptr ? state.first_woken : state.last_woken->next_in_bunch) = &element;
  state.last_woken = &element;
}

/// A task has ended: whom it has woken may run, and what it has not come to.
void CollectionEngine::ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept {
  auto& first = static_cast<Element&>(node);
  const auto again = [&sink](Element& element) { sink.again(element); };
  if (std::exchange(first.is_waking, false)) {
    again(first);
    return;
  }
  WorkerState& state = workers_[first.last_worker.value()];
  leave(first, state);
  for (Element* next = std::exchange(state.rest, nullptr); next != nullptr;) {
    again(*std::exchange(next, std::exchange(next->next_in_bunch, nullptr)));  // each alone: any may be the long one
  }
  Bunches bunches{*this, work_.inputs == nullptr ? &Element::mail_ns : &Element::turn_ns};
  for (Element* next = std::exchange(state.first_woken, nullptr); next != nullptr;) {
    bunches.add(*std::exchange(next, std::exchange(next->next_in_bunch, nullptr)), again);
  }
  bunches.end(again);
}

}  // namespace plait::data::detail
