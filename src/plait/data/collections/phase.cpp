// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/phase.hpp"

#include <exception>
#include <utility>

#include "plait/data/collections/engine/collection_engine.hpp"

namespace plait::data {

using detail::CollectionEngine;

Phase& Phase::operator=(Phase&& other) noexcept {
  Phase old{std::move(*this)};
  engine_ = std::move(other.engine_);
  return *this;
}

Phase::~Phase() {
  if (engine_ != nullptr) {
    try {
      (void)wait();
    } catch (const std::exception&) {
      // The program did not ask: a later start or wait throws.
    }
  }
}

PhaseReport Phase::wait() {
  expect(engine_ != nullptr, "there is a phase to wait for");
  return std::exchange(engine_, nullptr)->finish(CollectionEngine::Flush::yes);
}

task::Run* Phase::run() const noexcept {
  return engine_ == nullptr ? nullptr : engine_->run();
}

bool Phase::test() {
  return run() == nullptr || run()->test();
}

bool Phase::is_over() const noexcept {
  return run() == nullptr || run()->is_over();
}

comm::Request Phase::request() {
  return run() == nullptr ? comm::Request{} : run()->request();
}

void Phase::then(std::function<void()> callback) {
  run() == nullptr ? callback() : run()->then(std::move(callback));
}

bool Phase::Awaiter::await_suspend(std::coroutine_handle<> caller) {
  // Another thread may end this awaiter before the call returns: nothing of it is used afterwards.
  return phase_.request().then_unless_complete([caller](const comm::Status&) { caller.resume(); });
}

PhaseReport Phase::Awaiter::await_resume() {
  (void)phase_.request().status();  // throws what has ended the run
  return std::exchange(phase_.engine_, nullptr)->finish(CollectionEngine::Flush::no);
}

}  // namespace plait::data
