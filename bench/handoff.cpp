// SPDX-License-Identifier: Apache-2.0
// What lending costs: an iteration of a particle-in-cell code whose particles are a collection of patches, whose fields
// and charges are arrays of an MPI code. Lending the fields and giving back the charges, as a part of the iteration,
// beside plain MPI messages of the same bytes between the same ranks.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/drivers.hpp"
#include "support/report.hpp"
#include "support/sides.hpp"
#include "support/stopwatch.hpp"

namespace {

constexpr std::size_t field_count = 6;   // electric and magnetic
constexpr std::size_t source_count = 4;  // charge and current

/// What patches are like.
struct Size {
  std::size_t cells = 24;  ///< Each way, with those around that belong to neighbours.
  std::size_t particles_a_cell = 64;
  std::uint32_t patches_a_rank = 16;
};

/// A patch's part of the MPI code's arrays: cell by cell, what belongs to a cell together.
struct Tile {
  std::span<double> fields;
  std::span<double> sources;
};

/// In memory of its own.
struct OwnTile : Tile {
  explicit OwnTile(std::size_t cells) : memory(cells * cells * (field_count + source_count)) {
    fields = std::span{memory}.first(cells * cells * field_count);
    sources = std::span{memory}.last(cells * cells * source_count);
  }
  std::vector<double> memory;
};

template <std::span<double> Tile::* array>
struct Part {
  static std::size_t size(const Tile& tile) { return (tile.*array).size_bytes(); }
  static void pack(const Tile& tile, plait::Packer& packer) { packer.bytes(std::as_bytes(tile.*array)); }
  static void unpack(Tile& tile, plait::Unpacker& unpacker) { unpacker.bytes(std::as_writable_bytes(tile.*array)); }
};
using Fields = Part<&Tile::fields>;
using Sources = Part<&Tile::sources>;

/// The particles of a patch, which never leave it here: what crosses is not this benchmark's matter.
struct Patch {
  std::vector<double> x, y, vx, vy, vz;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y, vx, vy, vz);
  }

  /// Reads the fields around each particle, turns its velocity by Boris' method, moves it, and adds its charge and
  /// current to the cells around it.
  void move(const Tile& tile, std::size_t cells) {
    std::ranges::fill(tile.sources, 0.0);
    const auto inside = static_cast<double>(cells - 1);
    for (std::size_t p = 0; p < x.size(); ++p) {
      const Corners at{x[p], y[p], cells};
      std::array<double, field_count> f{};
      for (std::size_t corner = 0; corner < 4; ++corner) {
        for (std::size_t i = 0; i < field_count; ++i) {
          f[i] += at.part[corner] * tile.fields[at.cell[corner] * field_count + i];
        }
      }
      turn(p, f);
      x[p] = into(x[p] + vx[p], inside);
      y[p] = into(y[p] + vy[p], inside);
      const Corners after{x[p], y[p], cells};
      for (std::size_t corner = 0; corner < 4; ++corner) {
        double* const source = &tile.sources[after.cell[corner] * source_count];
        source[0] += after.part[corner];
        source[1] += after.part[corner] * vx[p];
        source[2] += after.part[corner] * vy[p];
        source[3] += after.part[corner] * vz[p];
      }
    }
  }

 private:
  struct Corners {
    Corners(double x, double y, std::size_t cells) {
      const auto column = static_cast<std::size_t>(x);
      const auto row = static_cast<std::size_t>(y);
      const double right = x - static_cast<double>(column);
      const double up = y - static_cast<double>(row);
      const std::size_t first = row * cells + column;
      cell = {first, first + 1, first + cells, first + cells + 1};
      part = {(1 - right) * (1 - up), right * (1 - up), (1 - right) * up, right * up};
    }
    std::array<std::size_t, 4> cell;
    std::array<double, 4> part;
  };

  static double into(double place, double end) { return place - end * std::floor(place / end); }

  void turn(std::size_t p, const std::array<double, field_count>& f) {
    const double ax = vx[p] + f[0];
    const double ay = vy[p] + f[1];
    const double az = vz[p] + f[2];
    const double scale = 2 / (1 + f[3] * f[3] + f[4] * f[4] + f[5] * f[5]);
    const double bx = ax + ay * f[5] - az * f[4];
    const double by = ay + az * f[3] - ax * f[5];
    const double bz = az + ax * f[4] - ay * f[3];
    vx[p] = ax + scale * (by * f[5] - bz * f[4]) + f[0];
    vy[p] = ay + scale * (bz * f[3] - bx * f[5]) + f[1];
    vz[p] = az + scale * (bx * f[4] - by * f[3]) + f[2];
  }
};

Patch full_patch(const Size& size, std::uint64_t id) {
  Patch patch;
  const std::size_t count = size.cells * size.cells * size.particles_a_cell;
  std::uint64_t state = id * 2 + 1;
  const auto next = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11U) * 0x1p-53;
  };
  for (std::vector<double>* const all : {&patch.x, &patch.y, &patch.vx, &patch.vy, &patch.vz}) {
    const bool is_place = all == &patch.x || all == &patch.y;
    for (std::size_t i = 0; i < count; ++i) {
      all->push_back(is_place ? next() * static_cast<double>(size.cells - 1) : 0.2 * next() - 0.1);
    }
  }
  return patch;
}

/// One rank of the MPI code, and its particles. Collective.
class Code {
 public:
  Code(plait::Runtime& runtime, const Size& size)
      : runtime_{runtime},
        size_{size},
        shape_{size.patches_a_rank * runtime.rank_count()},
        fields_(cells() * field_count, 1e-3),
        sources_(cells() * source_count),
        patches_{runtime, shape_, [&](plait::ElementId id, plait::Index) { return full_patch(size, id.value()); }},
        lender_{runtime, patches_, settings()} {}

  /// Every rank's first patches go to the next rank: `part` of them.
  void move_away(double part) {
    std::vector<plait::Move> moves;
    const auto count = static_cast<std::uint32_t>(std::lround(part * size_.patches_a_rank));
    for (std::uint32_t i = 0; i < count; ++i) {
      moves.push_back({id(i), next_rank()});
    }
    patches_.migrate(moves);
  }

  void lend() { lender_.lend<Fields>().wait(); }
  void move_particles() {
    patches_.each(
        [&](Patch& patch, plait::ElementContext& context) { patch.move(*lender_.at(context.id()), size_.cells); },
        "move");
  }
  void give_back() { lender_.give_back<Sources>().wait(); }

  /// Particles that the parent's charges account for; all of them when none was lost.
  [[nodiscard]] bool has_all_charge() const {
    double charge = 0;
    for (std::size_t cell = 0; cell < cells(); ++cell) {
      charge += sources_[cell * source_count];
    }
    const auto all = static_cast<double>(cells() * size_.particles_a_cell);
    return std::abs(charge / all - 1) < 1e-9;
  }

  [[nodiscard]] const plait::LendTotals& totals() const { return lender_.totals(); }

 private:
  [[nodiscard]] std::size_t cells() const { return size_.cells * size_.cells * size_.patches_a_rank; }
  [[nodiscard]] plait::ElementId id(std::uint32_t own) const {
    return plait::ElementId{runtime_.self().value() * size_.patches_a_rank + own};
  }
  [[nodiscard]] plait::Rank next_rank() const {
    return plait::Rank{(runtime_.self().value() + 1) % runtime_.rank_count()};
  }

  plait::LendSettings<Tile> settings() {
    plait::LendSettings<Tile> settings{[patches = size_.patches_a_rank](plait::ElementId patch) {
      return plait::Rank{static_cast<std::uint32_t>(patch.value() / patches)};
    }};
    settings.make_copy = [cells = size_.cells](plait::ElementId) { return std::make_shared<OwnTile>(cells); };
    const std::size_t tile = size_.cells * size_.cells;
    for (std::uint32_t i = 0; i < size_.patches_a_rank; ++i) {
      tiles_.push_back({std::span{fields_}.subspan(i * tile * field_count, tile * field_count),
                        std::span{sources_}.subspan(i * tile * source_count, tile * source_count)});
    }
    for (std::uint32_t i = 0; i < size_.patches_a_rank; ++i) {
      settings.pieces.push_back({id(i), &tiles_[i]});
    }
    return settings;
  }

  plait::Runtime& runtime_;
  Size size_;
  plait::Shape shape_;
  std::vector<double> fields_;
  std::vector<double> sources_;
  std::vector<Tile> tiles_;
  plait::Collection<Patch> patches_;
  plait::Lender<Tile> lender_;
};

/// The same bytes to the next rank and back, by plain MPI from buffers that are packed already. Seconds.
double exchange_by_mpi(std::size_t patches, const Size& size) {
  const bench::RawMpi mpi;
  const int next = (bench::RawMpi::rank() + 1) % bench::RawMpi::rank_count();
  const int before = (bench::RawMpi::rank() + bench::RawMpi::rank_count() - 1) % bench::RawMpi::rank_count();
  const std::size_t values = patches * size.cells * size.cells;
  static std::vector<std::byte> out;
  static std::vector<std::byte> in;
  out.resize(values * field_count * sizeof(double));
  in.resize(out.size());
  bench::RawMpi::barrier();
  const bench::Stopwatch watch;
  for (const auto& [to, from, count] :
       {std::tuple{next, before, field_count}, std::tuple{before, next, source_count}}) {
    const std::size_t bytes = values * count * sizeof(double);
    std::array requests{mpi.receive(from, 1, std::span{in}.first(bytes)), mpi.send(to, 1, std::span{out}.first(bytes))};
    bench::RawMpi::wait_all(requests);
  }
  return watch.seconds();
}

class Handoff {
 public:
  Handoff(bench::Report& report, const bench::Driver& driver) : report_{report}, driver_{driver} {}

  void measure(const Size& size, double part_away) {
    plait::Options options = plait::Options::from_environment();
    options.progression.mode = plait::comm::ProgressionMode::none;  // plain MPI is called beside it
    const auto runtime = driver_.start(options);
    Code code{*runtime, size};
    code.move_away(part_away);
    const int repetitions = report_.is_full() ? 60 : 15;
    const auto patches_away = static_cast<std::size_t>(std::lround(part_away * size.patches_a_rank));
    std::vector<double> shares;
    std::vector<double> microseconds;
    std::vector<double> by_mpi;
    for (int i = -2; i < repetitions; ++i) {
      const double plain = patches_away > 0 ? exchange_by_mpi(patches_away, size) : 0;
      bench::RawMpi::barrier();
      const bench::Stopwatch whole;
      code.lend();
      const double lending = whole.seconds();
      code.move_particles();
      const bench::Stopwatch back;
      code.give_back();
      const double handing = lending + back.seconds();
      const double iteration = whole.seconds();
      if (!code.has_all_charge()) {
        fmt::print(stderr, "bench_handoff: charge was lost between the particles and the MPI code\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
      if (i >= 0) {  // the first ones make copies and buffers
        shares.push_back(100 * handing / iteration);
        microseconds.push_back(1e6 * handing);
        by_mpi.push_back(1e6 * plain);
      }
    }
    const std::map<std::string, std::string> params{{"driver", driver_.name},
                                                    {"cells", fmt::format("{0} x {0}", size.cells)},
                                                    {"particles/cell", std::to_string(size.particles_a_cell)},
                                                    {"away", fmt::format("{:.0f} %", 100 * part_away)}};
    report_.add({.name = "part of an iteration", .params = params, .value = shares, .unit = "%"});
    bench::Row times{.name = "lend and give back", .params = params, .value = microseconds, .unit = "us"};
    if (patches_away > 0) {
      times.peers = {{"plain MPI", bench::median(by_mpi), std::ranges::min(by_mpi)}};
    }
    report_.add(times);
  }

 private:
  bench::Report& report_;
  bench::Driver driver_;
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report{"handoff",
                       "lending an MPI code's fields to the elements of a collection and taking charges back is below "
                       "3 % of an iteration",
                       2,
                       argc,
                       argv};
  const plait::MpiSession session{argc, argv};
  bench::rank_of(2, 2);
  for (const bench::Driver& driver : report.is_full() ? bench::drivers() : std::vector{bench::default_driver()}) {
    Handoff handoff{report, driver};
    for (const std::size_t cells :
         report.is_full() ? std::vector<std::size_t>{16, 24, 32} : std::vector<std::size_t>{24}) {
      for (const double away : {0.0, 0.25, 0.5, 1.0}) {
        handoff.measure({.cells = cells}, away);
      }
    }
  }
  report.note("away: patches that are not on the rank of their fields; the others work on the MPI code's memory");
  report.finish();
}
