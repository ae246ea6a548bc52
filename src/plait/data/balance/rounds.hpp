// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/id.hpp"

namespace plait::data::balance {

/// One message of a round: in what is sent, `peer` is to whom; in what has come, from whom.
struct Mail {
  Rank peer;
  Bytes bytes;
};

/// A row of plain values as a message, and back. `values_of` throws: `Error` with `bad_input` when the bytes are not
/// whole values.
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
    throw Error{ErrorCode::bad_input, "a message between balancers is cut short: do all ranks run the same program?"};
  }
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
  }
  return values;
}

/// Part of an algorithm that waits for other ranks, written as a coroutine: `co_await rounds.exchange(...)`, or another
/// `Steps`; `co_return` what it found. Starts when it is awaited, or with `resume`. Threads: one at a time.
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

  Steps(Steps&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() {
    if (handle_) {
      handle_.destroy();
    }
  }

  /// Runs the first part, up to the first exchange. For the code that runs parts; others await.
  void start() { handle_.resume(); }
  [[nodiscard]] bool is_done() const { return handle_.done(); }
  /// Throws what ended it, if anything has.
  void check() const {
    if (handle_.promise().trouble) {
      std::rethrow_exception(handle_.promise().trouble);
    }
  }
  /// What was returned. Throws what was thrown. Expects: `is_done()`, and not asked before.
  [[nodiscard]] T take() {
    check();
    return std::move(*handle_.promise().value);
  }

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().awaiting = awaiting;
    return handle_;
  }
  [[nodiscard]] T await_resume() { return take(); }

 private:
  explicit Steps(Handle handle) : handle_{handle} {}

  Handle handle_;
};

/// Where one rank's part of an algorithm meets the parts of the others: once a round. Threads: one at a time.
class Rounds {
 public:
  Rounds(Rank self, std::uint32_t rank_count) : self_{self}, rank_count_{rank_count} {}

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }

  class Awaiter {
   public:
    explicit Awaiter(Rounds& rounds) : rounds_{rounds} {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { rounds_.waiting_ = waiting; }
    [[nodiscard]] std::vector<Mail> await_resume() noexcept { return std::move(rounds_.inbox_); }

   private:
    Rounds& rounds_;
  };

  /// Ends the round here: sends `out`, and answers with what was sent here in this round, in order of the senders.
  /// Every rank takes part in every round, if only with nothing. `expected` is how many messages come.
  [[nodiscard]] Awaiter exchange(std::vector<Mail> out, std::uint32_t expected) {
    outbox_ = std::move(out);
    expected_ = expected;
    return Awaiter{*this};
  }
  /// For a round in which no rank knows how many come: costs a barrier more (`RemotePart`).
  [[nodiscard]] Awaiter exchange_unknown(std::vector<Mail> out) {
    outbox_ = std::move(out);
    expected_.reset();
    return Awaiter{*this};
  }

  // --- for the code that runs the parts ---
  [[nodiscard]] std::vector<Mail>& outbox() noexcept { return outbox_; }
  [[nodiscard]] std::optional<std::uint32_t> expected() const noexcept { return expected_; }
  /// Goes on with what has come, up to the next exchange or the end.
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
