// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/comm/request.hpp"
#include "plait/comm/status.hpp"

namespace plait::comm {

/// Completes a request: for operations of several messages, such as collectives.
///
/// Threads: any; `complete` once. The request may outlive the promise. A promise that ends first completes its request
/// with `ErrorCode::network`.
class Promise {
 public:
  explicit Promise(Endpoint& endpoint);
  Promise(Promise&& other) noexcept;
  Promise& operator=(Promise&& other) noexcept;
  Promise(const Promise&) = delete;
  Promise& operator=(const Promise&) = delete;
  ~Promise();

  [[nodiscard]] Request request() const;
  /// Completes and releases the request. Completions are notified before this returns.
  void complete(const Status& status) noexcept;

 private:
  Endpoint* endpoint_;
  detail::Operation* operation_;
};

}  // namespace plait::comm
