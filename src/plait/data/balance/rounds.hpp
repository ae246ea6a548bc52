// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"

namespace plait::data::balance {

/// A message of a round, to or from `peer`.
struct Mail {
  Rank peer;
  Bytes bytes;
};

/// Values as the bytes of a message, and back. `values_of` throws: `Error` with `bad_input` for a number of bytes that
/// is no multiple of the size of `T`.
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] Bytes bytes_of(std::span<const T> values) {
  const std::span<const std::byte> raw = std::as_bytes(values);
  return {raw.begin(), raw.end()};
}
template <class T>
  requires std::is_trivially_copyable_v<T>
[[nodiscard]] std::vector<T> values_of(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(T) != 0) {
    throw Error{ErrorCode::bad_input, "a message between balancers is truncated: do all ranks run the same program?"};
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

/// A coroutine of an algorithm that waits for other ranks: `co_await`s `rounds.exchange(...)` or other `Steps`, and
/// `co_return`s its result. It starts when it is awaited, or with `start`. Threads: one at a time.
template <class T>
class [[nodiscard]] Steps {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type {
    struct GoOn {
      [[nodiscard]] bool await_ready() const noexcept { return false; }
      [[nodiscard]] std::coroutine_handle<> await_suspend(Handle own) const noexcept {
        return own.promise().awaiting ? own.promise().awaiting : std::noop_coroutine();
      }
      void await_resume() const noexcept {}
    };

    Steps get_return_object() { return Steps{Handle::from_promise(*this)}; }
    [[nodiscard]] std::suspend_always initial_suspend() const noexcept { return {}; }
    [[nodiscard]] GoOn final_suspend() const noexcept { return {}; }
    void return_value(T found) { value = std::move(found); }
    void unhandled_exception() noexcept { trouble = std::current_exception(); }

    std::optional<T> value;
    std::exception_ptr trouble;
    std::coroutine_handle<> awaiting;
  };

  /// Runs it to the first exchange. For code that runs parts without awaiting them.
  void start() { handle_.get().resume(); }
  [[nodiscard]] bool is_done() const { return handle_.get().done(); }
  /// Throws the exception that ended it, if any.
  void check() const {
    if (promise().trouble) {
      std::rethrow_exception(promise().trouble);
    }
  }
  /// Returns its result, or throws its exception. Expects: `is_done()`, and called once.
  [[nodiscard]] T take() {
    check();
    return std::move(*promise().value);
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    promise().awaiting = awaiting;
    return handle_.get();
  }
  [[nodiscard]] T await_resume() { return take(); }

 private:
  struct Destroy {
    using pointer = Handle;
    void operator()(Handle handle) const noexcept { handle.destroy(); }
  };

  explicit Steps(Handle handle) : handle_{handle} {}
  [[nodiscard]] promise_type& promise() const { return handle_.get().promise(); }

  std::unique_ptr<promise_type, Destroy> handle_;
};

/// The rounds of one rank: each is an exchange of messages among all ranks. Threads: one at a time.
class Rounds {
 public:
  Rounds(Rank self, std::uint32_t rank_count) : self_{self}, rank_count_{rank_count} {}

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }

  struct Awaiter {
    Rounds& rounds;
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { rounds.waiting_ = waiting; }
    [[nodiscard]] std::vector<Mail> await_resume() noexcept { return std::move(rounds.inbox_); }
  };

  /// Ends the round: sends `out`, and returns the messages that this rank receives in it, in order of senders. All
  /// ranks take part in every round. `expected`: how many messages this rank receives; none, on all ranks, where no
  /// rank knows, which costs a barrier (`RemotePart`).
  [[nodiscard]] Awaiter exchange(std::vector<Mail> out, std::optional<std::uint32_t> expected) {
    outbox_ = std::move(out);
    expected_ = expected;
    return {*this};
  }

  // --- for code that runs parts ---
  [[nodiscard]] std::vector<Mail>& outbox() noexcept { return outbox_; }
  [[nodiscard]] std::optional<std::uint32_t> expected() const noexcept { return expected_; }
  /// Continues with the received messages to the next exchange or the end.
  void go_on(std::vector<Mail> inbox) {
    inbox_ = std::move(inbox);
    std::exchange(waiting_, nullptr).resume();
  }

 private:
  Rank self_;
  std::uint32_t rank_count_;
  std::vector<Mail> outbox_;
  std::vector<Mail> inbox_;
  std::optional<std::uint32_t> expected_;
  std::coroutine_handle<> waiting_;
};

}  // namespace plait::data::balance
