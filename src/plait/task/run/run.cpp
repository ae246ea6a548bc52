// SPDX-License-Identifier: Apache-2.0
#include "plait/task/run/run.hpp"

#include <utility>

#include "plait/task/run/detail/runs.hpp"

namespace plait::task {

Run::Run(std::shared_ptr<detail::RunState> state) noexcept : state_{std::move(state)} {}

Run& Run::operator=(Run&& other) noexcept {
  if (this != &other) {
    const Run old{std::exchange(state_, std::move(other.state_))};
  }
  return *this;
}

Run::~Run() {
  if (is_over()) {
    return;
  }
  try {
    wait();
  } catch (const Error& error) {
    if (!state_->runs.has_failed()) {  // else the error is known
      state_->runs.fail(error);
    }
  }
}

bool Run::is_over() const noexcept {
  return state_ == nullptr || state_->is_over.load(std::memory_order_acquire);  // with Runs::finish()
}

bool Run::test() {
  return is_over() || state_->runs.test(*state_);
}

void Run::wait() {
  if (!is_over()) {
    state_->runs.wait(*state_);
  }
}

comm::Request Run::request() {
  return state_ == nullptr ? comm::Request{comm::Status{}} : state_->runs.request(*state_);
}

void Run::then(std::function<void()> callback) {
  request().then([callback = std::move(callback)](const comm::Status& status) {
    if (!status.error) {
      callback();
    }
  });
}

}  // namespace plait::task
