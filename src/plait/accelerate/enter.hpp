// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/accelerate/entry.hpp"

namespace plait::accelerate {

/// All functions of this MPI; make_entries.py writes it.
[[nodiscard]] std::span<Entry> entries() noexcept;

/// Names of functions of messages that this MPI does not have. Where the program's MPI has them, the engine would miss
/// messages.
[[nodiscard]] std::span<const char* const> unknown_functions() noexcept;

/// The MPI library's function for each entry, in a program that is linked with them; make_entries.py writes it.
[[nodiscard]] std::span<void (*const)()> linked_functions() noexcept;

/// Finds the MPI library's own function. Ends the process with an error message if there is none.
[[nodiscard]] void* find(Entry& entry) noexcept;

/// Loads the engine before the first MPI_Init, unless it is switched off.
void load_engine() noexcept;
/// Finds the engine and starts it, unless it is not for the program's MPI.
void start_engine(const Preload& offered) noexcept;

extern constinit thread_local bool is_inside;
/// Calls of the MPI library that have not returned.
extern constinit std::atomic<int> calls_of_library;

/// A call by the program: calls what is routed, else the MPI library. What the callee calls goes to the MPI library.
template <class Signature, class... Arguments>
auto enter(Entry& entry, Arguments... arguments) {
  const auto real = [&] {
    void* found = entry.real.load(std::memory_order_relaxed);  // any finder gets the same value
    struct Counted {
      Counted() { calls_of_library.fetch_add(1, std::memory_order_relaxed); }  // a hint; orders nothing
      Counted(const Counted&) = delete;
      Counted& operator=(const Counted&) = delete;
      ~Counted() { calls_of_library.fetch_sub(1, std::memory_order_relaxed); }
    } const counted;
    return reinterpret_cast<Signature*>(found != nullptr ? found : find(entry))(arguments...);
  };
  if (is_inside) {
    return real();
  }
  struct Inside {
    Inside() { is_inside = true; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside() { is_inside = false; }
  } const inside;
  void* const routed = entry.routed.load(std::memory_order_acquire);  // with release in the engine
  return routed != nullptr ? reinterpret_cast<Signature*>(routed)(arguments...) : real();
}

}  // namespace plait::accelerate
