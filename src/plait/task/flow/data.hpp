// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "plait/base/id.hpp"
#include "plait/task/flow/detail/datum.hpp"

namespace plait::task {

namespace detail {
/// Returns the owner's memory; from now on the datum has a value.
[[nodiscard]] std::span<std::byte> local_bytes(Datum& datum);
}  // namespace detail

/// A handle to an array of `T` that one rank owns and every rank of a flow can access.
///
/// From `Flow::data` or a `DataGrid`; valid while the flow lives. Only the owner has memory for it; other ranks get
/// copies as their tasks need them. Threads: the flow's.
template <class T>
class Data {
  static_assert(std::is_trivially_copyable_v<T>, "travels between ranks as bytes");

 public:
  Data() = default;
  explicit Data(detail::Datum& datum) : datum_{&datum} {}

  [[nodiscard]] std::size_t size() const noexcept { return datum_->bytes / sizeof(T); }
  [[nodiscard]] Rank owner() const noexcept { return datum_->owner; }

  /// Returns the owner's elements, to set before the first task and to read after `Flow::wait`. The datum has a value
  /// from then on. Throws: `Error` with `bad_argument` on other ranks, and while tasks may use it.
  [[nodiscard]] std::span<T> local() const {
    const std::span<std::byte> bytes = detail::local_bytes(*datum_);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// Defines how tasks `reduce` this datum. Each rank adds to a copy whose elements start as `neutral`;
  /// `combine(T& into, const T& from)` combines elements of two copies, in the order of the ranks. The same call on
  /// every rank.
  template <class Combine>
    requires std::is_invocable_v<Combine&, T&, const T&>
  const Data& reduces_with(const T& neutral, Combine combine) const {
    datum_->reduction = std::make_unique<detail::Reduction>(detail::Reduction{
        .set_neutral =
            [neutral](std::span<std::byte> bytes) {
              std::uninitialized_fill_n(reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T), neutral);
            },
        .combine =
            [combine = std::move(combine)](std::span<std::byte> into, std::span<const std::byte> from) mutable {
              auto* const to = reinterpret_cast<T*>(into.data());
              const auto* const other = reinterpret_cast<const T*>(from.data());
              for (std::size_t i = 0; i < into.size() / sizeof(T); ++i) {
                combine(to[i], other[i]);
              }
            }});
    return *this;
  }

  [[nodiscard]] detail::Datum& datum() const { return *datum_; }

 private:
  detail::Datum* datum_ = nullptr;
};

/// An access of a task to a datum. The kernel gets a `std::span<Element>`.
template <class Element, detail::Mode its_mode>
struct DataAccess {
  using Value = Element;
  static constexpr detail::Mode mode = its_mode;
  detail::Datum* datum = nullptr;
  std::uint32_t version = detail::any_version;
};

/// Reads a datum: the kernel gets a `std::span<const T>`.
template <class T>
[[nodiscard]] DataAccess<const T, detail::Mode::read> r(const Data<T>& data) {
  return {&data.datum()};
}
/// Reads the value that a datum has after `version` of the program's tasks since the last `Flow::wait` have written it;
/// 0 is the value before. `Submission::own_tasks` requires this on ranks that do not own the datum.
template <class T>
[[nodiscard]] DataAccess<const T, detail::Mode::read> r(const Data<T>& data, std::uint32_t version) {
  return {&data.datum(), version};
}
/// Overwrites a datum: the kernel gets a `std::span<T>` of undefined values.
template <class T>
[[nodiscard]] DataAccess<T, detail::Mode::write> w(const Data<T>& data) {
  return {&data.datum()};
}
/// Reads and writes a datum.
template <class T>
[[nodiscard]] DataAccess<T, detail::Mode::read_write> rw(const Data<T>& data) {
  return {&data.datum()};
}
/// Reads and writes a datum. Successive tasks that `commute` on it run one at a time, in any order.
template <class T>
[[nodiscard]] DataAccess<T, detail::Mode::commute> commute(const Data<T>& data) {
  return {&data.datum()};
}
/// Adds to a datum, see `Data::reduces_with`. The kernel gets the contribution of its rank.
template <class T>
[[nodiscard]] DataAccess<T, detail::Mode::reduce> reduce(const Data<T>& data) {
  return {&data.datum()};
}
/// An access whose mode is known at run time only, of data without a type. See `Flow::submit_bytes`.
using AnyAccess = detail::AccessNote;

/// Reads a datum in a coroutine that starts without it: the kernel gets a `Later<T>`, and `co_await` of that the span.
template <class T>
[[nodiscard]] DataAccess<const T, detail::Mode::later> later(const Data<T>& data) {
  return {&data.datum()};
}
/// As above, of a version as in `r`.
template <class T>
[[nodiscard]] DataAccess<const T, detail::Mode::later> later(const Data<T>& data, std::uint32_t version) {
  return {&data.datum(), version};
}

}  // namespace plait::task
