// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/task/flow/coroutine.hpp"
#include "plait/task/flow/data.hpp"
#include "plait/task/flow/detail/record.hpp"

namespace plait::task::detail {

/// What a kernel is called with for one access.
template <class Accessed>
[[nodiscard]] auto argument(Record& record, std::size_t use) {
  using Element = typename Accessed::Value;
  if constexpr (Accessed::mode == Mode::later) {
    return Later<std::remove_const_t<Element>>{record, use};
  } else {
    const std::span<std::byte> bytes = record.bytes_of(use);
    return std::span<Element>{reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
  }
}

/// Calls a task's kernel with what its accesses stand for; leaves a coroutine's frame in the record.
template <class Kernel, class... Accesses>
void call_kernel(Record& record, [[maybe_unused]] TaskContext& context) {
  auto& kernel = record.kernel.template get<Kernel>();
  [&]<std::size_t... Index>(std::index_sequence<Index...> /*indices*/) {
    if constexpr (std::is_invocable_v<Kernel&, TaskContext&, decltype(argument<Accesses>(record, Index))...>) {
      kernel(context, argument<Accesses>(record, Index)...);
    } else {
      static_assert(std::is_invocable_v<Kernel&, decltype(argument<Accesses>(record, Index))...>,
                    "a kernel takes a span for each access: of const elements for r(), a Later for later()");
      using Result = std::invoke_result_t<Kernel&, decltype(argument<Accesses>(record, Index))...>;
      if constexpr (std::is_same_v<Result, Coroutine>) {
        static_assert(((Accesses::mode != Mode::commute && Accesses::mode != Mode::reduce) && ...),
                      "a coroutine cannot exclude others while it is suspended: declare rw()");
        const auto handle = kernel(argument<Accesses>(record, Index)...).release();
        handle.promise().record = &record;
        record.coroutine = handle;
      } else {
        static_assert(((Accesses::mode != Mode::later) && ...), "only a coroutine can take a datum later()");
        kernel(argument<Accesses>(record, Index)...);
      }
    }
  }(std::index_sequence_for<Accesses...>{});
}

/// Calls a task's kernel with the bytes of all its accesses.
template <class Kernel>
void call_kernel_with_bytes(Record& record, TaskContext& context) {
  constexpr std::size_t usual_count = 8;
  std::array<std::span<std::byte>, usual_count> few;
  std::vector<std::span<std::byte>> many;
  std::span<std::span<std::byte>> bytes{few};
  if (record.uses.size() > usual_count) {
    many.resize(record.uses.size());
    bytes = many;
  }
  for (std::size_t use = 0; use < record.uses.size(); ++use) {
    bytes[use] = record.bytes_of(use);
  }
  record.kernel.template get<Kernel>()(context, std::span<const std::span<std::byte>>{bytes.first(record.uses.size())});
}

}  // namespace plait::task::detail
