// SPDX-License-Identifier: Apache-2.0
// A long-range interaction: its tree, what ranks exchange of theirs, and the walks.
#include "plait/particles/trees/long_range.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/particles/domains/summary_exchange.hpp"
#include "plait/particles/trees/boundary.hpp"
#include "plait/particles/trees/detail/options_of_parts.hpp"
#include "plait/particles/trees/detail/tree_tasks.hpp"
#include "plait/particles/trees/force_error.hpp"
#include "plait/particles/trees/let.hpp"
#include "plait/particles/trees/rank_summary.hpp"
#include "plait/particles/trees/tree_build.hpp"
#include "plait/particles/trees/tree_over_cells.hpp"
#include "plait/particles/trees/tree_sizes.hpp"
#include "plait/particles/trees/tuning.hpp"

namespace plait::particles {

namespace {

using task::Task;
using task::TaskContext;
using task::TaskKind;

constexpr Tag boundary_tag{1};
constexpr Tag let_tag{2};

struct WorkerState {
  WalkSpace space;
  PhaseTimes phases{};
  std::uint64_t let_count = 0;
  std::uint64_t let_bytes = 0;
};

/// The data exchanged with another rank that is, or was, near.
struct Peer {
  Rank rank;
  Bytes boundary_in;
  RankBoundary boundary;
  bool sends = false;  ///< This rank sends a tree to that one.
  bool receives = false;
  LetPlan plan;
  Bytes let_out;
  Bytes let_in;
  TreeView view;
  WalkLists lists;
  double view_time = 0;  ///< The time to which it has drifted.
};

class TreeForces final : public LongRange {
 public:
  explicit TreeForces(LongRangeOptions options)
      : options_{std::move(options)},
        tree_options_{detail::tree_options_of(options_)},
        walk_{detail::walk_options_of(options_)} {
    if (options_.near_reach && options_.near_radius > 0) {
      throw Error{ErrorCode::bad_argument,
                  "pairs are near by near_radius or by the reach of each particle: unset one of them"};
    }
    if (options_.keeps_lists && (options_.near_radius > 0 || options_.near_reach)) {
      throw Error{ErrorCode::bad_argument,
                  "reused interaction lists miss new pairs within the near radius: unset keeps_lists or near_radius"};
    }
    if (options_.moments.bytes > 0 && !options_.kernel) {
      throw Error{ErrorCode::bad_argument, "moments of cells act by a kernel only: give the kernel that reads them"};
    }
    if (options_.summaries_gathered_max == 0) {
      throw Error{ErrorCode::bad_argument, "summaries_gathered_max is 0: set it to 1 or more"};
    }
    if (!(options_.force_error >= 0)) {
      throw Error{ErrorCode::bad_argument,
                  fmt::format("a force error of {} cannot be: give a positive one, as 1e-3, or 0 for the angle theta",
                              options_.force_error)};
    }
  }

  std::vector<Task> add_building_tasks(const StepFrame& frame, Task after) override {
    messages_ = &frame.messages;
    store_ = &frame.store;
    comm_ = frame.comm;
    space_ = &frame.space;
    tree_options_.period = space_->period();
    space_->check_reach("cut-off", options_.cutoff);
    space_->check_reach("near radius", options_.near_radius);
    exchange_.emplace(frame.messages, frame.comm, frame.grid, exchange_options(frame.messages.rank_count()));
    workers_.resize(frame.worker_count);
    for (WorkerState& worker : workers_) {
      worker.space.near_sums.assign(options_.near_sums, 0);
    }
    near_sums_.assign(options_.near_sums, 0);
    drift_kind_ = frame.graph.kind("drift LET");
    gather_kind_ = frame.graph.kind("gather summaries");
    boundary_kind_ = frame.graph.kind("exchange boundaries");
    make_kind_ = frame.graph.kind("make LET");
    send_kind_ = frame.graph.kind("send LET");
    receive_kind_ = frame.graph.kind("receive LET");
    own_kind_ = frame.graph.kind("walk: own tree");
    received_kind_ = frame.graph.kind("walk: received tree");
    far_kind_ = frame.graph.kind("walk: far ranks");
    uses_of_lists_ = options_.keeps_lists ? frame.steps_between_trees : 1;
    cells_ = frame.cells;
    if (cells_ != nullptr) {
      return add_cell_tasks(frame, after, Trees::exchanged);
    }
    const auto begin = [this](std::uint32_t pieces) {
      is_rebuilt_ = true;
      tree_options_.slide = space_->lattice().slide;
      const bool is_first = !std::exchange(is_tuned_, true);
      if (is_first || !options_.measures_sizes) {
        choose_sizes();
      }
      if (is_first) {
        tune();
      }
      build_.begin(*store_, tree_options_, bounding_box(*store_), pieces);
    };
    return detail::add_tree_tasks(
        frame, after, build_, begin, [this](const TaskContext& context) -> PhaseTimes& { return phases(context); });
  }

  std::vector<Task> add_refreshing_tasks(const StepFrame& frame, Task after) override {
    if (frame.cells != nullptr) {
      return add_cell_tasks(frame, after, Trees::predicted);
    }
    Task refresh = frame.graph.task("tree: refresh", [this](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::make_tree};
      is_rebuilt_ = false;
      tree_options_.slide = space_->lattice().slide;
      tree_.set_slide(tree_options_.slide);
      (void)bounding_box(*store_);  // refuses positions that are not finite
      tree_.refresh();
    });
    refresh.after(after);
    return {refresh};
  }

  std::vector<Task> add_summing_tasks(const StepFrame& frame, Task after, Task end) override {
    Task walks = frame.graph.task("walk: own tree", [this](TaskContext& context) {
      while (parts_.size() < tree_.batches().size()) {
        parts_.push_back(std::make_unique<task::Resource>());
      }
      own_view_ = tree_.view();
      if (cells_ != nullptr && !is_rebuilt_) {
        walk_over(context, {own_view_, Origin::own_tree, begin_lists(own_lists_)}, own_kind_);
        walk_predicted(context);
        return;
      }
      // Before all walks, as other ranks wait for the messages of the tasks that it spawns.
      context.spawn({.kind = boundary_kind_,
                     .body = [this](TaskContext& inner) { send_summary(inner); },
                     .cost = std::chrono::seconds{1}});
      walk_over(context, {own_view_, Origin::own_tree, begin_lists(own_lists_)}, own_kind_);
    });
    Task sum = frame.graph.task("short-range sums", [this] {
      std::ranges::fill(near_sums_, 0.0);
      for (WorkerState& worker : workers_) {
        for (std::size_t i = 0; i < near_sums_.size(); ++i) {
          near_sums_[i] += std::exchange(worker.space.near_sums[i], 0.0);
        }
      }
    });
    walks.after(after);
    sum.after(walks);
    end.after(sum);
    return {walks, sum};
  }

  void clear_results(Particles& store, std::size_t first, std::size_t last) override {
    std::ranges::fill(store[options_.acceleration].subspan(first, last - first), Vector{});
    std::ranges::fill(store[options_.potential].subspan(first, last - first), 0.0);
  }

  void take_times(StepTimes& times) override {
    for (WorkerState& worker : workers_) {
      const WalkSums sums = std::exchange(worker.space.sums, {});
      times[Phase::walk] += sums.walk;
      times[Phase::kernel] += sums.kernel;
      times.interactions += sums.body_body + sums.body_cell;
      times.let_count += std::exchange(worker.let_count, 0);
      times.let_bytes += std::exchange(worker.let_bytes, 0);
      move_times(worker.phases, times.phases);
    }
  }
  [[nodiscard]] std::span<const double> near_sums() const noexcept override { return near_sums_; }
  [[nodiscard]] const Tree* tree() const noexcept override { return &tree_; }

  [[nodiscard]] double growth() const noexcept override {
    return first_size_ > 0 ? size_of_batches() / first_size_ : 1;
  }

 private:
  // ---- individual time steps: a tree over cells ----

  /// The trees of other ranks in a step.
  enum class Trees : std::uint8_t { exchanged, predicted };

  std::vector<Task> add_cell_tasks(const StepFrame& frame, Task after, Trees trees) {
    constexpr std::uint32_t pieces_a_worker = 4;
    const std::uint32_t pieces = frame.worker_count == 1 ? 1 : pieces_a_worker * frame.worker_count;
    const TaskKind kind = frame.graph.kind("tree: refresh");
    if (trees == Trees::exchanged) {
      check_cells();
      is_assigned_ = false;
    }
    Task refresh = frame.graph.task("tree: refresh", [this, kind, pieces, trees](TaskContext& context) {
      is_rebuilt_ = trees == Trees::exchanged;
      if (!std::exchange(is_assigned_, true)) {
        first_size_ = 0;
        choose_sizes();
        over_cells_.assign(*store_, tree_options_, cells_->sizes);
      }
      const std::size_t count = tree_.batches().size();
      for (std::size_t piece = 0; piece < pieces; ++piece) {
        context.spawn(
            {.kind = kind,
             .body =
                 [this, first = count * piece / pieces, last = count * (piece + 1) / pieces](TaskContext& inner) {
                   const PhaseTimer timer{phases(inner), Phase::make_tree};
                   for (auto batch = static_cast<std::uint32_t>(first); batch < last; ++batch) {
                     over_cells_.refresh_batch(batch, {cells_->velocity, cells_->behind(batch)});
                   }
                 },
             .object = piece});
      }
    });
    Task top = frame.graph.task("tree: finish", [this](TaskContext& context) {
      const PhaseTimer timer{phases(context), Phase::make_tree};
      over_cells_.refresh_top();
      if (is_rebuilt_ && options_.velocity && messages_->rank_count() > 1) {
        tree_.find_motions();
      }
      if (first_size_ == 0) {
        first_size_ = size_of_batches();
      }
    });
    refresh.after(after);
    top.after(refresh);
    return {refresh, top};
  }

  void check_cells() const {
    if (space_->has_shear()) {
      throw Error{ErrorCode::bad_argument,
                  "a shear needs equal time steps: take equal steps, or a space without shear"};
    }
    if (options_.force_error > 0 || options_.measures_sizes || options_.keeps_lists) {
      throw Error{ErrorCode::bad_argument,
                  "a force error, measured sizes and reused lists need equal time steps: unset them, or take equal "
                  "steps"};
    }
    if (options_.signs == ChargeSigns::apart) {
      throw Error{ErrorCode::bad_argument,
                  "subtrees of each sign need equal time steps: set ChargeSigns::both, or take equal steps"};
    }
    if (!options_.velocity && messages_->rank_count() > 1) {
      throw Error{ErrorCode::bad_argument,
                  "trees of other ranks drift between exchanges: give LongRangeOptions::velocity"};
    }
  }

  /// The mean edge of batches, by their bodies.
  [[nodiscard]] double size_of_batches() const noexcept {
    double sum = 0;
    for (const Batch& batch : tree_.batches()) {
      sum += batch.box.edge_max();
    }
    return sum;
  }

  /// Walks over the trees that other ranks sent last, drifted to the present time.
  void walk_predicted(TaskContext& context) {
    if (cells_->active.empty()) {
      return;
    }
    for (Peer* const peer : near_) {
      if (peer->receives) {
        context.spawn({.kind = drift_kind_,
                       .body =
                           [this, peer](TaskContext& inner) {
                             {
                               const PhaseTimer timer{phases(inner), Phase::make_lets};
                               const double since = now() - std::exchange(peer->view_time, now());
                               drift_let(peer->let_in, peer->view, options_.travels.size(), since);
                             }
                             walk_over(inner, {peer->view, Origin::received}, received_kind_);
                           },
                       .object = peer->rank.value()});
      }
    }
    walk_far(context);
  }

  [[nodiscard]] double now() const { return cells_ != nullptr ? cells_->now : 0; }
  [[nodiscard]] Targets targets() {
    Targets all{*store_, tree_, options_.targets, options_.acceleration, options_.potential, {}};
    if (cells_ != nullptr) {
      all.bins = BinLimit{cells_->bin, cells_->longest};
    }
    return all;
  }

  /// Sizes that the program has not set follow the number of particles.
  void choose_sizes() {
    const bool has_near_pairs = options_.near_radius > 0 || options_.near_reach;
    const Precision precision = has_near_pairs ? Precision::full : options_.precision;
    const TreeSizes sizes = sizes_for({.kernels = *options_.kernels,
                                       .precision = precision,
                                       .order = options_.order,
                                       .body_count = store_->size(),
                                       .worker_count = static_cast<std::uint32_t>(workers_.size()),
                                       .uses_of_lists = uses_of_lists_});
    const auto set_or = [](std::uint32_t given, std::uint32_t chosen) { return given > 0 ? given : chosen; };
    tree_options_.leaf_bodies_max = set_or(options_.leaf_bodies_max, sizes.leaf);
    tree_options_.group_bodies_max = set_or(options_.group_bodies_max, sizes.group);
    tree_options_.batch_bodies_max = set_or(options_.batch_bodies_max, sizes.batch);
  }

  /// Before the first build. Each rank has an angle and sizes of its own, as the nodes that it sends have their
  /// opening distances.
  void tune() {
    const TrialTargets trial{*store_, options_.targets, options_.acceleration, options_.potential};
    if (options_.force_error > 0) {
      tree_options_.theta = theta_of_error(trial, tree_options_, walk_, options_.force_error);
    }
    if (options_.measures_sizes) {
      tree_options_ = with_fastest_sizes(trial, tree_options_, walk_, uses_of_lists_);
    }
  }

  // ---- the exchange of trees ----

  /// Blocks of far ranks act as one, unless each rank is near to each other one anyway.
  [[nodiscard]] SummaryExchange::Options exchange_options(std::uint32_t ranks) const {
    const bool are_all_near =
        options_.lets == LetMode::all_to_all || options_.theta <= 0 || options_.signs == ChargeSigns::apart;
    return {.top_blocks_max = are_all_near ? ranks : options_.summaries_gathered_max};
  }

  void send_summary(TaskContext& context) {
    if (messages_->rank_count() == 1) {
      return;
    }
    const PhaseTimer timer{phases(context), Phase::make_lets};
    const bool is_all = options_.lets == LetMode::all_to_all;
    summaries_.emplace(tree_options_, is_all ? TreeSummaries::Near::all : TreeSummaries::Near::by_opening);
    summary_row_.resize(summaries_->row_bytes());
    summaries_->write(tree_, summary_row_);
    const auto choice = is_rebuilt_ ? SummaryExchange::Choice::made : SummaryExchange::Choice::kept;
    context.wait_for(gather_kind_, exchange_->exchange(summary_row_, *summaries_, choice), [this](TaskContext& inner) {
      take_summaries(inner);
    });
  }

  void take_summaries(TaskContext& context) {
    const PhaseTimer timer{phases(context), Phase::make_lets};
    for (std::size_t i = 0; i < exchange_->near_ranks().size(); ++i) {
      const Rank rank = exchange_->near_ranks()[i];
      if (!is_valid(TreeSummaries::summary(exchange_->near_row(i)))) {
        throw Error{ErrorCode::network, fmt::format("rank {} sent an invalid summary of its tree", rank.value()), rank};
      }
    }
    for (std::size_t i = 0; i < exchange_->far_count(); ++i) {
      if (!is_valid(TreeSummaries::summary(exchange_->far_row(i)))) {
        throw Error{ErrorCode::network, "a far rank sent an invalid summary of its tree"};
      }
    }
    summaries_time_ = now();
    if (is_rebuilt_) {
      choose_peers(context);
      return;
    }
    for (Peer* const peer : near_) {
      exchange_lets(context, *peer);
    }
    walk_far(context);
  }

  void choose_peers(TaskContext& context) {
    near_.clear();
    for (const Rank rank : exchange_->near_ranks()) {
      std::unique_ptr<Peer>& peer = peers_[rank.value()];
      if (peer == nullptr) {
        peer = std::make_unique<Peer>();
        peer->rank = rank;
      }
      near_.push_back(peer.get());
    }
    if (options_.lets == LetMode::fast) {
      const RankSummary& mine = TreeSummaries::summary(summary_row_);
      for (std::size_t i = 0; i < near_.size(); ++i) {
        const RankSummary& theirs = TreeSummaries::summary(exchange_->near_row(i));
        near_[i]->boundary = boundary_of(theirs);
        near_[i]->sends = needs_let(mine, theirs, tree_options_);
        near_[i]->receives = needs_let(theirs, mine, tree_options_);
        exchange_lets(context, *near_[i]);
      }
      walk_far(context);
      return;
    }
    boundary_ = make_boundary(tree_);
    to_come_.store(near_.size(), std::memory_order_relaxed);  // published with the tasks
    for (Peer* const peer : near_) {
      const comm::Address address{peer->rank, boundary_tag, comm_};
      context.send(boundary_kind_, {address, std::as_bytes(std::span{&boundary_, 1}), peer->rank.value()});
      context.receive(boundary_kind_,
                      {address,
                       peer->boundary_in,
                       [this, peer](TaskContext& inner) { take_boundary(inner, *peer); },
                       peer->rank.value()});
    }
    if (near_.empty()) {
      walk_far(context);
    }
  }

  void take_boundary(TaskContext& context, Peer& peer) {
    {
      const PhaseTimer timer{phases(context), Phase::exchange_lets};
      const bool has_size = peer.boundary_in.size() == sizeof peer.boundary;
      if (has_size) {
        std::memcpy(&peer.boundary, peer.boundary_in.data(), sizeof peer.boundary);
      }
      if (!has_size || !is_valid(peer.boundary)) {
        throw Error{ErrorCode::network,
                    fmt::format("rank {} sent an invalid boundary of its tree", peer.rank.value()),
                    peer.rank};
      }
      const bool always = options_.lets == LetMode::all_to_all;
      peer.sends = always || needs_let(boundary_, peer.boundary, tree_options_);
      peer.receives = always || needs_let(peer.boundary, boundary_, tree_options_);
    }
    exchange_lets(context, peer);
    if (to_come_.fetch_sub(1, std::memory_order_acq_rel) == 1) {  // the last one sees the decisions of all
      walk_far(context);
    }
  }

  void exchange_lets(TaskContext& context, Peer& peer) {
    const std::uint64_t object = peer.rank.value();
    if (peer.sends) {
      context.spawn({.kind = make_kind_,
                     .body = [this, &peer](TaskContext& inner) { make_let(inner, peer); },
                     .object = object,
                     .cost = std::chrono::milliseconds{1}});  // before walks, as another rank waits for it
    }
    if (peer.receives) {
      context.receive(receive_kind_,
                      {{peer.rank, let_tag, comm_},
                       peer.let_in,
                       [this, &peer](TaskContext& inner) { take_let(inner, peer); },
                       object});
    }
  }

  void make_let(TaskContext& context, Peer& peer) {
    const PhaseTimer timer{phases(context), Phase::make_lets};
    if (is_rebuilt_) {
      peer.plan.choose(tree_, peer.boundary);
    }
    peer.plan.write(tree_, peer.let_out);
    ++worker(context).let_count;
    worker(context).let_bytes += peer.let_out.size();
    context.send(send_kind_, {{peer.rank, let_tag, comm_}, peer.let_out, peer.rank.value()});
  }

  void take_let(TaskContext& context, Peer& peer) {
    {
      const PhaseTimer timer{phases(context), Phase::exchange_lets};
      peer.view = open_let(peer.let_in, tree_options_.travels, moment_bytes(tree_options_)).value();
      peer.view_time = now();
    }
    walk_over(context, {peer.view, Origin::received, begin_lists(peer.lists)}, received_kind_);
  }

  /// Walks over the roots of ranks, and of blocks of ranks, that send no tree.
  void walk_far(TaskContext& context) {
    {
      const PhaseTimer timer{phases(context), Phase::make_lets};
      far_rows_.clear();
      for (std::size_t i = 0; i < near_.size(); ++i) {
        if (!near_[i]->receives) {
          add_far(exchange_->near_row(i));
        }
      }
      for (std::size_t i = 0; i < exchange_->far_count(); ++i) {
        add_far(exchange_->far_row(i));
      }
      const bool joins = options_.lets == LetMode::fast || exchange_->has_blocks();
      far_ = FarField{far_rows_, *summaries_, joins ? FarField::Shape::tree : FarField::Shape::flat};
      far_view_ = far_.view();
    }
    if (!far_view_.nodes.empty()) {
      walk_over(context, {far_view_, Origin::received}, far_kind_);
    }
  }

  /// Moves the root of a summary to the present time.
  void add_far(SummaryRow row) {
    const std::size_t begin = far_rows_.size();
    far_rows_.insert(far_rows_.end(), row.begin(), row.end());
    RankSummary summary = TreeSummaries::summary(row);
    if (!summary.is_empty()) {
      drift(summary.root, summary.motion, now() - summaries_time_);
      std::memcpy(far_rows_.data() + begin, &summary, sizeof summary);
    }
  }

  // ---- sums ----

  /// Spawns the walks over one tree: a task for each batch, which it locks, as several trees act on the same particles.
  void walk_over(TaskContext& context, const Sources& sources, TaskKind kind) {
    const auto add = [&](std::size_t number) {
      const auto work = [this, sources, batch = tree_.batches().subspan(number, 1)](TaskContext& inner) {
        walk(sources, targets(), batch, walk_, worker(inner).space);
      };
      context.spawn({.kind = kind, .body = work, .object = number, .resources = {parts_[number].get()}});
    };
    if (cells_ != nullptr) {
      std::ranges::for_each(cells_->active, add);
      return;
    }
    for (std::size_t number = 0; number < tree_.batches().size(); ++number) {
      add(number);
    }
  }

  /// Null unless lists are reused.
  WalkLists* begin_lists(WalkLists& lists) {
    if (options_.keeps_lists && is_rebuilt_) {
      lists.begin(tree_.batches().size());
    }
    return options_.keeps_lists ? &lists : nullptr;
  }
  [[nodiscard]] WorkerState& worker(const TaskContext& context) { return workers_[context.worker().value()]; }
  [[nodiscard]] PhaseTimes& phases(const TaskContext& context) { return worker(context).phases; }

  const LongRangeOptions options_;
  TreeOptions tree_options_;
  std::uint32_t uses_of_lists_ = 1;  ///< The steps that use the interaction lists of one build.
  WalkOptions walk_;
  Tree tree_;
  TreeBuild build_{tree_};
  TreeOverCells over_cells_{tree_};
  std::vector<double> near_sums_;
  comm::Endpoint* messages_ = nullptr;
  Particles* store_ = nullptr;
  const Space* space_ = nullptr;
  comm::CommId comm_;
  std::optional<SummaryExchange> exchange_;
  std::vector<WorkerState> workers_;

  const CellFrame* cells_ = nullptr;  ///< With individual time steps.
  bool is_assigned_ = false;          ///< The tree has the structure of the present cells.
  double first_size_ = 0;             ///< Of its batches, when it got this structure.
  double summaries_time_ = 0;
  bool is_tuned_ = false;
  bool is_rebuilt_ = true;  ///< In this step; else the tree is refreshed.
  TreeView own_view_;
  WalkLists own_lists_;
  RankBoundary boundary_;
  std::optional<TreeSummaries> summaries_;
  Bytes summary_row_;
  Bytes far_rows_;
  std::map<std::uint32_t, std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> near_;               ///< For the present trees, in the order of `exchange_`.
  std::atomic<std::size_t> to_come_ = 0;  ///< The boundaries that have not arrived.
  FarField far_;
  TreeView far_view_;
  std::vector<std::unique_ptr<task::Resource>> parts_;  ///< By batch: the lock of its targets.

  TaskKind drift_kind_, gather_kind_, boundary_kind_, make_kind_, send_kind_, receive_kind_, own_kind_, received_kind_,
      far_kind_;
};

}  // namespace

std::unique_ptr<LongRange> make_long_range(LongRangeOptions options) {
  return std::make_unique<TreeForces>(std::move(options));
}

}  // namespace plait::particles
