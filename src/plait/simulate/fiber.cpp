// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/fiber.hpp"

#include <cstring>
#include <cxxabi.h>
#include <utility>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

namespace plait::simulate {

namespace {

/// What the C++ library keeps of the exceptions of a thread: two words, by the Itanium C++ ABI, 2.2.2. Each fiber has
/// its own, as it may be suspended while it handles one.
struct Exceptions {
  void* caught = nullptr;
  std::size_t uncaught = 0;

  void exchange() noexcept {
    Exceptions before;
    void* const thread = abi::__cxa_get_globals();
    std::memcpy(&before, thread, sizeof before);
    std::memcpy(thread, this, sizeof before);
    *this = before;
  }
};

}  // namespace

struct Fiber::State {
  boost::context::fiber inside;   ///< Valid while the fiber is suspended.
  boost::context::fiber outside;  ///< Valid while it runs.
  Exceptions exceptions;
  bool has_ended = false;
};

Fiber::Fiber(std::size_t stack_bytes, std::function<void()> body) : state_{std::make_unique<State>()} {
  state_->inside = boost::context::fiber{std::allocator_arg,
                                         boost::context::protected_fixedsize_stack{stack_bytes},
                                         [state = state_.get(), life = std::move(body)](boost::context::fiber&& from) {
                                           state->outside = std::move(from);
                                           life();
                                           state->has_ended = true;
                                           return std::move(state->outside);
                                         }};
}

Fiber::~Fiber() = default;

void Fiber::resume() {
  state_->exceptions.exchange();
  state_->inside = std::move(state_->inside).resume();
  state_->exceptions.exchange();
}

void Fiber::suspend() {
  state_->outside = std::move(state_->outside).resume();
}

bool Fiber::has_ended() const noexcept {
  return state_->has_ended;
}

void Fiber::abandon() noexcept {
  if (!state_->has_ended) {
    static_cast<void>(state_.release());
  }
}

}  // namespace plait::simulate
