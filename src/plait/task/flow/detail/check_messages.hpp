// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "plait/base/bytes.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"

namespace plait::task::detail {

/// Small messages among the ranks of a flow, beside its data, by which they check that their programs agree.
///
/// Threads: the submitting one.
class CheckMessages final : comm::Completion {
 public:
  struct Arrived {
    Rank source;
    Bytes bytes;
  };

  /// Borrows `endpoint`. `tag`: of no datum, and of no other checks on `comm`.
  CheckMessages(comm::Endpoint& endpoint, comm::CommId comm, Tag tag);
  CheckMessages(const CheckMessages&) = delete;
  CheckMessages& operator=(const CheckMessages&) = delete;
  ~CheckMessages() override;

  void send(Rank to, Bytes bytes);
  /// Returns the next message that has arrived, in the order of each source.
  [[nodiscard]] std::optional<Arrived> take();
  /// Takes no further message. To be called before the endpoint ends.
  void stop() noexcept;

 private:
  class Outbox;

  void completed(const comm::Status& status) noexcept override { status_ = status; }
  void released(const comm::Status& status) noexcept override;
  void post();

  comm::Endpoint& endpoint_;
  const comm::CommId comm_;
  const Tag tag_;
  std::shared_ptr<Outbox> outbox_;
  Bytes buffer_;
  comm::Status status_;
  std::atomic<bool> has_come_ = false;
  comm::Request receive_;
  bool is_stopped_ = false;
};

}  // namespace plait::task::detail
