// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/comm/request.hpp"
#include "plait/comm/status.hpp"
#include "plait/python/buffer.hpp"

namespace plait::python {

/// A message or a collective operation under way, with the Python memory that it uses, which it gives back as soon as
/// it is found complete. Threads: those that hold the GIL.
class ArrayOperation {
 public:
  /// `kept` is the memory that the operation accesses.
  explicit ArrayOperation(std::vector<Buffer> kept) : kept_{std::move(kept)} {}
  ArrayOperation(const ArrayOperation&) = delete;
  ArrayOperation& operator=(const ArrayOperation&) = delete;

  void start(comm::Request request) { request_ = std::move(request); }

  /// Whether it is complete, its memory included. Makes no progress.
  bool settle();
  /// Ends it without a result, because its runtime is being closed. Keeps the memory, which the network may still use.
  void abandon();
  [[nodiscard]] bool is_abandoned() const noexcept { return is_abandoned_; }

  /// Another handle of the same operation, for a wait without the GIL.
  [[nodiscard]] comm::Request handle() const { return request_; }
  /// Its result; the error of a message is in it. Nothing before it is complete.
  [[nodiscard]] const std::optional<comm::Status>& status() const noexcept { return status_; }
  /// Throws: `Error` when it has ended with one. Expects: complete.
  void throw_if_failed() const;

 private:
  comm::Request request_;
  std::vector<Buffer> kept_;
  std::optional<comm::Status> status_;
  std::optional<Error> error_;
  bool is_abandoned_ = false;
};

}  // namespace plait::python
