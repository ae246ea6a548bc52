// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/promise.hpp"

#include <utility>

#include "plait/comm/detail/core.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::comm {

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
