// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/request.hpp"

#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plait/comm/detail/core.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/promise.hpp"

namespace plait::comm {

using detail::Interest;

void detail::Callback::completed(const Status& status) noexcept {
  try {
    std::exchange(function_, {})(status);
  } catch (const std::exception& error) {
    endpoint_.stop_all(Error{ErrorCode::user_task, fmt::format("a message's callback threw: {}", error.what())});
  }
}

Request::Request(const Request& other) noexcept : endpoint_{other.endpoint_}, operation_{other.operation_} {
  copy(other.status_, status_);
  if (operation_ != nullptr) {
    detail::acquire(*operation_);
  }
}

Request::~Request() {
  detail::release(operation_);
}

bool Request::is_complete() const noexcept {
  return operation_ == nullptr || operation_->observers.has_completed();
}

bool Request::is_released() const noexcept {
  return operation_ == nullptr || operation_->is_released.load(std::memory_order_acquire);  // with notify_release()
}

bool Request::test() {
  if (is_complete()) {
    return true;
  }
  endpoint_->progress();
  return is_complete();
}

Status Request::wait() {
  if (!is_complete()) {
    endpoint_->core_->wait(*operation_);
  }
  return status();
}

Status Request::wait_released() {
  const Status status = wait();
  if (!is_released()) {
    endpoint_->core_->wait_until([this] { return is_released(); });
  }
  return status;
}

const Status& Request::result() const noexcept {
  return operation_ == nullptr ? status_ : operation_->status;
}

Status Request::status() const {
  const Status& status = result();
  if (operation_ == nullptr || !status.error) {
    return status;
  }
  const std::string message =
      fmt::format("the message from rank {} with tag {}", status.source.value(), status.tag.value());
  switch (*status.error) {
    case ErrorCode::truncated:
      throw Error{*status.error,
                  fmt::format("{} has {} bytes, more than its receive's buffer of {}: it is lost",
                              message,
                              status.bytes,
                              operation_->room()),
                  status.source};
    case ErrorCode::out_of_memory:
      throw Error{*status.error,
                  fmt::format("{} has {} bytes, more than the memory that is left: it is lost", message, status.bytes),
                  status.source};
    default:
      if (operation_->one_sided == detail::OneSided::arrival) {
        throw Error{*status.error, "exposed memory was withdrawn before the puts that were waited for had arrived"};
      }
      if (const std::optional<Error> failure = endpoint_->failure()) {
        throw Error{*failure};  // it describes the cause
      }
      throw Error{*status.error, fmt::format("the operation failed: {}", to_string(*status.error)), status.source};
  }
}

void Request::then(std::function<void(const Status&)> callback) {
  if (!then_unless_complete(std::move(callback))) {
    callback(result());  // NOLINT(bugprone-use-after-move): not taken
  }
}

bool Request::then_unless_complete(std::function<void(const Status&)>&& callback) {
  if (is_complete()) {
    return false;
  }
  const bool is_first = !operation_->has_callback.exchange(true, std::memory_order_relaxed);  // attach() publishes it
  detail::Callback& attached = is_first ? operation_->callback.emplace(*endpoint_, std::move(callback))
                                        : *new detail::Callback{*endpoint_, std::move(callback)};
  if (!operation_->observers.attach(attached, is_first ? Interest::until_completed : Interest::owned)) {
    callback = attached.take();
    if (!is_first) {
      delete &attached;
    }
    return false;
  }
  return true;
}

bool Request::notify_unless_complete(Completion& completion) {
  return operation_ != nullptr && operation_->observers.attach(completion, Interest::until_completed);
}

bool Request::cancel() {
  if (operation_ == nullptr ||
      !endpoint_->core_->act([this](detail::Engine& engine) { return engine.delivery().cancel(*operation_); })) {
    return false;
  }
  detail::release(operation_);  // the engine's count
  return true;
}

Promise::Promise(Endpoint& endpoint) : endpoint_{&endpoint}, operation_{new detail::Operation} {}

Promise::Promise(Promise&& other) noexcept
    : endpoint_{other.endpoint_}, operation_{std::exchange(other.operation_, nullptr)} {}

Promise& Promise::operator=(Promise&& other) noexcept {
  std::swap(endpoint_, other.endpoint_);
  std::swap(operation_, other.operation_);
  return *this;
}

Promise::~Promise() {
  if (operation_ != nullptr) {
    complete({.error = ErrorCode::network});
  }
}

Request Promise::request() const {
  detail::acquire(*operation_);
  return {*endpoint_, *operation_};
}

void Promise::complete(const Status& status) noexcept {
  detail::Operation& operation = *std::exchange(operation_, nullptr);
  operation.status = status;
  endpoint_->core_->notify(operation);  // takes over the count
}

}  // namespace plait::comm
