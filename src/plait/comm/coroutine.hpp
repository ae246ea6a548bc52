// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "plait/comm/promise.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm {

class Endpoint;

/// What `co_await request` does: goes on when the operation is complete, with its status, in whichever thread made the
/// progress; throws as `Request::wait` does. Go on quickly, and do not wait otherwise: the thread is lent.
class RequestAwaiter {
 public:
  explicit RequestAwaiter(Request request) noexcept : request_{std::move(request)} {}

  [[nodiscard]] bool await_ready() const noexcept { return request_.is_complete(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> caller) {
    // The other thread may end this awaiter before the call returns: nothing of it is used afterwards.
    return Request{request_}.then_unless_complete([caller](const Status&) { caller.resume(); });
  }
  Status await_resume() const { return request_.status(); }

 private:
  Request request_;
};

[[nodiscard]] inline RequestAwaiter operator co_await(Request request) noexcept {
  return RequestAwaiter{std::move(request)};
}

/// An operation written as a coroutine: `AsyncOperation f(Endpoint& endpoint, ...) { ...; co_await endpoint.send(...);
/// }`.
///
/// It starts at once, in the caller, and goes on as what it awaits completes; its request is complete when it has
/// returned, with error `user_task` when it has thrown an exception that is no `Error`, else with the error's code. Its
/// first parameter must be the endpoint. Reference parameters must live until it is complete.
class AsyncOperation {
 public:
  struct promise_type {
    template <class... Arguments>
    explicit promise_type(Endpoint& endpoint, Arguments&&... /*unused*/) : promise{endpoint} {}

    AsyncOperation get_return_object() { return AsyncOperation{promise.request()}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }  // the frame ends itself
    void return_void() noexcept { promise.complete({}); }
    void unhandled_exception() noexcept;

    Promise promise;
  };

  [[nodiscard]] const Request& request() const noexcept { return request_; }
  operator Request() && noexcept { return std::move(request_); }  // NOLINT(google-explicit-constructor)

 private:
  explicit AsyncOperation(Request request) noexcept : request_{std::move(request)} {}

  Request request_;
};

}  // namespace plait::comm
