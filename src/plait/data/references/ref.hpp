// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "plait/data/references/detail/stage.hpp"

namespace plait::data {

/// How the holder of a reference may use the value.
enum class Permission : std::uint8_t { none, read, modify };

namespace detail {
struct RefAccess;
}

/// A reference to a value that may not be computed yet. `scheduled` is the permission of deferred tasks that get it;
/// `now` that of its holder, who has one only for the result of `Work::fetch`.
///
/// A value has at most one `Ref<T>`, which modifies. It is moved into the deferred task that modifies the value, which
/// returns a new one. `read()` creates references to the value before its next modification, which waits until they are
/// used or destroyed. The order of tasks follows from references alone, and tasks share a value only for reading. A use
/// without permission does not compile.
///
/// Move-only, the size of a pointer. Threads: any, one at a time each. May outlive its `Work`.
template <class T, Permission scheduled = Permission::modify, Permission now = Permission::none>
class [[nodiscard]] Ref {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "a Ref refers to a value: Ref<T>, and Ref<T, Permission::read> for one that may not be changed");
  static_assert(now == Permission::none || now == scheduled, "what may be done at once is what may be scheduled");

 public:
  using Value = T;
  static constexpr Permission may_schedule = scheduled;

  /// Creates an empty reference.
  Ref() = default;
  Ref(Ref&& other) noexcept : stage_{std::exchange(other.stage_, nullptr)} {}
  Ref& operator=(Ref&& other) noexcept {
    Ref{std::move(other)}.swap(*this);
    return *this;
  }
  Ref(const Ref&) = delete;  // move it, or make another one that reads: read()
  Ref& operator=(const Ref&) = delete;
  /// Releases the value, which is destroyed with its last reference.
  ~Ref() {
    if (stage_ != nullptr) {
      detail::release(*stage_, scheduled == Permission::read);
    }
  }

  /// Returns whether it refers to a value: false when it was moved from.
  explicit operator bool() const noexcept { return stage_ != nullptr; }

  /// Returns a reference to the value before its next modification.
  [[nodiscard]] Ref<T, Permission::read> read() const {
    static_assert(scheduled != Permission::none, "a Ref without permission cannot give the permission to read");
    static_assert(now != Permission::modify,
                  "the holder of this Ref may write the value now, so no other task can read it: give that up first, "
                  "std::move(ref).later()");
    detail::hold(*stage_);
    detail::pin(*stage_);
    return Ref<T, Permission::read>{*stage_};
  }
  /// Returns a reference without permission: a task that gets it waits for the value, and is not passed it.
  [[nodiscard]] Ref<T, Permission::none> token() const {
    detail::hold(*stage_);
    return Ref<T, Permission::none>{*stage_};
  }
  /// Gives up the permission to use the value now.
  [[nodiscard]] Ref<T, scheduled> later() && { return Ref<T, scheduled>{*std::exchange(stage_, nullptr)}; }

  /// Returns the value. For results of `fetch`.
  [[nodiscard]] auto& operator*() {
    must_be_fetched();
    if constexpr (now == Permission::modify) {
      return value();
    } else {
      return std::as_const(value());
    }
  }
  [[nodiscard]] const T& operator*() const {
    must_be_fetched();
    return value();
  }
  [[nodiscard]] auto* operator->() { return &**this; }
  [[nodiscard]] const T* operator->() const { return &**this; }

 private:
  friend struct detail::RefAccess;
  template <class, Permission, Permission>
  friend class Ref;

  /// Takes over one holder count, and a pin if it reads.
  explicit Ref(detail::Stage& stage) : stage_{&stage} {}
  void swap(Ref& other) noexcept { std::swap(stage_, other.stage_); }
  static constexpr void must_be_fetched() {
    static_assert(now != Permission::none,
                  "this Ref's value may not be there yet: fetch it, or give the Ref to a deferred task");
  }
  [[nodiscard]] T& value() const { return *static_cast<detail::CellOf<T>&>(stage_->cell).value; }

  detail::Stage* stage_ = nullptr;
};

namespace detail {

template <class T>
inline constexpr bool is_ref = false;
template <class T, Permission scheduled, Permission now>
inline constexpr bool is_ref<Ref<T, scheduled, now>> = true;

struct RefAccess {
  template <class R>
  [[nodiscard]] static R make(Stage& stage) {
    return R{stage};
  }
  template <class T, Permission scheduled, Permission now>
  [[nodiscard]] static Stage* give_up(Ref<T, scheduled, now>& ref) {
    return std::exchange(ref.stage_, nullptr);
  }
  template <class T, Permission scheduled, Permission now>
  [[nodiscard]] static Stage* stage(const Ref<T, scheduled, now>& ref) {
    return ref.stage_;
  }
};

}  // namespace detail
}  // namespace plait::data
