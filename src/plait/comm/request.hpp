// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "plait/comm/completion.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

class Endpoint;

namespace detail {
struct Operation;
}  // namespace detail

/// A handle of a send, receive, multicast or collective operation. Copies name the same operation. The operation
/// continues without handles, and its buffer must stay until it is released.
///
/// Its completion is observed by `wait`, `test`, `then`, `co_await` (coroutine.hpp), a `CompletionQueue` or a dependent
/// task. Threads: any; one at a time for each handle.
class [[nodiscard]] Request {
 public:
  Request() = default;
  /// Of an operation that is complete already.
  explicit Request(const Status& status) noexcept { copy(status, status_); }
  /// Takes over one count of `operation`.
  Request(Endpoint& endpoint, detail::Operation& operation) noexcept : endpoint_{&endpoint}, operation_{&operation} {}
  Request(const Request& other) noexcept;
  Request(Request&& other) noexcept : endpoint_{other.endpoint_}, operation_{std::exchange(other.operation_, nullptr)} {
    copy(other.status_, status_);
  }
  Request& operator=(const Request& other) noexcept { return *this = Request{other}; }
  Request& operator=(Request&& other) noexcept {
    std::swap(endpoint_, other.endpoint_);
    std::swap(operation_, other.operation_);
    copy(other.status_, status_);
    return *this;
  }
  ~Request();

  /// Whether the data may be read (receive) or the buffer reused (send). Makes no progress.
  [[nodiscard]] bool is_complete() const noexcept;
  /// Whether the buffer of a receive may also be written: no multicast is forwarded from it any more.
  [[nodiscard]] bool is_released() const noexcept;

  /// Makes progress once; true when complete.
  [[nodiscard]] bool test();

  /// Waits until complete: makes progress, or sleeps while another thread does. Not from a handler.
  ///
  /// Throws: `Error` when the message was truncated, the network failed or the run was stopped.
  Status wait();
  /// As `wait`, until released.
  Status wait_released();

  /// Returns the result without waiting; throws as `wait`. Expects: complete.
  [[nodiscard]] Status status() const;
  /// As `status`, but returns an error in it instead of throwing.
  [[nodiscard]] const Status& result() const noexcept;

  /// Calls `callback` with the status when the operation completes, or now. The rules of `Completion::completed` hold.
  /// An exception in a later call stops the run. Cost: an allocation, except for the first of an operation.
  void then(std::function<void(const Status&)> callback);
  /// As `then`, but returns false and does nothing when the operation is complete.
  [[nodiscard]] bool then_unless_complete(std::function<void(const Status&)>&& callback);
  /// Has `completion` notified when the operation completes, but not of its release: it may end in `completed`.
  /// Borrowed until then. Returns false and does nothing when the operation is complete.
  [[nodiscard]] bool notify_unless_complete(Completion& completion);

  /// Cancels a receive that is not matched. False when it is matched, and will complete.
  bool cancel();

 private:
  friend class Endpoint;

  /// Copies each field in a register of its own. The request of a message that has just been sent is moved to where the
  /// program keeps it: a wider load than the stores before it would wait until these have left the core, behind the
  /// message itself (that took 45 of 115 ns).
  static void copy(const Status& from, Status& to) noexcept {
    to.source = Rank{in_register(from.source.value())};
    to.tag = Tag{in_register(from.tag.value())};
    to.bytes = in_register(from.bytes);
    to.sequence = in_register(from.sequence);
    if (from.error) [[unlikely]] {
      to.error = from.error;
    } else {
      to.error.reset();
    }
  }
  template <class Value>
  [[nodiscard]] static Value in_register(Value value) noexcept {
    asm("" : "+r"(value));  // NOLINT(hicpp-no-assembler): no instruction; keeps the compiler from joining loads
    return value;
  }

  Endpoint* endpoint_ = nullptr;
  detail::Operation* operation_ = nullptr;
  Status status_;  ///< The result when there is no operation.
};

}  // namespace plait::comm
