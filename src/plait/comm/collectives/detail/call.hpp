// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/comm/layout.hpp"
#include "plait/comm/request.hpp"

namespace plait::comm::detail {

/// One collective under way on this rank: addresses its messages and keeps what has gone wrong first.
///
/// After an error the algorithm continues: all messages that others wait for are sent, empty if they depend on missing
/// data, so that their receivers fail too and no rank hangs; and no buffer is left to a receive that may still write
/// into it. Threads: one at a time.
class Call {
 public:
  /// Takes the group's next number. Expects: all members do so in the same order.
  explicit Call(const Group& group);

  [[nodiscard]] Endpoint& endpoint() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept;
  [[nodiscard]] std::size_t self() const noexcept;
  [[nodiscard]] Rank rank(std::size_t member) const noexcept;
  /// The member `distance` places behind this one, round about; `before` likewise.
  [[nodiscard]] std::size_t after(std::size_t distance) const noexcept { return (self() + distance) % size(); }
  [[nodiscard]] std::size_t before(std::size_t distance) const noexcept {
    return (self() + size() - distance) % size();
  }

  /// Where messages of this collective go to; `phase`, below 2^24, is the part of the algorithm; messages between
  /// two members in one phase match in the order of their posts.
  [[nodiscard]] Address address(std::size_t member, unsigned phase = 0) const noexcept;

  // As the endpoint's; a refusal comes back as a complete request with an error, never as an exception.
  [[nodiscard]] Request send(std::size_t to, std::span<const std::byte> data, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request send(std::size_t to, Layout data, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request receive(std::size_t from, std::span<std::byte> buffer, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request receive(std::size_t from, Layout buffer, unsigned phase = 0) const noexcept;
  [[nodiscard]] Request receive(std::size_t from, Bytes& buffer, unsigned phase = 0) const noexcept;

  /// Remembers the first error.
  void note(std::optional<ErrorCode> error) noexcept {
    if (!error_) {
      error_ = error;
    }
  }
  [[nodiscard]] bool has_failed() const noexcept { return error_.has_value(); }
  /// At the end: throws what was noted first. The code is what becomes of it.
  void throw_if_failed() const;

  /// `co_await call.end_of(request)`: resumes when it is complete, notes its error, and returns whether there was none.
  /// Throws nothing.
  class End;
  [[nodiscard]] End end_of(Request request) noexcept;
  /// As above for a receive, of which exactly `bytes` are expected.
  [[nodiscard]] End end_of(Request request, std::size_t bytes) noexcept;
  /// As `end_of`, and returns the length of the message, also when it was lost: for streams of pieces.
  class Length;
  [[nodiscard]] Length length_of(Request request, std::size_t bytes) noexcept;

 private:
  template <class Post>
  [[nodiscard]] static Request guarded(Post post) noexcept;

  std::shared_ptr<const Group::State> group_;
  CommId comm_;
  std::uint64_t number_;
  std::optional<ErrorCode> error_;
};

class [[nodiscard]] Call::End : Completion {
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

 protected:
  [[nodiscard]] std::size_t length() const noexcept { return request_.result().bytes; }

 private:
  void completed(const Status& /*status*/) noexcept final { caller_.resume(); }

  Call* call_;
  Request request_;
  std::optional<std::size_t> bytes_;
  std::coroutine_handle<> caller_;
};

class [[nodiscard]] Call::Length : public Call::End {
 public:
  using End::End;

  std::size_t await_resume() const noexcept {
    End::await_resume();
    return length();
  }
};

inline Call::Length Call::length_of(Request request, std::size_t bytes) noexcept {
  return {*this, std::move(request), bytes};
}

inline Call::End Call::end_of(Request request) noexcept {
  return {*this, std::move(request), {}};
}

inline Call::End Call::end_of(Request request, std::size_t bytes) noexcept {
  return {*this, std::move(request), bytes};
}

}  // namespace plait::comm::detail
