// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <exception>
#include <span>
#include <utility>

#include "plait/comm/request.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/flow/detail/record.hpp"

namespace plait::task {

namespace detail {

/// Resumes `task`, which is about to be suspended, when `event` has ended. Returns false if it has already.
[[nodiscard]] bool resume_after(Record& task, const RecordName& event);

/// Awaits a request, as an event of the flow's run.
class RequestAwaiter final : public Ending {
 public:
  RequestAwaiter(Record& task, comm::Request request) : task_{task}, request_{std::move(request)} {}

  [[nodiscard]] bool await_ready() const noexcept { return request_.is_complete(); }
  void await_suspend(std::coroutine_handle<> caller);
  comm::Status await_resume() const { return request_.status(); }
  void ended(Node& node, ReadySink& sink) noexcept override;

 private:
  Record& task_;
  comm::Request request_;
  Node event_{TaskKind{0}};
};

/// Awaits a record of the flow, if this rank has it.
class RecordAwaiter {
 public:
  RecordAwaiter(Record& task, const RecordName& event) : task_{task}, event_{event} {}

  [[nodiscard]] bool await_ready() const noexcept { return event_.record == nullptr; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> /*caller*/) { return resume_after(task_, event_); }
  void await_resume() const noexcept {}

 private:
  Record& task_;
  RecordName event_;
};

}  // namespace detail

/// The argument of an access `later(data)`, which a coroutine awaits: `std::span<const T> values = co_await data;`.
template <class T>
class Later {
 public:
  Later(detail::Record& task, std::size_t use) : task_{&task}, use_{use} {}

  [[nodiscard]] auto awaiter() const {
    struct Awaiter : detail::RecordAwaiter {
      Awaiter(detail::Record& task, std::size_t its_use)
          : detail::RecordAwaiter{task, task.gates[its_use]}, record{task}, use{its_use} {}
      [[nodiscard]] std::span<const T> await_resume() const {
        const std::span<std::byte> bytes = record.bytes_of(use);
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
      }
      detail::Record& record;
      std::size_t use;
    };
    return Awaiter{*task_, use_};
  }

 private:
  detail::Record* task_;
  std::size_t use_;
};

/// A task that was submitted: a coroutine may `co_await` its end. A task of another rank is not awaited. Valid while
/// the flow lives.
class Submitted {
 public:
  Submitted() = default;
  explicit Submitted(const detail::RecordName& name) noexcept : name_{name} {}

  [[nodiscard]] const detail::RecordName& name() const noexcept { return name_; }

 private:
  detail::RecordName name_;
};

/// The result of a kernel that may wait:
/// `Coroutine kernel(std::span<double> a, Later<double> b) { auto values = co_await b; ... }`.
///
/// A kernel may `co_await` a `comm::Request`, a `Later` or a `Submitted`. Meanwhile it occupies no worker, and its task
/// keeps its data: later tasks wait. It may resume in another worker's thread.
class Coroutine {
 public:
  struct promise_type {
    Coroutine get_return_object() { return Coroutine{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { exception = std::current_exception(); }

    [[nodiscard]] detail::RequestAwaiter await_transform(comm::Request request) {
      return {*record, std::move(request)};
    }
    [[nodiscard]] detail::RecordAwaiter await_transform(const Submitted& task) { return {*record, task.name()}; }
    template <class T>
    [[nodiscard]] auto await_transform(const Later<T>& data) {
      return data.awaiter();
    }

    detail::Record* record = nullptr;
    std::exception_ptr exception;
  };

  explicit Coroutine(std::coroutine_handle<promise_type> handle) noexcept : handle_{handle} {}
  Coroutine(Coroutine&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;
  ~Coroutine() {
    if (handle_) {
      handle_.destroy();
    }
  }

  /// Passes ownership of the frame to the task that runs it.
  [[nodiscard]] std::coroutine_handle<promise_type> release() noexcept { return std::exchange(handle_, nullptr); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

}  // namespace plait::task
