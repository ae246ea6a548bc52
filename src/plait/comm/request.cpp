// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/request.hpp"

#include <fmt/format.h>

#include "plait/comm/detail/operation.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

namespace detail {

void acquire(Operation& operation) noexcept {
  operation.count.fetch_add(1, std::memory_order_relaxed);  // the caller holds a count already
}

void release(Operation* operation) noexcept {
  // Releases what this holder wrote, and the last one acquires what all wrote, before the operation goes.
  // Who finds itself the only holder needs no atomic subtraction: nobody can join it.
  if (operation != nullptr && (operation->count.load(std::memory_order_acquire) == 1 ||
                               operation->count.fetch_sub(1, std::memory_order_acq_rel) == 1)) {
    delete operation;
  }
}

}  // namespace detail

using State = detail::Operation::State;

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
  return operation_ == nullptr || operation_->state.load(std::memory_order_acquire) == State::complete;  // with tell()
}

bool Request::test() {
  if (is_complete()) {
    return true;
  }
  endpoint_->progress();
  return is_complete();
}

Status Request::wait() {
  if (operation_ == nullptr) {
    return status_;
  }
  if (!is_complete()) {
    endpoint_->wait(*operation_);
  }
  const Status& status = operation_->status;
  if (status.error) {
    throw Error{
        *status.error,
        fmt::format(
            "the message from rank {} with tag {} has {} bytes, more than its receive's buffer of {}: it is lost",
            status.source.value(),
            status.tag.value(),
            status.bytes,
            operation_->buffer.size()),
        status.source};
  }
  return status;
}

void Request::then(std::function<void(const Status&)> callback) {
  if (operation_ == nullptr) {
    callback(status_);
    return;
  }
  expect(!operation_->callback, "an operation takes one callback");
  operation_->callback = std::move(callback);
  State expected = State::pending;
  // Releases the callback to tell(), or acquires the status from it.
  if (!operation_->state.compare_exchange_strong(expected, State::pending_with_callback, std::memory_order_acq_rel)) {
    operation_->callback(operation_->status);
  }
}

bool Request::cancel() {
  return operation_ != nullptr && endpoint_->cancel(*operation_);
}

}  // namespace plait::comm
