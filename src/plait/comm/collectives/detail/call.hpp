// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/layout.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm::detail {

/// One collective in flight on this rank: addresses its messages and stores its first error.
///
/// After an error the algorithm continues: it sends all messages that others wait for, empty if their data is missing,
/// so that their receivers fail too and no rank hangs; and it completes all its receives. Threads: one at a time.
class Call {
 public:
  /// Takes the group's next number. Expects: all members do so in the same order.
  explicit Call(const Group& group);

  /// Makes this the part of the collective that `members` of the group have, this one at `self` among them: their
  /// numbers are then places in `members`. Parts that exchange messages at once differ in `part`, below 256.
  void restrict_to(std::vector<std::size_t> members, std::size_t self, unsigned part);

  [[nodiscard]] Endpoint& endpoint() const noexcept { return group_.endpoint(); }
  [[nodiscard]] const GroupNodes* nodes() const noexcept { return group_.nodes(); }
  [[nodiscard]] std::size_t size() const noexcept { return part_ ? part_->members.size() : group_.size(); }
  [[nodiscard]] std::size_t self() const noexcept { return part_ ? part_->self : group_.self(); }
  [[nodiscard]] Rank rank(std::size_t member) const noexcept {
    return group_.rank(part_ ? part_->members[member] : member);
  }
  /// The member `distance` places after this one, cyclically.
  [[nodiscard]] std::size_t after(std::size_t distance) const noexcept { return (self() + distance) % size(); }
  [[nodiscard]] std::size_t before(std::size_t distance) const noexcept {
    return (self() + size() - distance) % size();
  }

  /// The address of messages of this collective. `phase`, below 2^16, is a part of the algorithm; messages between two
  /// members in one phase match in the order of posting.
  [[nodiscard]] Address address(std::size_t member, unsigned phase = 0) const noexcept;

  // As the endpoint's, but errors are returned as complete requests.
  [[nodiscard]] Request send(std::size_t to, std::span<const std::byte> data, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request send(std::size_t to, Layout data, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request receive(std::size_t from, std::span<std::byte> buffer, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request receive(std::size_t from, Layout buffer, unsigned phase = 0) const noexcept;

  /// Remembers the first error.
  void note(std::optional<ErrorCode> error) noexcept {
    if (!error_) {
      error_ = error;
    }
  }
  [[nodiscard]] bool has_failed() const noexcept { return error_.has_value(); }
  /// Throws the first error, at the end.
  void throw_if_failed() const;

  /// `co_await call.end_of(request, bytes)`: resumes when the request is complete, notes its error, and returns whether
  /// there was none. A message of another size than `bytes` is an error. Throws nothing.
  class End;
  [[nodiscard]] End end_of(Request request, std::optional<std::size_t> bytes = {}) noexcept;

 private:
  struct Part {
    std::vector<std::size_t> members;
    std::size_t self = 0;
    unsigned number = 0;
  };

  template <class Post>
  [[nodiscard]] static Request guarded(Post post) noexcept;

  Group group_;
  CommId comm_;
  std::uint64_t number_;
  std::shared_ptr<const Part> part_;  ///< Null: the whole group.
  std::optional<ErrorCode> error_;
};

class [[nodiscard]] Call::End final : Completion {
 public:
  End(Call& call, Request request, std::optional<std::size_t> bytes) noexcept
      : call_{&call}, request_{std::move(request)}, bytes_{bytes} {}

  [[nodiscard]] bool await_ready() const noexcept { return request_.is_complete(); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> caller) {
    caller_ = caller;
    return Request{request_}.notify_unless_complete(*this);  // which may end this
  }
  /// Whether all went well.
  bool await_resume() const noexcept;

 private:
  void completed(const Status& /*status*/) noexcept override { caller_.resume(); }

  Call* call_;
  Request request_;
  std::optional<std::size_t> bytes_;
  std::coroutine_handle<> caller_;
};

inline Call::End Call::end_of(Request request, std::optional<std::size_t> bytes) noexcept {
  return {*this, std::move(request), bytes};
}

}  // namespace plait::comm::detail
