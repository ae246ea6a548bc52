// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "plait/base/id.hpp"

namespace plait::task {

class TaskContext;

/// The kind of a task: it gives tasks their name, and their colour in pictures.
using TaskKind = Id<struct TaskKindTag, std::uint16_t>;

/// The body of a task: any callable that takes a `TaskContext&` or nothing. Its result is discarded.
///
/// Move-only. Captures of up to 40 bytes are stored in place, so that most tasks need no allocation. Trivially copyable
/// callables are moved as bytes. Threads: one at a time.
class Body {
 public:
  Body() noexcept = default;
  template <class Callable>
    requires(!std::same_as<std::remove_cvref_t<Callable>, Body> &&
             (std::invocable<Callable&, TaskContext&> || std::invocable<Callable&>))
  Body(Callable&& callable) {  // NOLINT(google-explicit-constructor): a lambda is a body
    emplace<std::remove_cvref_t<Callable>>(std::forward<Callable>(callable));
  }
  Body(Body&& other) noexcept { take(other); }
  Body& operator=(Body&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;
  ~Body() { reset(); }

  explicit operator bool() const noexcept { return call_ != nullptr; }
  /// Expects: it is not empty.
  void operator()(TaskContext& context) { call_(storage_, context); }

  /// Returns whether its callable has a destructor that must run.
  [[nodiscard]] bool owns_something() const noexcept { return manage_ != nullptr; }

  void reset() noexcept {
    if (manage_ != nullptr) {
      manage_(storage_, nullptr);
    }
    call_ = nullptr;
    manage_ = nullptr;
  }

 private:
  static constexpr std::size_t bytes_in_place = 40;

  template <class Callable>
  static constexpr bool fits_in_place = sizeof(Callable) <= bytes_in_place && alignof(Callable) <= alignof(void*) &&
                                        std::is_nothrow_move_constructible_v<Callable>;

  template <class Callable>
  static void call(Callable& callable, TaskContext& context) {
    if constexpr (std::invocable<Callable&, TaskContext&>) {
      static_cast<void>(callable(context));
    } else {
      static_cast<void>(callable());
    }
  }

  template <class Callable, class Argument>
  void emplace(Argument&& argument) {
    if constexpr (fits_in_place<Callable>) {
      new (storage_) Callable(std::forward<Argument>(argument));
      call_ = [](std::byte* storage, TaskContext& context) {
        call(*std::launder(reinterpret_cast<Callable*>(storage)), context);
      };
      if constexpr (!std::is_trivially_copyable_v<Callable> || !std::is_trivially_destructible_v<Callable>) {
        manage_ = [](std::byte* storage, std::byte* to) noexcept {
          auto& callable = *std::launder(reinterpret_cast<Callable*>(storage));
          if (to != nullptr) {
            new (to) Callable(std::move(callable));
          }
          std::destroy_at(&callable);
        };
      }
    } else {
      auto boxed = [owned = std::make_unique<Callable>(std::forward<Argument>(argument))](TaskContext& context) {
        call(*owned, context);
      };
      emplace<decltype(boxed)>(std::move(boxed));
    }
  }

  /// Expects: this is empty.
  void take(Body& other) noexcept {
    call_ = std::exchange(other.call_, nullptr);
    manage_ = std::exchange(other.manage_, nullptr);
    if (manage_ != nullptr) {
      manage_(other.storage_, storage_);
    } else {
      std::memcpy(storage_, other.storage_, bytes_in_place);
    }
  }

  alignas(void*) std::byte storage_[bytes_in_place] = {};
  void (*call_)(std::byte* storage, TaskContext& context) = nullptr;
  /// Moves the callable to `to`, or destroys it if `to` is null. Null for callables that are moved as bytes.
  void (*manage_)(std::byte* storage, std::byte* to) noexcept = nullptr;
};

static_assert(sizeof(Body) == 56, "with a pointer beside it, one cache line of a task");

}  // namespace plait::task
