// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/plait.h"

namespace plait::c {

/// The code of an error in C.
[[nodiscard]] constexpr int code_of(ErrorCode code) noexcept {
  return static_cast<int>(code) + 1;
}

static_assert(code_of(ErrorCode::bad_argument) == PLAIT_BAD_ARGUMENT &&
              code_of(ErrorCode::bad_input) == PLAIT_BAD_INPUT);
static_assert(code_of(ErrorCode::io) == PLAIT_IO && code_of(ErrorCode::truncated) == PLAIT_TRUNCATED);
static_assert(code_of(ErrorCode::out_of_memory) == PLAIT_OUT_OF_MEMORY && code_of(ErrorCode::network) == PLAIT_NETWORK);
static_assert(code_of(ErrorCode::peer_failed) == PLAIT_PEER_FAILED && code_of(ErrorCode::timeout) == PLAIT_TIMEOUT);
static_assert(code_of(ErrorCode::user_task) == PLAIT_USER_TASK);

/// Calls `action`, and turns its exception into an error code and the thread's last error. It is the border of every C
/// function that can fail, also of libraries above this one: it uses exported C functions only.
template <class Action>
[[nodiscard]] int guarded(Action&& action) noexcept {
  try {
    std::forward<Action>(action)();
    return PLAIT_SUCCESS;
  } catch (const Error& error) {
    return plait_fail(code_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return plait_fail(PLAIT_OUT_OF_MEMORY, "no memory is left: use more ranks or hosts, or smaller data on each");
  } catch (const std::exception& error) {
    return plait_fail(PLAIT_UNKNOWN, error.what());
  } catch (...) {
    return plait_fail(PLAIT_UNKNOWN, "an unknown exception reached the C interface: please report it");
  }
}

/// Calls a function of the program. Throws: `Error` if it does not return 0: its own error, if it has set a sentence by
/// plait_fail, or `user_task` with what it has returned.
template <class Function>
void check_call(Function&& function) {
  plait_fail(PLAIT_SUCCESS, "");  // a sentence that is found later is the function's
  const int result = std::forward<Function>(function)();
  if (result == PLAIT_SUCCESS) [[likely]] {
    return;
  }
  const std::string sentence = plait_last_error();
  if (sentence.empty()) {
    throw Error{ErrorCode::user_task,
                "a function of the program has returned " + std::to_string(result) +
                    ": 0 is success, and plait_fail gives an error its sentence"};
  }
  const bool is_known = result >= PLAIT_BAD_ARGUMENT && result <= PLAIT_USER_TASK;
  throw Error{is_known ? static_cast<ErrorCode>(result - 1) : ErrorCode::user_task, sentence};
}

/// Creates what `make` returns, and stores it in `handle`. Nothing is stored on errors.
template <class Handle, class Make>
[[nodiscard]] int create(Handle** handle, Make&& make) noexcept {
  return guarded([&] {
    require(handle != nullptr, "a handle is created in a pointer that is not NULL: give the address of a variable");
    *handle = std::unique_ptr<Handle>{std::forward<Make>(make)()}.release();
  });
}

/// Destroys what `handle` names, and sets it to NULL.
template <class Handle>
[[nodiscard]] int destroy(Handle** handle) noexcept {
  return guarded([&] {
    if (handle != nullptr) {
      const std::unique_ptr<Handle> owned{std::exchange(*handle, nullptr)};
    }
  });
}

}  // namespace plait::c
