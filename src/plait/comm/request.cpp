// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/request.hpp"

#include <optional>

#include <fmt/format.h>

#include "plait/comm/detail/operation.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

using detail::Operation;

Request::Request(const Request& other) noexcept
    : endpoint_{other.endpoint_}, operation_{other.operation_}, status_{other.status_} {
  if (operation_ != nullptr) {
    detail::acquire(*operation_);
  }
}

Request::~Request() {
  detail::release(operation_);
}

bool Request::is_complete() const noexcept {
  return operation_ == nullptr ||
         (operation_->state.load(std::memory_order_acquire) & Operation::complete) != 0;  // tell()
}

bool Request::is_released() const noexcept {
  return operation_ == nullptr || operation_->is_released.load(std::memory_order_acquire);  // with tell_released()
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
    endpoint_->wait(*operation_, [](const Operation& operation) {
      return (operation.state.load(std::memory_order_acquire) & Operation::complete) != 0;  // with tell()
    });
  }
  return status();
}

Status Request::wait_released() {
  if (!is_released()) {
    endpoint_->wait(*operation_, [](const Operation& operation) {
      return operation.is_released.load(std::memory_order_acquire);  // with tell_released()
    });
  }
  return status();
}

Status Request::status() const {
  if (operation_ == nullptr) {
    return status_;
  }
  const Status& status = operation_->status;
  if (!status.error) {
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
      if (const std::optional<Error> failure = endpoint_->failure()) {
        throw Error{*failure};  // it says what has happened
      }
      throw Error{*status.error, fmt::format("the operation failed: {}", to_string(*status.error)), status.source};
  }
}

void Request::then(std::function<void(const Status&)> callback) {
  if (operation_ == nullptr) {
    callback(status_);
  } else if (!then_unless_complete(std::move(callback))) {
    operation_->callback(operation_->status);
  }
}

bool Request::then_unless_complete(std::function<void(const Status&)> callback) {
  if (operation_ == nullptr) {
    return false;
  }
  expect(!operation_->callback, "an operation takes one callback");
  operation_->callback = std::move(callback);
  // Releases the callback to tell(), or acquires the status from it.
  return (operation_->state.fetch_or(Operation::has_callback, std::memory_order_acq_rel) & Operation::complete) == 0;
}

bool Request::cancel() {
  return operation_ != nullptr && endpoint_->cancel(*operation_);
}

}  // namespace plait::comm
