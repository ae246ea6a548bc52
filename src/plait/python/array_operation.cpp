// SPDX-License-Identifier: Apache-2.0
#include "plait/python/array_operation.hpp"

namespace plait::python {

bool ArrayOperation::settle() {
  if (!status_ && !is_abandoned_ && request_.is_complete() && request_.is_released()) {
    status_ = request_.result();
    try {
      static_cast<void>(request_.status());
    } catch (const Error& error) {
      error_ = error;
    }
    request_ = {};
    kept_.clear();
  }
  return status_.has_value();
}

void ArrayOperation::abandon() {
  is_abandoned_ = !settle();
  request_ = {};
}

void ArrayOperation::throw_if_failed() const {
  if (error_) {
    throw Error{*error_};
  }
}

}  // namespace plait::python
