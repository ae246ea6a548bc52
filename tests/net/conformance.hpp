// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/net/driver.hpp"

/// What every driver must do, written once. A case is what each rank does, as a coroutine, so that
/// the ranks of one process can take turns, and those of an MPI program can each play their own.
namespace plait::net::conformance {

/// One rank's part in a case: goes on until it waits for something, again and again.
class [[nodiscard]] Part {
 public:
  struct promise_type {
    std::function<bool()> may_go_on;
    std::exception_ptr trouble;

    Part get_return_object() { return Part{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { trouble = std::current_exception(); }
  };

  explicit Part(std::coroutine_handle<promise_type> handle) : handle_{handle} {}
  Part(Part&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (handle_) {
      handle_.destroy();
    }
  }

  [[nodiscard]] bool is_over() const { return handle_.done(); }

  /// Goes on if what is waited for has come. Throws what the coroutine threw.
  void step() {
    auto& promise = handle_.promise();
    if (promise.may_go_on && !promise.may_go_on()) {
      return;
    }
    handle_.resume();
    if (promise.trouble) {
      std::rethrow_exception(promise.trouble);
    }
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// `co_await until(fact)`: lets the others play until `fact()` is true.
struct Until {
  std::function<bool()> fact;

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<Part::promise_type> handle) { handle.promise().may_go_on = std::move(fact); }
  void await_resume() const noexcept {}
};
inline Until until(std::function<bool()> fact) {
  return {std::move(fact)};
}

/// A driver, and what it has brought so far.
class Player {
 public:
  explicit Player(Driver& driver) : driver_{driver} {}

  [[nodiscard]] Driver& driver() { return driver_; }
  [[nodiscard]] std::uint32_t rank() const { return driver_.self().value(); }
  [[nodiscard]] std::uint32_t rank_count() const { return driver_.rank_count(); }
  [[nodiscard]] Rank next() const { return Rank{(rank() + 1) % rank_count()}; }
  [[nodiscard]] Rank previous() const { return Rank{(rank() + rank_count() - 1) % rank_count()}; }

  /// How many arrivals and completions a poll may bring.
  void set_poll_room(std::size_t arrivals, std::size_t bulk);
  /// Polls once; what comes is appended to `arrivals` and `done`.
  void poll();

  /// True when the packet was accepted; false when it is to be tried again.
  [[nodiscard]] bool send(Rank to, const std::vector<std::byte>& bytes);
  [[nodiscard]] bool send_number(Rank to, std::uint64_t number);

  [[nodiscard]] bool has_done(TransferDirection direction, std::uint64_t cookie) const;

  std::deque<Arrival> arrivals;
  std::vector<BulkDone> done;

 private:
  Driver& driver_;
  std::uint64_t attempts_ = 0;  ///< To send: every second one from two pieces of memory.
  std::vector<Arrival> arrival_room_ = std::vector<Arrival>(16);
  std::vector<BulkDone> bulk_room_ = std::vector<BulkDone>(16);
};

/// What a case may expect of the network, and how much it should do.
struct Terms {
  bool keeps_order = true;
  /// Longest bulk transfer; longer than the driver's chunks, whatever they are.
  std::size_t bulk_bytes_max = std::size_t{9} * 1024 * 1024 + 5;
};

struct Case {
  std::string name;
  std::function<Part(Player&, const Terms&)> play;
};

/// For gtest's messages.
inline void PrintTo(const Case& one, std::ostream* out) {
  *out << one.name;
}

/// The name of a test whose parameters are a setting, a number of ranks where it is chosen, and a case.
template <class Parameter>
std::string name_of(const testing::TestParamInfo<Parameter>& info) {
  if constexpr (std::tuple_size_v<Parameter> == 2) {
    return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
  } else {
    const auto& [setting, rank_count, played] = info.param;
    return setting.name + "_" + std::to_string(rank_count) + "_" + played.name;
  }
}

/// All cases; each works for any number of ranks from 1.
[[nodiscard]] const std::vector<Case>& cases();

}  // namespace plait::net::conformance
