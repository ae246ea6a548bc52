// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/promise.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

class Endpoint;

/// The awaiter of `co_await request`: resumes with the status in the thread that makes progress; throws as
/// `Request::wait`. The coroutine must reach its next `co_await` quickly and not wait otherwise. Cost: no allocation
/// for the first awaiter of an operation.
class RequestAwaiter final : Completion {
 public:
  explicit RequestAwaiter(Request request) noexcept : request_{std::move(request)} {}

  [[nodiscard]] bool await_ready() const noexcept { return request_.is_complete(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> caller) {
    caller_ = caller;
    // Another thread may resume the coroutine, and end this awaiter, before the call returns: nothing is used
    // afterwards.
    return Request{request_}.notify_unless_complete(*this);
  }
  Status await_resume() const { return request_.status(); }

 private:
  void completed(const Status& /*status*/) noexcept override { caller_.resume(); }

  Request request_;
  std::coroutine_handle<> caller_;
};

[[nodiscard]] inline RequestAwaiter operator co_await(Request request) noexcept {
  return RequestAwaiter{std::move(request)};
}

/// An operation written as a coroutine, such as
///     AsyncOperation f(Endpoint& endpoint, ...) { ...; co_await endpoint.send(...); }
///
/// It starts in the caller. Its request is complete when it has returned, with the code of the `Error` that it has
/// thrown, or `user_task` for other exceptions. The first parameter must be the endpoint or have an `endpoint()`, like
/// a `Group`. Reference parameters must live until it is complete.
class AsyncOperation {
 public:
  struct promise_type {
    template <class... Arguments>
    explicit promise_type(Endpoint& endpoint, Arguments&&... /*unused*/) : promise{endpoint} {}
    template <class Owner, class... Arguments>
      requires requires(const Owner& owner) { owner.endpoint(); }
    explicit promise_type(const Owner& owner, Arguments&&... /*unused*/) : promise{owner.endpoint()} {}

    AsyncOperation get_return_object() { return AsyncOperation{promise.request()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }  // the frame ends itself
    void return_void() noexcept { promise.complete({}); }
    void unhandled_exception() noexcept {
      try {
        throw;
      } catch (const Error& error) {
        promise.complete({.source = error.rank(), .error = error.code()});
      } catch (...) {
        promise.complete({.error = ErrorCode::user_task});
      }
    }

    Promise promise;
  };

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  operator Request() && noexcept { return std::move(request_); }  // NOLINT(google-explicit-constructor)

 private:
  explicit AsyncOperation(Request request) noexcept : request_{std::move(request)} {}

  Request request_;
};

}  // namespace plait::comm
