// SPDX-License-Identifier: Apache-2.0
// Gravity in periodic boxes: a tree with a cut-off, and beside it, in the same graph, the mesh.
#include "plait/particle_mesh/periodic_gravity.hpp"

#include <algorithm>
#include <complex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_gather.hpp"
#include "plait/fft/execution.hpp"
#include "plait/fft/plan.hpp"
#include "plait/particle_mesh/detail/influence.hpp"
#include "plait/particle_mesh/detail/mesh_patch.hpp"
#include "plait/particle_mesh/detail/patch_columns.hpp"
#include "plait/particle_mesh/detail/patch_overlaps.hpp"
#include "plait/particle_mesh/detail/spline.hpp"
#include "plait/particle_mesh/detail/split_kernels.hpp"
#include "plait/particle_mesh/force_split.hpp"

namespace plait::particles {

namespace {

using detail::MeshPatch;
using detail::MeshValue;
using detail::overlaps_of;
using detail::PatchColumns;
using detail::PatchOverlap;
using detail::PeriodicMesh;
using fft::Index;
using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr Tag charge_tag{1};
constexpr Tag potential_tag{2};

PeriodicMesh mesh_of(const PeriodicGravityOptions& options) {
  const Vector edges = options.box.high - options.box.low;
  const auto refuse = [](const std::string& why) { throw Error{ErrorCode::bad_argument, "periodic gravity: " + why}; };
  if (!(edges.x > 0) || !(edges.y > 0) || !(edges.z > 0)) {
    refuse(
        fmt::format("the box has edges {}, {}, {}: give `box`, that of the system's space", edges.x, edges.y, edges.z));
  }
  for (const Index length : options.mesh) {
    if (length < detail::spline_order) {
      refuse(fmt::format("a mesh of {} x {} x {} points is too small: each axis needs at least {}",
                         options.mesh[0],
                         options.mesh[1],
                         options.mesh[2],
                         detail::spline_order));
    }
  }
  const LongRangeOptions& tree = options.tree;
  if (tree.cutoff != 0 || tree.kernel || tree.near_radius != 0 || tree.keeps_lists) {
    refuse("the tree's cutoff, kernel, near_radius and keeps_lists must be unset");
  }
  return PeriodicMesh::over(options.box, options.mesh);
}

ForceSplit split_of(const PeriodicGravityOptions& options, const PeriodicMesh& mesh) {
  const double scale = options.split * std::max({mesh.spacing.x, mesh.spacing.y, mesh.spacing.z});
  const ForceSplit split{scale, options.cutoff * scale};
  const Vector edges = options.box.high - options.box.low;
  const double half = std::min({edges.x, edges.y, edges.z}) / 2;
  if (split.cutoff() > half) {
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("periodic gravity: the cut-off {} is more than half of the box, {}: give a finer mesh, or a "
                    "smaller split or cutoff",
                    split.cutoff(),
                    half)};
  }
  return split;
}

/// The force of a cell varies faster with distance than in an open box. With the distance at which cells are opened
/// this much larger, the default angle has errors below 1e-3 in lattices, too, where the forces of neighbours cancel.
constexpr double opening_factor = 1.25;

LongRangeOptions tree_of(const PeriodicGravityOptions& options, const ForceSplit& split, ChargeSigns signs) {
  LongRangeOptions tree = options.tree;
  tree.theta /= opening_factor;
  tree.cutoff = split.cutoff();
  tree.signs = signs;
  tree.kernel = [split, order = tree.order](const KernelWork& work) { detail::sum_short_range(work, split, order); };
  return tree;
}

/// The points that this rank shares with another, or with itself.
struct MeshPeer {
  Rank rank;
  std::vector<PatchOverlap> mine;    ///< Of its own patch with the other's part of the mesh.
  std::vector<PatchOverlap> theirs;  ///< Of the other's patch with its own part.
  Bytes charges_out, charges_in, potentials_out, potentials_in;
};

/// The parts that an interaction sums.
enum class Summed : std::uint8_t { all, mesh };

class PeriodicGravity final : public Interaction {
 public:
  PeriodicGravity(comm::Endpoint& messages,
                  task::Scheduler& scheduler,
                  const PeriodicGravityOptions& options,
                  Summed summed)
      : options_{options},
        mesh_{mesh_of(options)},
        split_{split_of(options, mesh_)},
        tree_{summed == Summed::all ? make_long_range(tree_of(options, split_, ChargeSigns::apart)) : nullptr},
        influence_{mesh_, split_.scale()},
        group_{messages},
        plan_{messages, scheduler, mesh_.lengths, {.effort = options.effort}},
        charges_(static_cast<std::size_t>(plan_.physical().size())),
        spectrum_(static_cast<std::size_t>(plan_.spectral().size())),
        potentials_(charges_.size()),
        forward_{plan_, charges_, spectrum_},
        backward_{plan_, spectrum_, potentials_},
        extents_(messages.rank_count()) {}

  std::vector<Task> add_building_tasks(const StepFrame& frame, Task after) override {
    const Space& space = frame.space;
    if (!space.periodic[0] || !space.periodic[1] || !space.periodic[2] || space.root.low != options_.box.low ||
        space.root.high != options_.box.high) {
      throw Error{ErrorCode::bad_argument,
                  "periodic gravity: the system's space is not its box, or not periodic along all axes"};
    }
    if (space.has_shear()) {
      throw Error{
          ErrorCode::bad_argument,
          "periodic gravity: a mesh over all images cannot shear: use LongRangeOptions, whose nearest images do"};
    }
    store_ = &frame.store;
    phases_.resize(frame.worker_count);
    return tree_ ? tree_->add_building_tasks(frame, after) : std::vector<Task>{};
  }

  std::vector<Task> add_refreshing_tasks(const StepFrame& frame, Task after) override {
    return tree_ ? tree_->add_refreshing_tasks(frame, after) : std::vector<Task>{};
  }

  std::vector<Task> add_summing_tasks(const StepFrame& frame, Task after, Task end) override {
    task::Graph& graph = frame.graph;
    const std::size_t before = graph.task_count();
    gather_kind_ = graph.kind("mesh: gather extents");
    charge_kind_ = graph.kind("mesh: exchange charges");
    potential_kind_ = graph.kind("mesh: exchange potentials");
    influence_kind_ = graph.kind("mesh: potential");
    force_kind_ = graph.kind("mesh: forces");
    cover_kind_ = graph.kind("mesh: cover");
    sort_kind_ = graph.kind("mesh: sort");
    deposit_kind_ = graph.kind("mesh: deposit");
    collect_kind_ = graph.kind("mesh: collect");
    const auto timed = [this](auto work) {
      return [this, work](TaskContext& context) {
        const PhaseTimer timer{phases_[context.worker().value()], Phase::mesh};
        (this->*work)(context);
      };
    };
    Task cover = graph.task("mesh: cover", timed(&PeriodicGravity::cover));
    Task sort = graph.task("mesh: sort", timed(&PeriodicGravity::sort));
    Task gather = graph.task("mesh: gather extents", timed(&PeriodicGravity::gather_extents));
    Task send = graph.task("mesh: exchange charges", timed(&PeriodicGravity::send_charges));
    Task collect = graph.task("mesh: collect charges", timed(&PeriodicGravity::collect_charges));
    Task potential = graph.task("mesh: potential", timed(&PeriodicGravity::apply_influence));
    Task spread = graph.task("mesh: exchange potentials", timed(&PeriodicGravity::send_potentials));
    Task unpack = graph.task("mesh: collect potentials", timed(&PeriodicGravity::collect_potentials));
    Task forces = graph.task("mesh: forces", timed(&PeriodicGravity::add_forces));
    cover.after(after);
    sort.after(cover);
    gather.after(sort);
    Task deposited = sort;
    for (std::uint32_t colour = 0; colour < PatchColumns::colours; ++colour) {
      Task deposit =
          graph.task("mesh: deposit", [this, colour](TaskContext& context) { deposit_colour(context, colour); });
      deposit.after(deposited);
      deposited = deposit;
    }
    send.after(gather).after(deposited);
    collect.after(send);
    const auto join = [](const fft::Tasks& transform, Task earlier, Task later) {
      for (fft::Part part : transform.reads) {
        part.task.after(earlier);
      }
      for (const fft::Part& part : transform.writes) {
        later.after(part.task);
      }
    };
    join(forward_.add_to(graph), collect, potential);
    join(backward_.add_to(graph), potential, spread);
    Task walked = graph.join("mesh: trees walked");
    if (tree_) {
      tree_->add_summing_tasks(frame, after, walked);
    } else {
      walked.after(after);
    }
    unpack.after(spread);
    forces.after(unpack).after(walked);
    end.after(forces);
    const std::span<const Task> added = graph.all().subspan(before);
    return {added.begin(), added.end()};
  }

  void clear_results(Particles& store, std::size_t first, std::size_t last) override {
    if (tree_) {
      tree_->clear_results(store, first, last);
      return;
    }
    std::ranges::fill(store[options_.tree.acceleration].subspan(first, last - first), Vector{});
    std::ranges::fill(store[options_.tree.potential].subspan(first, last - first), 0.0);
  }

  void take_times(StepTimes& times) override {
    if (tree_) {
      tree_->take_times(times);
    }
    for (PhaseTimes& phases : phases_) {
      move_times(phases, times.phases);
    }
  }
  [[nodiscard]] const Tree* tree() const noexcept override { return tree_ ? tree_->tree() : nullptr; }

 private:
  /// What other ranks must know of one.
  struct Extent {
    fft::IndexBox patch;
    fft::IndexBox part;
  };

  // ---- charges ----

  /// Spawns `work(piece, first, last)` for pieces of `count` things.
  template <class Work>
  void spawn_pieces(TaskContext& context, TaskKind kind, std::size_t count, Work work) {
    const std::uint32_t pieces = piece_count();
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      const std::size_t first = count * piece / pieces;
      const std::size_t last = count * (piece + 1) / pieces;
      context.spawn(kind, [this, work, piece, first, last](TaskContext& inner) {
        const PhaseTimer timer{phases_[inner.worker().value()], Phase::mesh};
        work(piece, first, last);
      });
    }
  }
  /// Two for each worker, as other tasks run beside them.
  [[nodiscard]] std::uint32_t piece_count() const {
    return phases_.size() == 1 ? 1 : static_cast<std::uint32_t>(2 * phases_.size());
  }

  void cover(TaskContext& context) {
    boxes_.assign(piece_count(), {});
    spawn_pieces(
        context, cover_kind_, store_->size(), [this](std::uint32_t piece, std::size_t first, std::size_t last) {
          boxes_[piece] =
              MeshPatch::points_around(mesh_, std::as_const(*store_).positions().subspan(first, last - first));
        });
  }

  void sort(TaskContext& context) {
    fft::IndexBox box;
    for (const fft::IndexBox& piece : boxes_) {
      box = detail::joined(box, piece);
    }
    patch_.cover(mesh_, box);
    columns_.begin(box, piece_count());
    spawn_pieces(context, sort_kind_, store_->size(), [this](std::uint32_t piece, std::size_t first, std::size_t last) {
      patch_.clear(piece, piece_count());
      columns_.sort_piece(piece, mesh_, std::as_const(*store_).positions().subspan(first, last - first), first);
    });
  }

  void deposit_colour(TaskContext& context, std::uint32_t colour) {
    for (std::uint32_t column = 0; column < columns_.columns(); ++column) {
      if (columns_.colour_of(column) == colour && columns_.has_particles(column)) {
        context.spawn(deposit_kind_, [this, column](TaskContext& inner) {
          const PhaseTimer timer{phases_[inner.worker().value()], Phase::mesh};
          deposit_column(column);
        });
      }
    }
  }

  void deposit_column(std::uint32_t column) {
    const std::span<const Vector> places = std::as_const(*store_).positions();
    const auto kinds = std::as_const(*store_)[Particles::kind];
    const auto charges = std::as_const(*store_)[options_.tree.charge];
    columns_.for_each(column, [&](std::size_t i) {
      if (options_.tree.sources.has(kinds[i])) {
        patch_.deposit(places[i], charges[i]);
      }
    });
  }

  // ---- exchange of charges ----

  void gather_extents(TaskContext& context) {
    extent_ = {patch_.box(), plan_.physical().box};
    context.wait_for(gather_kind_,
                     comm::all_gather(group_, std::span<const Extent>{&extent_, 1}, std::span{extents_}),
                     [](TaskContext& /*inner*/) {});
  }

  void send_charges(TaskContext& context) {
    peers_.clear();
    for (std::uint32_t rank = 0; rank < extents_.size(); ++rank) {
      MeshPeer peer{.rank = Rank{rank},
                    .mine = overlaps_of(extent_.patch, extents_[rank].part, mesh_.lengths),
                    .theirs = overlaps_of(extents_[rank].patch, extent_.part, mesh_.lengths)};
      if (!peer.mine.empty() || !peer.theirs.empty()) {
        peers_.push_back(std::make_unique<MeshPeer>(std::move(peer)));
      }
    }
    for (const std::unique_ptr<MeshPeer>& peer : peers_) {
      if (is_self(*peer)) {
        continue;
      }
      const comm::Address address{peer->rank, charge_tag, group_.comm()};
      if (!peer->mine.empty()) {
        take_from_patch(peer->mine, peer->charges_out);
        context.send(charge_kind_, {address, peer->charges_out, peer->rank.value()});
      }
      if (!peer->theirs.empty()) {
        context.receive(charge_kind_, {address, peer->charges_in, {}, peer->rank.value()});
      }
    }
  }

  /// Sums them in the order of ranks: equal results in each run.
  void collect_charges(TaskContext& context) {
    for (const std::unique_ptr<MeshPeer>& peer : peers_) {
      if (!is_self(*peer)) {
        check_size(*peer, peer->charges_in, peer->theirs);
      }
    }
    const auto planes = static_cast<std::size_t>(extent_.part.extent(0));
    spawn_pieces(context, collect_kind_, planes, [this](std::uint32_t /*piece*/, std::size_t first, std::size_t last) {
      const Index low = extent_.part.low[0];
      const fft::Range range{low + static_cast<Index>(first), low + static_cast<Index>(last)};
      const auto plane = static_cast<std::size_t>(extent_.part.extent(1) * extent_.part.extent(2));
      std::fill_n(charges_.begin() + static_cast<std::ptrdiff_t>(first * plane), (last - first) * plane, 0.0);
      for (const std::unique_ptr<MeshPeer>& peer : peers_) {
        const auto* in = reinterpret_cast<const double*>(peer->charges_in.data());
        for_rows(peer->theirs, [&](const Row& row) {
          if (row.i - row.shift[0] < range.low || row.i - row.shift[0] >= range.high) {
            return;
          }
          const double* const from =
              is_self(*peer) ? &patch_.values()[patch_.offset(row.i, row.j, row.k)] : in + row.offset;
          double* const to = &charges_[part_offset(row)];
          for (Index k = 0; k < row.count; ++k) {
            to[k] += from[k];
          }
        });
      }
    });
  }

  // ---- potentials ----

  void apply_influence(TaskContext& context) {
    const fft::IndexBox& box = plan_.spectral().box;
    const auto planes = static_cast<std::size_t>(box.extent(0));
    spawn_pieces(context, influence_kind_, planes, [&](std::uint32_t /*piece*/, std::size_t first, std::size_t last) {
      const Index low = plan_.spectral().box.low[0];
      influence_.apply(plan_.spectral(), spectrum_, low + static_cast<Index>(first), low + static_cast<Index>(last));
    });
  }

  void send_potentials(TaskContext& context) {
    for (const std::unique_ptr<MeshPeer>& peer : peers_) {
      if (is_self(*peer)) {
        continue;
      }
      const comm::Address address{peer->rank, potential_tag, group_.comm()};
      if (!peer->theirs.empty()) {
        peer->potentials_out.resize(static_cast<std::size_t>(points_of(peer->theirs)) * sizeof(double));
        auto* const out = reinterpret_cast<double*>(peer->potentials_out.data());
        for_rows(peer->theirs,
                 [&](const Row& row) { std::copy_n(&potentials_[part_offset(row)], row.count, out + row.offset); });
        context.send(potential_kind_, {address, peer->potentials_out, peer->rank.value()});
      }
      if (!peer->mine.empty()) {
        context.receive(potential_kind_, {address, peer->potentials_in, {}, peer->rank.value()});
      }
    }
  }

  /// Puts the potentials into the patch.
  void collect_potentials(TaskContext& context) {
    for (const std::unique_ptr<MeshPeer>& peer : peers_) {
      if (!is_self(*peer)) {
        check_size(*peer, peer->potentials_in, peer->mine);
      }
    }
    const auto planes = static_cast<std::size_t>(patch_.box().extent(0));
    spawn_pieces(context, collect_kind_, planes, [this](std::uint32_t /*piece*/, std::size_t first, std::size_t last) {
      const Index low = patch_.box().low[0];
      const fft::Range range{low + static_cast<Index>(first), low + static_cast<Index>(last)};
      for (const std::unique_ptr<MeshPeer>& peer : peers_) {
        const auto* in = reinterpret_cast<const double*>(peer->potentials_in.data());
        for_rows(peer->mine, [&](const Row& row) {
          if (row.i >= range.low && row.i < range.high) {
            const double* const from = is_self(*peer) ? &potentials_[part_offset(row)] : in + row.offset;
            std::copy_n(from, row.count, &patch_.values()[patch_.offset(row.i, row.j, row.k)]);
          }
        });
      }
    });
  }

  void add_forces(TaskContext& context) {
    spawn_pieces(
        context, force_kind_, store_->size(), [this](std::uint32_t /*piece*/, std::size_t first, std::size_t last) {
          interpolate(first, last);
        });
  }

  void interpolate(std::size_t first, std::size_t last) {
    const LongRangeOptions& tree = options_.tree;
    Particles& store = *store_;
    const auto kinds = store[Particles::kind];
    const double own = tree.softening > 0 ? 1 / tree.softening : 0;
    for (std::size_t i = first; i < last; ++i) {
      if (!tree.targets.has(kinds[i])) {
        continue;
      }
      const MeshValue value = patch_.at(store.positions()[i]);
      store[tree.acceleration][i] += -tree.coupling * value.slope;
      // Of the particle itself, the mesh has what the tree took off, and the tree has the softened rest.
      const double charge = tree.sources.has(kinds[i]) ? store[tree.charge][i] : 0;
      store[tree.potential][i] += tree.coupling * (value.potential + own * charge);
    }
  }

  // ---- points in messages ----

  /// Consecutive points along axis 2, in indices of the patch.
  struct Row {
    Index i, j, k, count;
    Index offset;  ///< In a message.
    const std::array<Index, 3>& shift;
  };

  template <class Use>
  static void for_rows(const std::vector<PatchOverlap>& overlaps, Use use) {
    Index offset = 0;
    for (const auto& [box, shift] : overlaps) {
      for (Index i = box.low[0]; i < box.high[0]; ++i) {
        for (Index j = box.low[1]; j < box.high[1]; ++j) {
          use(Row{i, j, box.low[2], box.extent(2), offset, shift});
          offset += box.extent(2);
        }
      }
    }
  }

  [[nodiscard]] std::size_t part_offset(const Row& row) const {
    return static_cast<std::size_t>(
        plan_.physical().offset(row.i - row.shift[0], row.j - row.shift[1], row.k - row.shift[2]));
  }

  void take_from_patch(const std::vector<PatchOverlap>& overlaps, Bytes& out) {
    out.resize(static_cast<std::size_t>(points_of(overlaps)) * sizeof(double));
    auto* const to = reinterpret_cast<double*>(out.data());
    for_rows(overlaps, [&](const Row& row) {
      std::copy_n(&patch_.values()[patch_.offset(row.i, row.j, row.k)], row.count, to + row.offset);
    });
  }

  static void check_size(const MeshPeer& peer, const Bytes& in, const std::vector<PatchOverlap>& overlaps) {
    const std::size_t wanted = static_cast<std::size_t>(points_of(overlaps)) * sizeof(double);
    if (!overlaps.empty() && in.size() != wanted) {
      throw Error{ErrorCode::network,
                  fmt::format("rank {} sent {} bytes of mesh points, not {}", peer.rank.value(), in.size(), wanted),
                  peer.rank};
    }
  }
  [[nodiscard]] bool is_self(const MeshPeer& peer) const { return peer.rank == group_.endpoint().self(); }

  const PeriodicGravityOptions options_;
  const PeriodicMesh mesh_;
  const ForceSplit split_;
  std::unique_ptr<LongRange> tree_;  ///< Null if the mesh is summed alone.
  detail::Influence influence_;
  comm::Group group_;
  fft::Plan plan_;
  std::vector<double> charges_;  ///< Of this rank's part of the mesh.
  std::vector<std::complex<double>> spectrum_;
  std::vector<double> potentials_;
  fft::Execution forward_;
  fft::Execution backward_;
  std::vector<fft::IndexBox> boxes_;  ///< By piece of the particles: their points.
  PatchColumns columns_;
  MeshPatch patch_;  ///< Around this rank's particles: charges, then potentials.
  Extent extent_;
  std::vector<Extent> extents_;  ///< By rank.
  std::vector<std::unique_ptr<MeshPeer>> peers_;
  Particles* store_ = nullptr;
  std::vector<PhaseTimes> phases_;  ///< By worker.

  TaskKind gather_kind_, charge_kind_, potential_kind_, influence_kind_, force_kind_;
  TaskKind cover_kind_, sort_kind_, deposit_kind_, collect_kind_;
};

}  // namespace

std::unique_ptr<Interaction> make_periodic_gravity(comm::Endpoint& messages,
                                                   task::Scheduler& scheduler,
                                                   const PeriodicGravityOptions& options) {
  return std::make_unique<PeriodicGravity>(messages, scheduler, options, Summed::all);
}

std::unique_ptr<Interaction> make_periodic_mesh(comm::Endpoint& messages,
                                                task::Scheduler& scheduler,
                                                const PeriodicGravityOptions& options) {
  return std::make_unique<PeriodicGravity>(messages, scheduler, options, Summed::mesh);
}

LongRangeOptions periodic_short_range(const PeriodicGravityOptions& options) {
  return tree_of(options, split_of(options, mesh_of(options)), ChargeSigns::one);
}

}  // namespace plait::particles
