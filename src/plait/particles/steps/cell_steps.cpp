// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/cell_steps.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/particles/steps/detail/force_tasks.hpp"
#include "plait/particles/steps/detail/step_end.hpp"

namespace plait::particles {
namespace {

using task::Task;
using task::TaskContext;
using task::Ticks;

/// A set of numbers, cleared in constant time.
class Marks {
 public:
  void begin(std::size_t size) {
    marks_.resize(size, 0);
    ++now_;
  }
  /// Returns false if the number is in the set already.
  bool add(std::size_t number) { return std::exchange(marks_[number], now_) != now_; }
  [[nodiscard]] bool has(std::size_t number) const { return marks_[number] == now_; }

 private:
  std::vector<std::uint64_t> marks_;
  std::uint64_t now_ = 0;
};

[[nodiscard]] Tag tag_of(std::size_t stage, std::uint32_t cell) {
  return Tag{static_cast<std::uint64_t>(stage) << 32U | cell};
}

/// The condition on which a stage sends a cell. Both ranks of a message know the bins that it depends on.
enum class Sends : std::uint8_t {
  none,
  when_read,             ///< An active cell of the other rank is near.
  when_active_and_read,  ///< In addition, the cell is active.
  when_active,           ///< The cell is active: all near cells read it.
};

}  // namespace

struct CellSteps::Impl {
  /// An own cell of which another rank has a copy.
  struct Lent {
    std::uint32_t cell = 0;
    std::uint32_t peer = 0;
  };
  struct Outgoing {
    Bytes bytes;
    Task send;
    bool is_active = false;  ///< In this step; the stage's task on the cell packs it.
  };
  struct Incoming {
    Bytes bytes;
    Task receive;
    Task take;  ///< Unpacks into the ghost.
  };
  struct Messages {
    Sends sends = Sends::none;
    std::vector<Outgoing> out;  ///< By place in `lent`.
    std::vector<Incoming> in;   ///< By ghost.
  };

  Impl(comm::Endpoint& its_endpoint,
       task::Scheduler& its_scheduler,
       CellTable& its_table,
       const Halo& halo,
       CellStepsOptions its_options)
      : scheduler{its_scheduler},
        table{its_table},
        options{std::move(its_options)},
        all{its_endpoint},
        messages(options.stages.size()) {
    list_lent(halo);
    add_works();
    for (std::size_t stage = 0; stage < options.stages.size(); ++stage) {
      add_order(stage);
      messages[stage].sends = sends_of(stage);
      if (messages[stage].sends != Sends::none) {
        add_sends(stage, halo);
        add_receives(stage, halo);
      }
    }
    for (const CellForces& of_some : options.forces) {
      add_forces(its_endpoint, of_some);
    }
    add_end(halo);
    graph.prepare();
  }

  [[nodiscard]] std::size_t stage_count() const { return options.stages.size(); }
  [[nodiscard]] Task& work(std::size_t stage, std::uint32_t cell) { return works[stage * table.own_count() + cell]; }
  [[nodiscard]] std::uint32_t ghost_count() const { return table.count() - table.own_count(); }

  // ---- the graph ----

  void list_lent(const Halo& halo) {
    lent_of.resize(table.own_count());
    lent_to.resize(ghost_count());
    for (std::uint32_t peer = 0; peer < halo.peers.size(); ++peer) {
      std::vector<std::uint32_t> place_of(table.own_count());
      for (const std::uint32_t cell : halo.peers[peer].mine) {
        place_of[cell] = static_cast<std::uint32_t>(lent.size());
        lent_of[cell].push_back(place_of[cell]);
        lent.push_back({cell, peer});
      }
      for (const std::uint32_t ghost : halo.peers[peer].theirs) {
        for (const std::uint32_t cell : table.near_ghost(ghost)) {
          lent_to[ghost - table.own_count()].push_back(place_of[cell]);
        }
      }
    }
  }

  void add_works() {
    works.reserve(stage_count() * table.own_count());
    for (std::size_t stage = 0; stage < stage_count(); ++stage) {
      const task::TaskKind kind = graph.kind(options.stages[stage].name);
      for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
        works.push_back(graph.task(kind, [this, stage, cell](TaskContext& context) { run_stage(stage, cell, context); })
                            .object(cell));
      }
    }
  }

  void run_stage(std::size_t stage, std::uint32_t cell, TaskContext& context) {
    const CellStage& what = options.stages[stage];
    what.work({context, cell, now});
    if (what.moves) {
      table.refresh(cell, options.reach, options.reach_factor);
    }
    if (messages[stage].sends == Sends::none) {
      return;
    }
    // Packed here, as the next stage may write before the message is posted.
    for (const std::uint32_t place : lent_of[cell]) {
      Outgoing& message = messages[stage].out[place];
      if (message.is_active) {
        message.bytes.clear();
        table.own().pack(what.refreshes, table[cell].first, table[cell].count, message.bytes);
      }
    }
  }

  /// A task waits for the previous stage on its own cell and, if either stage reads neighbours, on these. A stage that
  /// reads also waits for the last stage of all near cells, as the previous one may have skipped some.
  void add_order(std::size_t stage) {
    if (stage == 0) {
      return;
    }
    const std::vector<CellStage>& stages = options.stages;
    if (stages[stage].agree) {
      add_agreement(stage);
    }
    const bool reads = stages[stage].reads_neighbours;
    std::size_t last_of_all = stage;
    for (std::size_t earlier = 0; earlier < stage; ++earlier) {
      last_of_all = stages[earlier].who == Who::near_active ? earlier : last_of_all;
    }
    for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
      Task& later = work(stage, cell);
      for (const std::uint32_t neighbour : table.neighbours(cell)) {
        if (table.is_ghost(neighbour)) {
          continue;
        }
        if (neighbour == cell || reads || stages[stage - 1].reads_neighbours) {
          later.after(work(stage - 1, neighbour));
        }
        if (reads && last_of_all + 1 < stage) {
          later.after(work(last_of_all, neighbour));
        }
      }
    }
  }

  void add_agreement(std::size_t stage) {
    const std::string name = fmt::format("agree: {}", options.stages[stage].name);
    Task agree = graph.task(name, [this, stage, kind = graph.kind(name)](TaskContext& context) {
      context.wait_for(kind, options.stages[stage].agree());
    });
    for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
      agree.after(work(stage - 1, cell)).before(work(stage, cell));
    }
    agreements.push_back(agree);
  }

  [[nodiscard]] Sends sends_of(std::size_t stage) const {
    const std::vector<CellStage>& stages = options.stages;
    if (stages[stage].refreshes.empty()) {
      return Sends::none;
    }
    const auto reader = std::find_if(stages.begin() + static_cast<std::ptrdiff_t>(stage) + 1,
                                     stages.end(),
                                     [](const CellStage& later) { return later.reads_neighbours; });
    expect(reader != stages.end(), "a later stage reads the refreshed fields");
    if (reader->who == Who::active) {
      return stages[stage].who == Who::active ? Sends::when_active_and_read : Sends::when_read;
    }
    expect(stages[stage].who == Who::active, "near_active stages read only fields that active stages refresh");
    return Sends::when_active;
  }

  void add_sends(std::size_t stage, const Halo& halo) {
    const std::string kind = "send " + options.stages[stage].name;
    messages[stage].out = std::vector<Outgoing>(lent.size());
    for (std::size_t place = 0; place < lent.size(); ++place) {
      Outgoing& message = messages[stage].out[place];
      const Lent& what = lent[place];
      message.send = graph.send(kind, {halo.peers[what.peer].rank, tag_of(stage, what.cell), all.comm()}, [&message] {
        return std::span<const std::byte>{message.bytes};
      });
      message.send.object(what.cell).after(work(stage, what.cell));
    }
  }

  void add_receives(std::size_t stage, const Halo& halo) {
    const std::string& name = options.stages[stage].name;
    messages[stage].in = std::vector<Incoming>(ghost_count());
    for (const HaloPeer& peer : halo.peers) {
      for (std::size_t i = 0; i < peer.theirs.size(); ++i) {
        const std::uint32_t ghost = peer.theirs[i];
        Incoming& message = messages[stage].in[ghost - table.own_count()];
        message.receive = graph.receive(
            "receive " + name, {peer.rank, tag_of(stage, peer.their_numbers[i]), all.comm()}, message.bytes);
        message.take = graph.task("take " + name, [this, stage, ghost, &message] {
          const Cell& cell = table[ghost];
          table.ghosts().unpack(options.stages[stage].refreshes, cell.first, cell.count, message.bytes);
          table.refresh(ghost, options.reach, options.reach_factor);
        });
        message.receive.object(ghost);
        message.take.object(ghost).after(message.receive);
        order_taking(stage, ghost);
      }
    }
  }

  /// Unpacks received particles after the stages up to this one have read the old ones, and before later stages read.
  void order_taking(std::size_t stage, std::uint32_t ghost) {
    Task& take = messages[stage].in[ghost - table.own_count()].take;
    for (const std::uint32_t cell : table.near_ghost(ghost)) {
      for (std::size_t other = 0; other < stage_count(); ++other) {
        if (options.stages[other].reads_neighbours) {
          other <= stage ? take.after(work(other, cell)) : take.before(work(other, cell));
        }
      }
    }
    for (std::size_t earlier = 0; earlier < stage; ++earlier) {
      if (!messages[earlier].in.empty()) {
        take.after(messages[earlier].in[ghost - table.own_count()].take);
      }
    }
  }

  void add_forces(comm::Endpoint& endpoint, const CellForces& of_some) {
    const detail::ForceTasks::Place place{endpoint, scheduler.worker_count(), table, options.bin, graph};
    detail::ForceTasks& added = *forces.emplace_back(std::make_unique<detail::ForceTasks>(place, of_some));
    Task begin = added.begin();
    const std::size_t after = stage_of(of_some.after);
    const std::size_t before = stage_of(of_some.before);
    expect(after < before, "forces are between two stages");
    for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
      begin.after(work(after, cell));
      work(before, cell).after(added.end());
    }
  }

  [[nodiscard]] std::size_t stage_of(const std::string& name) const {
    const auto found = std::ranges::find(options.stages, name, &CellStage::name);
    if (found == options.stages.end()) {
      throw Error{ErrorCode::bad_argument, fmt::format("forces refer to a stage `{}`, which does not exist", name)};
    }
    return static_cast<std::size_t>(found - options.stages.begin());
  }

  void add_end(const Halo& halo) {
    end.emplace(graph, all, detail::StepEnd::Place{table, halo, options.bin}, tag_of(stage_count(), 0));
    Task settle = end->first();
    for (std::size_t stage = 0; stage < stage_count(); ++stage) {
      if (stage + 1 == stage_count() || options.stages[stage].who == Who::near_active) {
        for (std::uint32_t cell = 0; cell < table.own_count(); ++cell) {
          settle.after(work(stage, cell));
        }
      }
    }
    for (const auto& some : forces) {
      settle.after(some->end());
    }
  }

  // ---- a step ----

  void find_active() {
    active_own.clear();
    active_ghosts.clear();
    are_active.begin(table.count());
    const auto add = [this](std::uint32_t cell) {
      are_active.add(cell);
      (table.is_ghost(cell) ? active_ghosts : active_own).push_back(cell);
    };
    if (is_everything) {
      for (std::uint32_t cell = 0; cell < table.count(); ++cell) {
        add(cell);
      }
    } else {
      end->bins().for_each_active(now, add);
    }
  }

  void find_near() {
    near.clear();
    lent_now.clear();
    ghosts_now.clear();
    are_near.begin(table.own_count());
    are_lent.begin(lent.size());
    are_read.begin(table.count());
    for (const std::uint32_t cell : active_own) {
      for (const std::uint32_t neighbour : table.neighbours(cell)) {
        if (table.is_ghost(neighbour)) {
          if (are_read.add(neighbour)) {
            ghosts_now.push_back(neighbour);
          }
        } else if (are_near.add(neighbour)) {
          near.push_back(neighbour);
        }
      }
    }
    for (const std::uint32_t ghost : active_ghosts) {
      for (const std::uint32_t cell : table.near_ghost(ghost)) {
        if (are_near.add(cell)) {
          near.push_back(cell);
        }
      }
      for (const std::uint32_t place : lent_to[ghost - table.own_count()]) {
        if (are_lent.add(place)) {
          lent_now.push_back(place);
        }
      }
    }
  }

  void activate(const Ask& ask) {
    for (Outgoing* message : packed) {
      message->is_active = false;
    }
    packed.clear();
    tasks.clear();
    end->activate(
        {.now = now, .changes_bins = !is_everything, .near = near, .active_here = count.active_here, .ask = &ask},
        tasks);
    if (!forces.empty() && parts != Parts::stages) {
      activate_forces();
    }
    if (parts == Parts::forces) {
      return;
    }
    tasks.insert(tasks.end(), agreements.begin(), agreements.end());
    for (std::size_t stage = 0; stage < stage_count(); ++stage) {
      for (const std::uint32_t cell : options.stages[stage].who == Who::active ? active_own : near) {
        tasks.push_back(work(stage, cell));
      }
      activate_messages(stage);
    }
  }

  void activate_forces() {
    const std::uint8_t longest = is_everything ? task::longest_bin.value() : task::longest_active(now).value();
    const bool exchanges =
        is_everything || !has_exchanged ||
        static_cast<double>(updated) >= options.forces.back().exchange_fraction * static_cast<double>(particles);
    if (exchanges) {
      updated = 0;
      has_exchanged = true;
    }
    for (std::size_t number = 0; number < forces.size(); ++number) {
      const task::TimeBin every = options.forces[number].every;
      if (is_everything || !every || task::is_active(every, now)) {
        forces[number]->activate({now, longest, active_own, exchanges}, tasks);
      }
    }
  }

  void activate_messages(std::size_t stage) {
    const Sends sends = messages[stage].sends;
    if (sends == Sends::none) {
      return;
    }
    Messages& all_of_stage = messages[stage];
    const auto receive = [&](std::uint32_t ghost) {
      const Incoming& message = all_of_stage.in[ghost - table.own_count()];
      tasks.insert(tasks.end(), {message.receive, message.take});
    };
    if (sends == Sends::when_active) {
      for (const std::uint32_t cell : active_own) {
        for (const std::uint32_t place : lent_of[cell]) {
          activate_send(all_of_stage.out[place]);
        }
      }
      std::ranges::for_each(active_ghosts, receive);
      return;
    }
    const bool must_be_active = sends == Sends::when_active_and_read;
    for (const std::uint32_t place : lent_now) {
      if (!must_be_active || are_active.has(lent[place].cell)) {
        activate_send(all_of_stage.out[place]);
      }
    }
    for (const std::uint32_t ghost : ghosts_now) {
      if (!must_be_active || are_active.has(ghost)) {
        receive(ghost);
      }
    }
  }

  void activate_send(Outgoing& message) {
    message.is_active = true;
    packed.push_back(&message);
    tasks.push_back(message.send);
  }

  [[nodiscard]] std::uint64_t active_particles() const {
    std::uint64_t sum = 0;
    const std::uint8_t longest = is_everything ? task::longest_bin.value() : task::longest_active(now).value();
    for (const std::uint32_t cell : active_own) {
      const auto its = std::as_const(table.own())[options.bin].subspan(table[cell].first, table[cell].count);
      sum += static_cast<std::uint64_t>(std::ranges::count_if(its, [&](std::uint8_t bin) { return bin <= longest; }));
    }
    return sum;
  }

  StepCount run(const Ask& ask) {
    find_active();
    find_near();
    count = {};
    count.active_here = active_particles();
    activate(ask);
    count.active_cells = static_cast<std::uint32_t>(active_own.size());
    count.tasks = static_cast<std::uint32_t>(tasks.size());
    scheduler.run(graph, tasks);
    count.messages = static_cast<std::uint32_t>(packed.size());
    for (const Outgoing* message : packed) {
      count.bytes += message->bytes.size();
    }
    const detail::StepEnd::Findings& findings = end->findings();
    count.next = findings.next;
    count.is_any = findings.is_any != 0;
    count.active_particles = findings.active_particles;
    particles = findings.particles;
    updated += findings.active_particles;
    return count;
  }

  Ticks begin(Ticks its_now) {
    tasks.clear();
    end->begin(its_now);
    end->activate({.now = its_now}, tasks);
    scheduler.run(graph, tasks);
    particles = end->findings().particles;
    return end->findings().next;
  }

  task::Scheduler& scheduler;
  CellTable& table;
  const CellStepsOptions options;
  comm::Group all;

  task::Graph graph;
  std::vector<std::unique_ptr<detail::ForceTasks>> forces;  ///< By place in the options.
  std::optional<detail::StepEnd> end;
  std::vector<Task> works;         ///< By stage, then own cell.
  std::vector<Messages> messages;  ///< By stage.
  std::vector<Task> agreements;    ///< Of stages.
  std::vector<Lent> lent;
  std::vector<std::vector<std::uint32_t>> lent_of;  ///< By own cell: its indices in `lent`.
  std::vector<std::vector<std::uint32_t>> lent_to;  ///< By ghost: the indices in `lent` of the cells that it reads.

  Ticks now = 0;
  bool is_everything = false;
  Parts parts = Parts::all;
  std::uint64_t particles = 0;  ///< Of all ranks.
  std::uint64_t updated = 0;    ///< Of all ranks, since the last exchange for forces.
  bool has_exchanged = false;
  std::vector<std::uint32_t> active_own, active_ghosts;
  std::vector<std::uint32_t> near;        ///< Own cells that are active, or near to active ones.
  std::vector<std::uint32_t> lent_now;    ///< Indices in `lent` of the cells that active ghosts read.
  std::vector<std::uint32_t> ghosts_now;  ///< Ghosts that active own cells read.
  Marks are_active, are_near, are_lent, are_read;
  std::vector<Outgoing*> packed;  ///< Of this step.
  std::vector<Task> tasks;
  StepCount count;
};

CellSteps::CellSteps(
    comm::Endpoint& endpoint, task::Scheduler& scheduler, CellTable& table, const Halo& halo, CellStepsOptions options)
    : impl_{std::make_unique<Impl>(endpoint, scheduler, table, halo, std::move(options))} {}

CellSteps::~CellSteps() = default;

Ticks CellSteps::begin(Ticks now) {
  return impl_->begin(now);
}

StepCount CellSteps::step(Ticks now, const Ask& ask) {
  impl_->now = now;
  impl_->is_everything = false;
  impl_->parts = Parts::all;
  return impl_->run(ask);
}

StepCount CellSteps::step_all(Ticks now, const Ask& ask, Parts parts) {
  impl_->now = now;
  impl_->parts = parts;
  impl_->is_everything = true;
  return impl_->run(ask);
}

}  // namespace plait::particles
