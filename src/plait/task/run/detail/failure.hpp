// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <string>

#include "plait/base/error.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::task::detail {

/// Returns, in a catch block, the exception as an `Error`. The sentence of any other exception begins with `culprit`,
/// which ends in "threw".
[[nodiscard]] inline Error current_error(const std::string& culprit) {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::exception& error) {
    return Error{ErrorCode::user_task, culprit + ": " + error.what()};
  } catch (...) {
    return Error{ErrorCode::user_task, culprit + " something that is no exception"};
  }
}

/// The first error of a scheduler's runs, which ends all of them on all ranks. Threads: any.
class Failure {
 public:
  explicit Failure(comm::Endpoint& endpoint) noexcept : endpoint_{endpoint} {}

  /// Keeps the first error, and stops the endpoint on all ranks.
  void fail(const Error& error) noexcept {
    {
      const std::lock_guard lock{mutex_};
      if (!error_) {
        error_ = error;
      }
    }
    endpoint_.stop_all(error);
    has_failed_.store(true, std::memory_order_release);  // with has_failed()
  }

  /// Returns whether a run or the endpoint has failed.
  bool see_endpoint() {
    if (endpoint_.failure()) {
      has_failed_.store(true, std::memory_order_release);  // with has_failed()
    }
    return has_failed();
  }

  [[nodiscard]] bool has_failed() const noexcept { return has_failed_.load(std::memory_order_acquire); }  // with fail()

  /// Expects: `has_failed()`.
  [[nodiscard]] Error error() const {
    const std::lock_guard lock{mutex_};
    return error_ ? *error_ : Error{endpoint_.failure().value()};
  }

 private:
  comm::Endpoint& endpoint_;
  std::atomic<bool> has_failed_ = false;
  mutable std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace plait::task::detail
