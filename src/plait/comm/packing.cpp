// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/packing.hpp"

#include <algorithm>
#include <array>
#include <ranges>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

namespace plait::comm {

std::unique_ptr<Packing> make_packing(std::string_view name) {
  using Make = std::unique_ptr<Packing> (*)();
  constexpr std::array<std::pair<std::string_view, Make>, 3> all{{{"immediate", make_immediate_packing},
                                                                  {"aggregate", make_aggregate_packing},
                                                                  {"priority", make_priority_packing}}};
  const auto found = std::ranges::find(all, name, [](const auto& entry) { return entry.first; });
  if (found == all.end()) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format(
            "there is no packing strategy '{}': choose one of {}", name, fmt::join(all | std::views::keys, ", "))};
  }
  return found->second();
}

}  // namespace plait::comm
