// SPDX-License-Identifier: Apache-2.0
// ranks: 2
// Step 3: balancing. Tiles of fuel go to ranks that have time for them, and stay there while MPI computes; only their
// temperatures and heat travel.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <mpi.h>

#include "plait/plait.hpp"

namespace {

constexpr int cells = 96;  // of the plate, each way
constexpr int tile = 8;    // edge of what burns independently, in cells
constexpr int tiles = cells / tile;
constexpr int step_count = 30;

/// The cells of a tile, in rows that may be non-contiguous: all that burning accesses of the plate.
struct Cells {
  double* temperature;
  double* heat;  // that burning releases
  int stride;    // from row to row
};

/// The same in memory of its own, for a tile that is on another rank than its rows.
struct OwnCells : Cells {
  OwnCells() : Cells{} {
    temperature = temperatures.data();
    heat = heats.data();
    stride = tile;
  }
  std::array<double, tile * tile> temperatures{};
  std::array<double, tile * tile> heats{};
};

/// How one of the two travels.
template <double* Cells::* array>
struct Rows {
  static std::size_t size(const Cells& /*plate*/) { return tile * tile * sizeof(double); }
  static void pack(const Cells& plate, plait::Packer& packer) {
    for (int y = 0; y < tile; ++y) {
      packer.bytes(std::as_bytes(std::span{plate.*array + y * plate.stride, tile}));
    }
  }
  static void unpack(Cells& plate, plait::Unpacker& unpacker) {
    for (int y = 0; y < tile; ++y) {
      unpacker.bytes(std::as_writable_bytes(std::span{plate.*array + y * plate.stride, tile}));
    }
  }
};
using Temperatures = Rows<&Cells::temperature>;
using Heats = Rows<&Cells::heat>;

/// The fuel in a tile, which only burning accesses.
struct Fuel {
  std::array<double, tile * tile> left{};

  void burn(const Cells& plate) {
    for (int y = 0; y < tile; ++y) {
      for (int x = 0; x < tile; ++x) {
        const double temperature = plate.temperature[y * plate.stride + x];
        plate.heat[y * plate.stride + x] = burn_cell(left[y * tile + x], temperature);
      }
    }
  }

  static double burn_cell(double& fuel, double temperature) {
    if (fuel < 1e-9) {
      return 0;
    }
    const int short_steps = 1 + static_cast<int>(200 * std::min(temperature, 5.0));
    double heat = 0;
    for (int i = 0; i < short_steps; ++i) {
      const double now = temperature + heat;
      const double burnt = fuel * now * now / (1 + now * now) / (4.0 * short_steps);
      fuel -= burnt;
      heat += 2 * burnt;
    }
    return heat;
  }
};

/// This rank's rows of the plate, with one more above and below for the neighbours'.
class Plate {
 public:
  Plate(int rank, int rank_count)
      : rank_{rank}, rank_count_{rank_count}, first_{first_row(rank)}, rows_{first_row(rank + 1) - first_} {
    temperature_.assign((rows_ + 2) * cells, 0.1);
    heat_.assign(rows_ * cells, 0.0);
    for (int y = std::max(first_, 4); y < std::min(first_ + rows_, 12); ++y) {  // where it is lit
      std::fill_n(&temperature_[(y - first_ + 1) * cells + 40], 16, 2.0);
    }
  }

  [[nodiscard]] int first_row() const { return first_; }
  [[nodiscard]] int rows() const { return rows_; }

  /// The cells of the tile at column `x` and row `y`, counted in tiles from this rank's first.
  Cells cells_of(int x, int y) {
    return {&temperature_[(y * tile + 1) * cells + x * tile], &heat_[y * tile * cells + x * tile], cells};
  }

  void let_heat_flow() {
    exchange_borders();
    std::vector<double> next = temperature_;
    for (int y = 1; y <= rows_; ++y) {
      for (int x = 0; x < cells; ++x) {
        const int at = y * cells + x;
        const double left = temperature_[at - (x > 0 ? 1 : 0)];
        const double right = temperature_[at + (x < cells - 1 ? 1 : 0)];
        const double around = left + right + temperature_[at - cells] + temperature_[at + cells];
        next[at] += 0.2 * (around - 4 * temperature_[at]) + heat_[at - cells];
      }
    }
    std::ranges::copy(next, temperature_.begin());
  }

  /// The maximum over all ranks.
  [[nodiscard]] double hottest() const {
    double hottest = *std::ranges::max_element(temperature_);
    MPI_Allreduce(MPI_IN_PLACE, &hottest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return hottest;
  }

  /// The sum over all ranks, of whole numbers: it does not depend on the order of additions.
  [[nodiscard]] long long checksum() const {
    long long sum = 0;
    for (const double temperature : std::span{temperature_}.subspan(cells, rows_ * cells)) {
      sum += std::llround(temperature * 1e6);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    return sum;
  }

 private:
  /// The first row of a rank: each has whole rows of tiles.
  [[nodiscard]] int first_row(int rank) const { return tiles * rank / rank_count_ * tile; }

  void exchange_borders() {
    const int above = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL;
    const int below = rank_ < rank_count_ - 1 ? rank_ + 1 : MPI_PROC_NULL;
    double* first = &temperature_[cells];
    double* last = &temperature_[rows_ * cells];
    std::copy_n(first, cells, first - cells);  // the border of the plate keeps its temperature
    std::copy_n(last, cells, last + cells);
    MPI_Sendrecv(first,
                 cells,
                 MPI_DOUBLE,
                 above,
                 0,
                 last + cells,
                 cells,
                 MPI_DOUBLE,
                 below,
                 0,
                 MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(last,
                 cells,
                 MPI_DOUBLE,
                 below,
                 1,
                 first - cells,
                 cells,
                 MPI_DOUBLE,
                 above,
                 1,
                 MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
  }

  int rank_;
  int rank_count_;
  int first_;
  int rows_;
  std::vector<double> temperature_;
  std::vector<double> heat_;
};

/// More fuel at the top, where it is lit.
Fuel fuel_at(std::uint32_t x, std::uint32_t y) {
  Fuel fuel;
  fuel.left.fill(y < tiles / 3 && x > 1 && x < tiles - 2 ? 2.0 : 0.1);
  return fuel;
}

void run() {
  int rank = 0;
  int rank_count = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &rank_count);
  plait::Runtime runtime{MPI_COMM_WORLD};
  Plate plate{rank, rank_count};
  const int first_tile = plate.first_row() / tile;
  const int tile_rows = plate.rows() / tile;

  const plait::Shape shape{tiles, tiles};
  const auto rank_of_rows = [=](plait::ElementId id) {
    return plait::Rank{((shape.index(id).y + 1) * rank_count - 1) / tiles};
  };
  plait::Collection<Fuel> fuels{
      runtime, shape, [](plait::ElementId, plait::Index at) { return fuel_at(at.x, at.y); }, {.mapping = rank_of_rows}};

  std::vector<Cells> mine;
  for (int y = 0; y < tile_rows; ++y) {
    for (int x = 0; x < tiles; ++x) {
      mine.push_back(plate.cells_of(x, y));
    }
  }
  plait::LendSettings<Cells> settings{rank_of_rows};
  settings.make_copy = [](plait::ElementId) { return std::make_shared<OwnCells>(); };
  for (std::size_t i = 0; i < mine.size(); ++i) {
    settings.pieces.push_back({plait::ElementId{first_tile * tiles + i}, &mine[i]});
  }
  plait::Lender<Cells> lender{runtime, fuels, settings};

  double hottest = 0;
  for (int step = 0; step < step_count; ++step) {
    lender.lend<Temperatures>();
    fuels.each([&](Fuel& fuel, plait::ElementContext& context) { fuel.burn(*lender.at(context.id())); },
               {.name = "burn", .gate = &lender.gate()});  // each starts when its temperatures are there
    lender.give_back<Heats>().wait();
    if (step % 5 == 0) {
      plait::data::rebalance(runtime, fuels, "greedy");
    }
    plate.let_heat_flow();
    hottest = std::max(hottest, plate.hottest());
  }

  const long long checksum = plate.checksum();
  if (rank == 0) {
    std::printf("%d steps: hottest %.6f, checksum %lld\n", step_count, hottest, checksum);
  }
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);  // no thread but this one calls MPI
  run();
  MPI_Finalize();
}
