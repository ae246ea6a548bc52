// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <vector>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"
#include "cholesky/tile_work.hpp"

namespace cholesky {

/// A task that works on tile (row, column) in step `step`, which factors tile (step, step).
struct TaskPlace {
  std::size_t row = 0;
  std::size_t column = 0;
  std::size_t step = 0;
};
/// The number of tasks on the longest way from a task to the end, itself counted, as if all took equally long: what is
/// left to do on its tile, and three tasks for each step after it, which are a solve, an update, the next
/// factorisation.
[[nodiscard]] int priority(const Layout& layout, const TaskPlace& place);

/// What the flows of the factorisations are written with: a flow, the tiles of its matrix, and where work is counted.
/// Borrows all.
class TileFlow {
 public:
  /// `local`: this rank's tiles, whose memory holds the matrix.
  TileFlow(plait::Flow& flow, const Layout& layout, Part part, const LocalTiles& local, TileWork& work);

  [[nodiscard]] plait::Flow& flow() const { return flow_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] const plait::Data<double>& at(std::size_t row, std::size_t column) const {
    return data_[row * layout_.count() + column];
  }

  /// Submits a task whose kernel is counted and timed.
  template <class Kernel, class... Accesses>
  void submit(const plait::FlowKind& kind,
              const TaskPlace& place,
              const Kernel& kernel,
              const Accesses&... accesses) const {
    flow_.submit(
        {.kind = kind, .priority = priority(layout_, place)},
        [&work = work_, kernel](const auto&... data)
          requires std::invocable<const Kernel&, decltype(data)...>
        { work.measure([&] { kernel(data...); }); },
        accesses...);
  }

 private:
  plait::Flow& flow_;
  const Layout& layout_;
  TileWork& work_;
  std::vector<plait::Data<double>> data_;
};

/// Submits A = L L^T. A minor that is not positive ends the run with `bad_input` and its order.
void submit_cholesky(const TileFlow& tiles);
/// Submits A = L U without pivoting. A pivot that is 0 ends the run with `bad_input` and its row.
void submit_lu(const TileFlow& tiles);

}  // namespace cholesky
