// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include "plait/base/error.hpp"

namespace plait {

/// Base class of objects that come and go millions of times a second: `new Object` takes the memory that `delete` has
/// left, which each thread keeps for up to `spare_max` objects, and frees at its end.
///
/// In builds with checks the memory is freed at once, so that a sanitizer sees uses of objects that have ended.
/// Threads: any; an object may end in another thread than it began in.
template <class Object, std::size_t spare_max = 1024, bool keeps = !has_checks>
class Recycled {
 public:
  [[nodiscard]] static void* operator new(std::size_t bytes) {
    Spares& spares = spares_;
    Spare* const taken = spares.first;
    if (taken == nullptr || bytes != sizeof(Object)) {
      return ::operator new(bytes);
    }
    spares.first = taken->next;
    --spares.count;
    return taken;
  }
  static void operator delete(void* memory, std::size_t bytes) noexcept {
    Spares& spares = spares_;
    if (!keeps || bytes != sizeof(Object) || spares.count >= spare_max) {
      ::operator delete(memory);  // without the size: Clang before 19 has the other one by an option only
      return;
    }
    if (spares.first == nullptr) [[unlikely]] {
      thread_local const Ending at_the_end;
    }
    spares.first = ::new (memory) Spare{spares.first};
    ++spares.count;
  }

 protected:
  Recycled() = default;

 private:
  struct Spare {
    Spare* next;
  };
  /// Without constructor and destructor: access to it needs no check whether they have run.
  struct Spares {
    Spare* first;
    std::size_t count;
  };
  /// Frees what the thread has kept.
  struct Ending {
    Ending() = default;
    Ending(const Ending&) = delete;
    Ending& operator=(const Ending&) = delete;
    ~Ending() {
      Spares& spares = spares_;
      while (spares.first != nullptr) {
        ::operator delete(std::exchange(spares.first, spares.first->next));
      }
      spares.count = spare_max;  // objects that end later in this thread leave nothing
    }
  };

  static inline constinit thread_local Spares spares_{nullptr, 0};
};

}  // namespace plait
