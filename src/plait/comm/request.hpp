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
void acquire(Operation& operation) noexcept;
void release(Operation* operation) noexcept;
}  // namespace detail

/// A send, receive, multicast or collective operation in flight. A handle: copies name the same operation, and dropping
/// all of them abandons nothing: the operation continues, and its buffer must stay until it is released.
///
/// Ways to learn of its completion: `wait`, `test`, `then`, `co_await` (coroutine.hpp), a `CompletionQueue`, a task's
/// dependency. Threads: any; one handle by one thread at a time.
class [[nodiscard]] Request {
 public:
  Request() = default;
  /// Of an operation that was complete at once.
  explicit Request(const Status& status) noexcept : status_{status} {}
  /// Takes over one count of `operation`.
  Request(Endpoint& endpoint, detail::Operation& operation) noexcept : endpoint_{&endpoint}, operation_{&operation} {}
  Request(const Request& other) noexcept;
  Request(Request&& other) noexcept
      : endpoint_{other.endpoint_}, operation_{std::exchange(other.operation_, nullptr)}, status_{other.status_} {}
  Request& operator=(const Request& other) noexcept { return *this = Request{other}; }
  Request& operator=(Request&& other) noexcept {
    std::swap(endpoint_, other.endpoint_);
    std::swap(operation_, other.operation_);
    status_ = other.status_;
    return *this;
  }
  ~Request();

  /// True when the data may be read (receive) or the buffer reused (send). Makes no progress by itself.
  [[nodiscard]] bool is_complete() const noexcept;
  /// True when, besides, a receive's buffer may be written again: no forward of it is left (multicast).
  [[nodiscard]] bool is_released() const noexcept;

  /// Makes some progress; true when complete.
  [[nodiscard]] bool test();

  /// Waits until complete, making progress, or sleeping while another thread does.
  ///
  /// Throws: `Error` when the message was truncated, the network failed or the run was stopped. Not to be called from a
  /// handler.
  Status wait();
  /// As `wait`, until released.
  Status wait_released();

  /// The result, without waiting; throws as `wait`. Expects: complete.
  [[nodiscard]] Status status() const;
  /// As `status`, but returns an error in it instead of throwing.
  [[nodiscard]] const Status& result() const noexcept;

  /// Calls `callback` once with the status when the operation completes, or now when it is complete. The same rules as
  /// for `Completion::completed` hold. An exception in a later call stops the run. Cost: an allocation for all but the
  /// first of an operation.
  void then(std::function<void(const Status&)> callback);
  /// As `then`, but takes nothing and returns false when the operation is complete already.
  [[nodiscard]] bool then_unless_complete(std::function<void(const Status&)>&& callback);
  /// Has `completion` notified when the operation completes, and of nothing later: it may end in `completed`. Does
  /// nothing and returns false when the operation is complete already. Borrowed until then.
  [[nodiscard]] bool notify_unless_complete(Completion& completion);

  /// Takes a receive back that has not been matched. False when it is too late: it will complete.
  bool cancel();

 private:
  friend class Endpoint;

  Endpoint* endpoint_ = nullptr;
  detail::Operation* operation_ = nullptr;  ///< Null when it was complete at once: then
  Status status_;                           ///< this is its result.
};

}  // namespace plait::comm
