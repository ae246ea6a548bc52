// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/run_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace plait::replay::detail {
namespace {

/// Between the end of a task and the time at which the next is noted as ready.
constexpr nanoseconds noting_max{20'000};

/// What the program does at a time.
struct ProgramAct {
  enum class What : std::uint8_t { starts_run, submits, posts, has_received, goes_on };
  nanoseconds at{};
  What what = What::starts_run;
  std::uint32_t index = 0;  ///< Step, or index of a submission, a loose end or a gap.
};

/// The program of one rank, from act to act.
class Program {
 public:
  Program(RunBuilder& builder, const RankTasks& tasks, std::vector<LooseEnd>& loose)
      : builder_{builder}, tasks_{tasks}, loose_{loose}, rank_{tasks.trace().rank.value()} {
    for (const auto& [number, step] : tasks.steps()) {
      ends_.emplace_back(step.end, number);
    }
    std::ranges::sort(ends_);
    last_ = builder_.add({.role = NodeRole::program, .rank = rank_});
    pieces_.push_back(last_);
  }

  void order() {
    place_ends_inside_tasks();
    for (const ProgramAct& act : acts()) {
      if (act.what == ProgramAct::What::goes_on) {
        go_on_in(tasks_.program_gaps()[act.index]);
        continue;
      }
      go_on_to(act);
      take(act);
    }
    for (const Execution& one : tasks_.executions()) {
      if (!builder_.is_ordered(one.node)) {
        builder_.order(piece_before(tasks_.since_origin(one.event->ready)), one.node);
      }
    }
  }

 private:
  /// Ends that are posted inside a task, or while a run goes on, are not of the program.
  void place_ends_inside_tasks() {
    std::map<std::uint32_t, const LooseEnd*> last_received;  // by communicator
    for (LooseEnd& end : loose_) {
      if (const Execution* const inside = tasks_.running(end.thread, end.posted)) {
        builder_.order(inside->node, end.node);
        end.is_placed = true;
      } else if (is_in_run(end.posted)) {
        const auto before = last_received.find(end.communicator);
        if (before != last_received.end() && before->second->completed <= end.posted) {
          builder_.order(before->second->node, end.node);
          end.is_placed = true;
        }
      }
      if (!end.is_send) {
        last_received[end.communicator] = &end;
      }
    }
  }

  [[nodiscard]] bool is_in_run(nanoseconds at) const {
    return std::ranges::any_of(tasks_.steps(),
                               [&](const auto& entry) { return entry.second.start < at && at < entry.second.end; });
  }

  [[nodiscard]] std::vector<ProgramAct> acts() const {
    std::vector<ProgramAct> acts;
    for (const auto& [number, step] : tasks_.steps()) {
      acts.push_back({step.start, ProgramAct::What::starts_run, number});
    }
    for (std::uint32_t i = 0; i < tasks_.submissions().size(); ++i) {
      acts.push_back({tasks_.submissions()[i].at, ProgramAct::What::submits, i});
    }
    for (std::uint32_t i = 0; i < loose_.size(); ++i) {
      if (!loose_[i].is_placed) {
        acts.push_back({loose_[i].posted, ProgramAct::What::posts, i});
        if (!loose_[i].is_send) {
          acts.push_back({loose_[i].completed, ProgramAct::What::has_received, i});
        }
      }
    }
    for (std::uint32_t i = 0; i < tasks_.program_gaps().size(); ++i) {
      acts.push_back({tasks_.program_gaps()[i].until, ProgramAct::What::goes_on, i});
    }
    std::ranges::stable_sort(acts, {}, [](const ProgramAct& act) { return std::pair{act.at, act.what}; });
    return acts;
  }

  /// Adds the piece of the program before an act.
  void go_on_to(const ProgramAct& act) {
    const nanoseconds at = std::max(act.at, now_);
    nanoseconds base = now_;
    std::vector<std::uint32_t> after{last_};
    for (; next_end_ < ends_.size() && ends_[next_end_].first <= at; ++next_end_) {
      const StepOfRank& step = tasks_.steps().at(ends_[next_end_].second);
      base = std::max(base, std::min(step.end, at));
      after.push_back(end_of(step, ends_[next_end_].second));
    }
    nanoseconds waited{};
    if (act.what == ProgramAct::What::has_received) {
      const LooseEnd& end = loose_[act.index];
      waited = std::max(nanoseconds{}, std::min(end.arrived, at) - std::max(base, end.posted));
      after.push_back(end.node);
    }
    const nanoseconds took = std::max(nanoseconds{}, at - base - waited - tasks_.busy_on_main(base, at));
    last_ = builder_.add({.role = NodeRole::program, .rank = rank_, .took = took, .start = at - took, .end = at});
    for (const std::uint32_t earlier : after) {
      builder_.order(earlier, last_);
    }
    pieces_.push_back(last_);
    now_ = at;
  }

  /// Adds the piece of the program in a gap between tasks.
  void go_on_in(const ProgramGap& gap) {
    const nanoseconds from = std::max(gap.from, now_);
    if (from >= gap.until) {
      return;
    }
    const std::uint32_t piece = builder_.add(
        {.role = NodeRole::program, .rank = rank_, .took = gap.until - from, .start = from, .end = gap.until});
    builder_.order(last_, piece);
    builder_.order(tasks_.executions()[gap.before].node, piece);
    last_ = piece;
    pieces_.push_back(piece);
    now_ = gap.until;
  }

  void take(const ProgramAct& act) {
    switch (act.what) {
      case ProgramAct::What::starts_run:
        for (const std::uint32_t i : tasks_.steps().at(act.index).executions) {
          const Execution& one = tasks_.executions()[i];
          if (one.event->place > 0 && !builder_.is_ordered(one.node)) {
            builder_.order(last_, one.node);
          }
        }
        for (const std::uint32_t join : tasks_.steps().at(act.index).joins) {
          if (!builder_.is_ordered(join)) {
            builder_.order(last_, join);
          }
        }
        break;
      case ProgramAct::What::submits:
        builder_.order(last_, tasks_.submissions()[act.index].node);
        break;
      case ProgramAct::What::posts:
        builder_.order(last_, loose_[act.index].node);
        break;
      case ProgramAct::What::has_received:
      case ProgramAct::What::goes_on:
        break;
    }
  }

  /// A node that ends when all tasks of a run have ended.
  std::uint32_t end_of(const StepOfRank& step, std::uint32_t number) {
    const std::uint32_t join = builder_.add({.role = NodeRole::join, .rank = rank_, .step = number});
    for (const std::uint32_t i : step.executions) {
      builder_.order(tasks_.executions()[i].out(), join);
    }
    return join;
  }

  [[nodiscard]] std::uint32_t piece_before(nanoseconds at) const {
    const auto after =
        std::ranges::upper_bound(pieces_, at, {}, [this](std::uint32_t piece) { return builder_[piece].end; });
    return after == pieces_.begin() ? pieces_.front() : *(after - 1);
  }

  RunBuilder& builder_;
  const RankTasks& tasks_;
  std::vector<LooseEnd>& loose_;
  std::uint32_t rank_;
  std::vector<std::pair<nanoseconds, std::uint32_t>> ends_;  ///< Of steps, with their numbers.
  std::size_t next_end_ = 0;
  std::uint32_t last_ = RunNode::none;
  std::vector<std::uint32_t> pieces_;
  nanoseconds now_{};
};

}  // namespace

void order_program(RunBuilder& builder, const RankTasks& tasks, std::vector<LooseEnd>& loose) {
  Program{builder, tasks, loose}.order();
}

void explain_the_rest(RunBuilder& builder,
                      const RankTasks& tasks,
                      const std::vector<LooseEnd>& loose,
                      const std::vector<Cause>& causes) {
  std::vector<const LooseEnd*> received;
  for (const LooseEnd& end : loose) {
    if (!end.is_send && end.is_placed) {
      received.push_back(&end);
    }
  }
  std::ranges::sort(received, {}, &LooseEnd::completed);
  for (const Execution& one : tasks.executions()) {
    const nanoseconds ready = tasks.since_origin(one.event->ready);
    const Cause& cause = causes[one.node];
    if (ready - cause.at <= noting_max || cause.is_message || builder[one.node].is_spawned) {
      continue;
    }
    const auto after = std::ranges::upper_bound(received, ready + nanoseconds{1000}, {}, &LooseEnd::completed);
    if (after != received.begin() && (*(after - 1))->completed > cause.at) {
      builder.order((*(after - 1))->node, one.node);
    } else {
      builder[one.node].lag = ready - cause.at;
    }
  }
}

}  // namespace plait::replay::detail
