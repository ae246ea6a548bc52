// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/clock.hpp"
#include "plait/data/element.hpp"
#include "plait/data/report.hpp"
#include "plait/task/detail/node.hpp"

namespace plait::data {
class Turn;
}

namespace plait::data::detail {

struct Element;
struct Mail;

/// Calls a method of `object` with the arguments in `packed`.
using PackedCall = void (*)(std::span<const std::byte> packed, void* object, Turn& turn);

/// What can be done with a message to an element, whatever its method and arguments.
struct MailKind {
  void (*call)(Mail& mail, void* object, Turn& turn);
  void (*drop)(Mail* mail) noexcept;
  /// Appends the arguments to `to`; returns what takes them there.
  PackedCall (*pack)(const Mail& mail, Bytes& to);
};

/// Of a message that is no input of a step.
inline constexpr std::uint64_t no_step = static_cast<std::uint64_t>(-1);

/// A message to an element, on the rank where that is, or while nobody knows where that is.
struct Mail {
  const MailKind* kind;
  ElementId from;
  std::uint64_t step = no_step;
  Mail* next = nullptr;
};

/// Takes the mail of one element: any thread puts some in, the worker in whose hands the element is takes all out. Also
/// says whether a worker has it: who puts the first mail into an idle one has to see to that.
class Mailbox {
 public:
  Mailbox() noexcept : first_{idle()} {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  Mailbox(Mailbox&&) = delete;
  Mailbox& operator=(Mailbox&&) = delete;
  ~Mailbox() { drop_all(); }

  /// True when the element was idle: it is not any more.
  [[nodiscard]] bool put(Mail& mail) noexcept {
    Mail* first = first_.load(std::memory_order_relaxed);
    do {
      mail.next = first == idle() ? nullptr : first;
    } while (!first_.compare_exchange_weak(first, &mail, std::memory_order_acq_rel, std::memory_order_relaxed));
    return first == idle();
  }
  /// Makes an idle element busy, without mail; false when it was busy.
  bool begin() noexcept {
    Mail* first = idle();
    return first_.compare_exchange_strong(first, nullptr, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// All mail in the order in which it came. Of the worker that has the element, as is the next.
  [[nodiscard]] Mail* take_all() noexcept {
    Mail* newest = first_.load(std::memory_order_relaxed) == nullptr
                       ? nullptr
                       : first_.exchange(nullptr, std::memory_order_acquire);  // with release in put()
    Mail* oldest = nullptr;
    while (newest != nullptr) {
      Mail* const mail = std::exchange(newest, newest->next);
      mail->next = std::exchange(oldest, mail);
    }
    return oldest;
  }
  /// Lets the element be idle; false when there is mail.
  [[nodiscard]] bool end() noexcept {
    Mail* first = nullptr;
    // Releases what the turn has written to whoever puts the next mail in.
    return first_.compare_exchange_strong(first, idle(), std::memory_order_release, std::memory_order_relaxed);
  }
  void drop_all() noexcept {
    Mail* mail = first_.load(std::memory_order_relaxed) == idle() ? nullptr : take_all();
    while (mail != nullptr) {
      Mail* const gone = std::exchange(mail, mail->next);
      gone->kind->drop(gone);
    }
  }

 private:
  /// The mark of an idle element: no mail has this address.
  [[nodiscard]] Mail* idle() noexcept { return reinterpret_cast<Mail*>(this); }

  std::atomic<Mail*> first_;
};

/// An element on the rank where it is: a task that runs whenever there is something for it to do, or a part of one.
///
/// Elements that are known to be short go together, as a bunch: the task of the first runs all of them, one after the
/// other. Each is idle, or another worker's, as soon as it has run; only the first has to wait for the end of the task.
struct Element : task::detail::Node {
  static constexpr std::uint64_t not_asked = static_cast<std::uint64_t>(-1);

  Element() noexcept : Node{task::TaskKind{0}} {}
  Element(const Element&) = delete;
  Element& operator=(const Element&) = delete;
  Element(Element&&) = delete;
  Element& operator=(Element&&) = delete;
  ~Element() {
    for (Mail* const input : inputs) {
      input->kind->drop(input);
    }
  }

  // What every turn touches, in one cache line; of the task that it is, only the first of a bunch is.
  ElementId id;
  void* value = nullptr;
  Mailbox mailbox;
  Element* next_in_bunch = nullptr;  ///< Or in the list of those that will be in one.
  std::uint64_t next_step = 0;       ///< Of `phase`: what it runs next.
  nanoseconds busy{};                ///< Since the last reset.
  std::uint32_t phase = 0;           ///< The last in which it ran.
  float turn_ns = 0;                 ///< Moving average of what its steps have taken; 0: not known.
  float mail_ns = 0;                 ///< The same of messages, when there was no step beside them.
  bool has_more = false;             ///< Its next step may begin.
  bool is_waking = false;            ///< What ends next is the announcement of mail, not a turn.
  bool is_erased = false;

  std::uint64_t needed = not_asked;  ///< Inputs of the next step.
  std::vector<Mail*> inputs;         ///< That have come, of this step and later ones.
  std::vector<PeerBytes> sent;       ///< Since the last reset.
  std::size_t last_sent = 0;         ///< Place in `sent`.
};

/// What is done with elements by those who do not know their type.
struct ElementKind {
  void (*destroy)(Element* element) noexcept;
  Bytes (*pack)(const Element& element);
  Element* (*unpack)(std::span<const std::byte> packed);
};

}  // namespace plait::data::detail
