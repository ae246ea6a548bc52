// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "plait/base/id.hpp"

namespace plait {

/// The kind of an `Error`, for programs; `what()` is for people.
enum class ErrorCode : std::uint8_t {
  bad_argument,   ///< An argument is invalid.
  bad_input,      ///< A file or an option is missing, malformed or contradicts another.
  io,             ///< The system refused to read or write.
  truncated,      ///< A message was longer than the buffer of the receive that it matched.
  out_of_memory,  ///< A message was longer than the memory that is left.
  network,        ///< The network failed; `rank()` is the peer if one is known.
  peer_failed,    ///< Another rank stopped the run; the sentence is its own.
  timeout,        ///< No progress within the time limit.
  user_task,      ///< A task's body threw an exception that is no `Error`.
};

[[nodiscard]] const char* to_string(ErrorCode code) noexcept;

/// An error that the library cannot handle. `what()` describes what is wrong, where, and what to do.
class Error : public std::runtime_error {
 public:
  explicit Error(ErrorCode code, const std::string& sentence, Rank rank = {})
      : std::runtime_error{sentence}, code_{code}, rank_{rank} {}

  [[nodiscard]] ErrorCode code() const noexcept { return code_; }
  /// The rank concerned; invalid if there is none.
  [[nodiscard]] Rank rank() const noexcept { return rank_; }

 private:
  ErrorCode code_;
  Rank rank_;
};

/// Throws an `Error` with `bad_argument` unless `fact` is true: for mistakes of the caller, checked in all builds.
inline void require(bool fact, const char* sentence) {
  if (!fact) {
    throw Error{ErrorCode::bad_argument, sentence};
  }
}

/// A value or an error, for files and options.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_{std::move(value)} {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_{std::move(error)} {}  // NOLINT(google-explicit-constructor)

  explicit operator bool() const noexcept { return std::holds_alternative<T>(state_); }

  /// Returns the value. Throws the error when there is none.
  [[nodiscard]] T& value() & {
    if (const Error* trouble = std::get_if<Error>(&state_)) {
      throw *trouble;
    }
    return std::get<T>(state_);
  }
  [[nodiscard]] T&& value() && { return std::move(value()); }

  /// Expects: there is no value.
  [[nodiscard]] const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

namespace detail {
[[noreturn]] void expectation_failed(const char* why, const std::source_location& where) noexcept;
}

/// Whether `expect` checks: in all builds but release.
#ifdef PLAIT_CHECKS
inline constexpr bool has_checks = true;
#else
inline constexpr bool has_checks = false;
#endif

/// Ends the program with `why` and the place, when `fact` is false. For mistakes of the programmer; checked in
/// all builds but release.
inline void expect(bool fact, const char* why, const std::source_location& where = std::source_location::current()) {
  if (has_checks && !fact) [[unlikely]] {
    detail::expectation_failed(why, where);
  }
}

}  // namespace plait
