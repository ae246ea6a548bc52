// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace plait::task::detail {

/// A callable of any type, in place up to `bytes`, else on the heap. Its user knows the type. Threads: one at a time.
template <std::size_t bytes>
class KernelStorage {
 public:
  KernelStorage() = default;
  KernelStorage(const KernelStorage&) = delete;
  KernelStorage& operator=(const KernelStorage&) = delete;
  ~KernelStorage() { reset(); }

  /// Expects: it is empty.
  template <class Kernel>
  std::decay_t<Kernel>& emplace(Kernel&& made) {
    using Kept = std::decay_t<Kernel>;
    if constexpr (sizeof(Kept) <= bytes && alignof(Kept) <= alignof(std::max_align_t)) {
      kernel_ = ::new (static_cast<void*>(place_)) Kept(std::forward<Kernel>(made));
      destroy_ = [](void* kernel) noexcept { std::destroy_at(static_cast<Kept*>(kernel)); };
    } else {
      kernel_ = new Kept(std::forward<Kernel>(made));
      destroy_ = [](void* kernel) noexcept { delete static_cast<Kept*>(kernel); };
    }
    return *static_cast<Kept*>(kernel_);
  }
  /// Expects: a `Kernel` is there.
  template <class Kernel>
  [[nodiscard]] Kernel& get() const noexcept {
    return *static_cast<Kernel*>(kernel_);
  }
  [[nodiscard]] bool has_value() const noexcept { return kernel_ != nullptr; }
  void reset() noexcept {
    if (kernel_ != nullptr) {
      destroy_(std::exchange(kernel_, nullptr));
    }
  }

 private:
  void* kernel_ = nullptr;
  void (*destroy_)(void* kernel) noexcept = nullptr;
  alignas(std::max_align_t) std::byte place_[bytes]{};
};

}  // namespace plait::task::detail
