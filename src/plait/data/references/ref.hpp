// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "plait/data/references/detail/stage.hpp"

namespace plait::data {

/// What the holder of a reference may do with the value.
enum class Permission : std::uint8_t { none, read, modify };

namespace detail {
struct RefAccess;
}

/// The right to use a value that is not there yet, or that works are still at. `scheduled` is what works may do that
/// are given this reference; `now` what its holder may do at once, which it may only with what `Work::fetch` returned.
///
/// There is at most one `Ref<T>` (which modifies) of a value; it is moved into the work that modifies the value, which
/// gives back another one. `read()` makes references that show the value as it is before the next modification; that
/// waits until they are all used or gone. So the order of works follows from references alone, and no two works are at
/// a value unless both read. What a permission does not allow does not compile.
///
/// Move-only, the size of a pointer. Threads: any, one at a time each. May outlive the `Work` it is from.
template <class T, Permission scheduled = Permission::modify, Permission now = Permission::none>
class [[nodiscard]] Ref {
  static_assert(std::is_object_v<T> && !std::is_const_v<T>,
                "a Ref is of a value: Ref<T>, and Ref<T, Permission::read> for one that may not be changed");
  static_assert(now == Permission::none || now == scheduled, "what may be done at once is what may be scheduled");

 public:
  using Value = T;
  static constexpr Permission may_schedule = scheduled;

  /// Of nothing.
  Ref() = default;
  Ref(Ref&& other) noexcept : stage_{std::exchange(other.stage_, nullptr)} {}
  Ref& operator=(Ref&& other) noexcept {
    Ref{std::move(other)}.swap(*this);
    return *this;
  }
  Ref(const Ref&) = delete;  // move it, or make another one that reads: read()
  Ref& operator=(const Ref&) = delete;
  /// Lets the value go; it ends with the last who has it.
  ~Ref() {
    if (stage_ != nullptr) {
      detail::release(*stage_, scheduled == Permission::read);
    }
  }

  /// Whether it is of a value: false when it was moved from.
  explicit operator bool() const noexcept { return stage_ != nullptr; }

  /// Another one, of the value as it is before the next modification.
  [[nodiscard]] Ref<T, Permission::read> read() const {
    static_assert(scheduled != Permission::none, "a Ref without permission cannot give the permission to read");
    static_assert(now != Permission::modify,
                  "the holder of this Ref may write the value now, so no other task can read it: give that up first, "
                  "std::move(ref).later()");
    detail::hold(*stage_);
    detail::pin(*stage_);
    return Ref<T, Permission::read>{*stage_};
  }
  /// Another one, to wait with: a task that is given it starts when the value is there, and does not see it.
  [[nodiscard]] Ref<T, Permission::none> token() const {
    detail::hold(*stage_);
    return Ref<T, Permission::none>{*stage_};
  }
  /// Gives up what may be done at once.
  [[nodiscard]] Ref<T, scheduled> later() && { return Ref<T, scheduled>{*std::exchange(stage_, nullptr)}; }

  /// The value: what `fetch` returned has it.
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

  /// Takes over one hold, and a pin if it reads.
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
