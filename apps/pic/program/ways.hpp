// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "plait/plait.hpp"

#include "pic/program/settings.hpp"
#include "pic/ranks.hpp"
#include "pic/way.hpp"

namespace pic {

/// What ways are made on.
struct WayContext {
  Ranks& ranks;
  plait::Runtime* runtime = nullptr;  ///< Of the same ranks; null unless the way or checkpoints need one.
};

template <int D>
using WayMaker = std::unique_ptr<GridWay<D>> (*)(Problem<D> problem,
                                                 const RunSettings& settings,
                                                 const WayContext& context);

/// One line of the table of ways.
struct WayKind {
  std::string_view name;
  std::string_view help;
  bool needs_runtime = false;
  bool can_balance = true;
  WayMaker<2> make_2 = nullptr;
  WayMaker<3> make_3 = nullptr;
};

[[nodiscard]] std::span<const WayKind> way_kinds() noexcept;
/// Throws: `plait::Error` that lists the ways.
[[nodiscard]] const WayKind& find_way(std::string_view name);

}  // namespace pic
