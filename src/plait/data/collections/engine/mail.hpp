// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/data/collections/element.hpp"

namespace plait::data {
class ElementContext;
}

namespace plait::data::detail {

struct Mail;

/// Calls a method of `object` with the arguments in `packed`.
using PackedCall = void (*)(std::span<const std::byte> packed, void* object, ElementContext& context);

/// The operations on a message to an element, for any method and arguments.
struct MailKind {
  void (*call)(Mail& mail, void* object, ElementContext& context);
  void (*drop)(Mail* mail) noexcept;
  /// Appends the arguments to `to`; returns the function that unpacks them there and calls the method.
  PackedCall (*pack)(const Mail& mail, Bytes& to);
};

/// The step number of messages that are no input of a step.
inline constexpr std::uint64_t no_step = static_cast<std::uint64_t>(-1);

/// A message to an element, on the rank where the element is, or while its place is unknown.
struct Mail {
  const MailKind* kind;
  ElementId from;
  std::uint64_t step = no_step;
  Mail* next = nullptr;
  std::uint64_t sent_by = 0;  ///< Task, as in `trace::ListedTask`; 0: none, or not recorded.
};

/// The messages of one element, from any thread to the worker that executes it.
///
/// It also records whether the element is idle. The thread that puts the first message into an idle one starts its
/// task.
class Mailbox {
 public:
  Mailbox() noexcept : first_{idle()} {}
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;
  ~Mailbox() { drop_all(); }

  /// Adds a message. Returns true when the element was idle: the caller starts its task.
  [[nodiscard]] bool put(Mail& mail) noexcept {
    Mail* first = first_.load(std::memory_order_relaxed);
    do {
      mail.next = first == idle() ? nullptr : first;
    } while (!first_.compare_exchange_weak(first, &mail, std::memory_order_acq_rel, std::memory_order_relaxed));
    return first == idle();
  }
  /// Makes an idle element busy. Returns false when it was busy.
  bool begin() noexcept {
    Mail* first = idle();
    return first_.compare_exchange_strong(first, nullptr, std::memory_order_acquire, std::memory_order_relaxed);
  }
  /// Takes all messages, in order of arrival. Only the worker that executes the element calls this, and the next.
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
  /// Makes the element idle. Returns false when there is mail.
  [[nodiscard]] bool end() noexcept {
    Mail* first = nullptr;
    // Releases what the task has written to the thread that puts the next message in.
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
  /// Marks an idle element: no message has this address.
  [[nodiscard]] Mail* idle() noexcept { return reinterpret_cast<Mail*>(this); }

  std::atomic<Mail*> first_;
};

}  // namespace plait::data::detail
