// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "plait/plait.hpp"

#include "cholesky/layout.hpp"
#include "cholesky/tile_work.hpp"

namespace cholesky {

/// What the flows of the factorisations are written with: a flow, the tiles of its matrix, and where work is counted.
/// Borrows all.
class TileFlow {
 public:
  /// `local`: this rank's tiles, in whose memory the matrix stands.
  TileFlow(plait::Flow& flow, const Layout& layout, Part part, const LocalTiles& local, TileWork& work);

  [[nodiscard]] plait::Flow& flow() const { return flow_; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  [[nodiscard]] TileWork& work() const { return work_; }
  [[nodiscard]] const plait::Data<double>& at(std::size_t row, std::size_t column) const {
    return data_[row * layout_.count() + column];
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
