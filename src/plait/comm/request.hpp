// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>

#include "plait/comm/status.hpp"

namespace plait::comm {

class Endpoint;

namespace detail {
struct Operation;
void acquire(Operation& operation) noexcept;
void release(Operation* operation) noexcept;
}  // namespace detail

/// A send, receive, multicast or collective operation under way. A handle: copies name the same operation, and
/// dropping all of them abandons nothing: the operation goes on, and its buffer must stay until it is released.
///
/// Ways to learn of the end: `wait`, `test`, `then`, `co_await` (coroutine.hpp), a `CompletionQueue`, a task's
/// dependency; all through one interface, `Completion`. Threads: any; one handle by one thread at a time.
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
  /// True when, besides, a receive's buffer may be written again: it is not passed on to others any more (multicast).
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

  /// What came of it, without waiting; throws as `wait`. Expects: complete.
  [[nodiscard]] Status status() const;

  /// Has `callback` called once with the status when the operation completes, or at once when it is complete.
  /// At most once an operation. The same rules as for `Completion::completed`.
  void then(std::function<void(const Status&)> callback);
  /// As `then`, but does nothing and answers false when the operation is complete already.
  [[nodiscard]] bool then_unless_complete(std::function<void(const Status&)> callback);

  /// Takes a receive back that has not been matched. False when it is too late: it will complete.
  bool cancel();

 private:
  friend class Endpoint;

  Endpoint* endpoint_ = nullptr;
  detail::Operation* operation_ = nullptr;  ///< Nothing when it was complete at once: then
  Status status_;                           ///< this tells.
};

}  // namespace plait::comm
