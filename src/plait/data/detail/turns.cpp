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

}  // namespace

void CollectionEngine::run(Element& element, WorkerId worker) {
  WorkerState& state = workers_[worker.value()];
  const nanoseconds start = recorder_.now();
  Turn turn{*this, element, worker};
  try {
    take_turn(element, turn, state);
  } catch (...) {
    throw_as_error(element);
  }
  const nanoseconds took = recorder_.now() - start;
  element.busy += took;
  state.in_turns += took;
}

void CollectionEngine::take_turn(Element& element, Turn& turn, WorkerState& state) {
  const bool was_erased = element.is_erased;
  if (work_.inputs == nullptr && element.next_step < work_.steps && !was_erased) {
    work_.call(work_.function, element.value, turn, element.next_step);
    ++element.next_step;
    ++state.turns;
  }
  take_mail(element, turn, state);
  if (work_.inputs != nullptr && !element.is_erased) {
    take_step(element, turn, state);
  }
  if (element.is_erased && !was_erased) {
    element.next_step = work_.steps;
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
      if (mail.first->step < element.next_step) {
        throw Error{ErrorCode::user_task,
                    fmt::format("element {} of '{}' has got an input of step {} from element {} after that step: "
                                "does inputs() count all that are sent?",
                                element.id.value(),
                                options_.name,
                                mail.first->step,
                                mail.first->from.value())};
      }
      element.inputs.push_back(mail.take_first());
      continue;
    }
    mail.drop_first();
  }
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
  ++state.turns;
  ++element.next_step;
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
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw user_error(fmt::format(": {}", error.what()));
  } catch (...) {
    throw user_error(" something that is no exception");
  }
}

/// The worker has left the element: those that its turn has woken may run, and it again if there is more to do.
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
  if (element.has_more || !element.mailbox.end()) {  // after which it may be another worker's
    sink.again(element);
  }
}

}  // namespace plait::data::detail
