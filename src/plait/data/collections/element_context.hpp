// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "plait/base/id.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/collections/engine/entry_method.hpp"
#include "plait/data/collections/engine/mailroom.hpp"
#include "plait/data/collections/engine/typed_element.hpp"
#include "plait/data/collections/shape.hpp"

namespace plait::data {

/// What an element knows in a step or an entry method: who and where it is, and how to reach other elements.
///
/// Valid during the call that it was given to, on the thread of that call.
class ElementContext {
 public:
  ElementContext(detail::Mailroom& mail, detail::Element& element, WorkerId worker) noexcept
      : mail_{mail}, element_{element}, worker_{worker} {}

  [[nodiscard]] ElementId id() const noexcept { return element_.id; }
  /// Its place in the grid. Expects: an id that the shape has.
  [[nodiscard]] Index index() const { return shape().index(element_.id); }
  [[nodiscard]] const Shape& shape() const noexcept { return mail_.info().shape; }
  /// The rank where the element is.
  [[nodiscard]] Rank self() const noexcept { return mail_.info().self; }
  [[nodiscard]] WorkerId worker() const noexcept { return worker_; }

  /// Calls `(element.*method)(arguments...)`, or `(element.*method)(context, arguments...)` if it takes that, of the
  /// element `to` on any rank: exactly once, before the phase ends. Messages of one element to another are taken in the
  /// order in which they were sent. Arguments are moved, or packed when the element is on another rank.
  ///
  /// Cost: 0.1 us to an element of this rank, some 0.3 us when that one is idle. The element begins to take the message
  /// when this task has ended.
  template <auto method, class... Values>
  void send(ElementId to, Values&&... values) {
    send_mail<method>(to, detail::no_step, std::forward<Values>(values)...);
  }
  /// In `Collection::iterate`: as `send`, an input of step `step` of `to`, taken just before that step. The inputs of a
  /// step are taken in order of their senders' ids.
  template <auto method, class... Values>
  void send_step(ElementId to, std::uint64_t step, Values&&... values) {
    send_mail<method>(to, step, std::forward<Values>(values)...);
  }

  /// Adds an element to the collection, on this rank: it takes messages at once, and has steps from the next phase on.
  /// `T` is the collection's. An id that is in use ends the run. An id beyond the shape is allowed. Messages of this
  /// phase reach it by way of its home, in the order in which they were sent.
  template <class T>
  void create(ElementId id, T element) {
    mail_.create(id, *new detail::TypedElement<T>{std::move(element)}, worker_);
  }
  /// Takes this element out of the collection at the end of its call; messages that come for it then are lost, and
  /// counted as such.
  void erase() noexcept { element_.is_erased = true; }
  /// As above, of another element, when it takes the message that this sends.
  void erase(ElementId id) { mail_.send_erase(id, element_, worker_); }

 private:
  template <auto method, class... Values>
  void send_mail(ElementId to, std::uint64_t step, Values&&... values) {
    using Method = detail::Method<method>;
    typename Method::Arguments arguments{std::forward<Values>(values)...};
    const detail::Route route = mail_.route(to);
    if (route.is_elsewhere()) {
      Bytes& buffer = mail_.buffer(worker_);
      detail::pack_arguments(arguments, buffer);
      detail::Mailroom::note_sent(element_, to, buffer.size() - detail::Mailroom::head_bytes);
      mail_.post(route.rank, {.from = element_.id, .to = to, .step = step, .call = &Method::call_packed}, buffer);
      return;
    }
    detail::Mailroom::note_sent(element_, to, sizeof(typename Method::Arguments));
    mail_.deliver(route, to, *new detail::LocalMail<method>{element_.id, step, std::move(arguments)}, worker_);
  }

  detail::Mailroom& mail_;
  detail::Element& element_;
  WorkerId worker_;
};

}  // namespace plait::data
