// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/rank_tasks.hpp"

#include <algorithm>
#include <unordered_set>

#include "plait/trace/remote_task.hpp"

namespace plait::replay::detail {
namespace {

constexpr std::uint32_t none = RunNode::none;
/// A longer time between two tasks of a worker is no cost of the second: the thread was descheduled, or did other work.
constexpr nanoseconds gap_max{100'000};

NodeRole role_of(trace::TaskRole role) {
  switch (role) {
    case trace::TaskRole::send:
      return NodeRole::send;
    case trace::TaskRole::receive:
      return NodeRole::receive;
    case trace::TaskRole::join:
      return NodeRole::join;
    case trace::TaskRole::compute:
      break;
  }
  return NodeRole::task;
}

bool is_in(StepRange steps, std::uint32_t step) {
  return steps.first <= step && step <= steps.last;
}

/// What has accessed one place of a flow: a sequential program in which tasks read and write.
struct PlaceHistory {
  std::vector<std::uint32_t> writers;  ///< Of the present value; several that may be in any order.
  std::vector<std::uint32_t> readers;  ///< Since then.
  std::vector<std::uint32_t> before;   ///< What those in any order came after.
  bool is_any_order = false;
  std::uint32_t exclusion = none;
};

enum class FlowAccess : std::uint32_t { reads, writes, any_order };

/// Orders `node`, which others see as `out`, after what accessed the place before it.
void access(RunBuilder& builder, PlaceHistory& place, FlowAccess how, std::uint32_t node, std::uint32_t out) {
  const auto after = [&](const std::vector<std::uint32_t>& all) {
    for (const std::uint32_t earlier : all) {
      builder.order(earlier, node);
    }
  };
  switch (how) {
    case FlowAccess::reads:
      after(place.writers);
      place.readers.push_back(out);
      break;
    case FlowAccess::writes:
      after(place.readers.empty() ? place.writers : place.readers);
      after(place.writers);
      place.writers.assign(1, out);
      place.readers.clear();
      place.is_any_order = false;
      break;
    case FlowAccess::any_order:
      if (!place.is_any_order || !place.readers.empty()) {
        place.before = std::move(place.writers);
        place.before.insert(place.before.end(), place.readers.begin(), place.readers.end());
        place.writers.clear();
        place.readers.clear();
        place.is_any_order = true;
      }
      after(place.before);
      place.writers.push_back(out);
      place.exclusion = place.exclusion == none ? builder.resource() : place.exclusion;
      builder.claim(node, {place.exclusion, false});
      break;
  }
}

}  // namespace

RankTasks::RankTasks(RunBuilder& builder, const trace::RankTrace& trace, trace::ClockLine clock, nanoseconds origin)
    : builder_{builder}, trace_{trace}, clock_{clock}, origin_{origin}, of_thread_(trace.threads.size()) {}

void RankTasks::add(StepRange steps) {
  add_executions(steps);
  continue_and_spawn();
  add_gaps();
  order_graphs(steps);
  order_flows(steps);
  order_recorded();
  order_others();
}

void RankTasks::add_executions(StepRange steps) {
  for (const auto& [thread, event] : trace_.tasks) {
    if (is_in(steps, event.step)) {
      executions_.push_back(
          {.thread = thread, .event = &event, .start = since_origin(event.start), .end = since_origin(event.end)});
    }
  }
  std::ranges::stable_sort(executions_, {}, [](const Execution& one) { return std::pair{one.start, one.end}; });
  std::unordered_map<std::uint32_t, std::uint32_t> kinds;
  for (std::uint32_t i = 0; i < executions_.size(); ++i) {
    Execution& one = executions_[i];
    const trace::TaskEvent& event = *one.event;
    const auto [kind, is_new] = kinds.try_emplace(event.kind.value(), 0);
    if (is_new) {
      kind->second = builder_.kind(trace_.name(trace::Role::task, event.kind));
    }
    const NodeRole role = role_of(event.role);
    one.node = builder_.add({.role = role,
                             .rank = trace_.rank.value(),
                             .worker = worker_of(one.thread),
                             .step = event.step,
                             .kind = kind->second,
                             .took = role == NodeRole::task ? one.end - one.start : nanoseconds{},
                             .start = one.start,
                             .end = one.end});
    of_id_[event.id].push_back(i);
    if (role == NodeRole::task) {
      of_thread_[one.thread].push_back(i);
    }
    StepOfRank& step = steps_.try_emplace(event.step, StepOfRank{one.start, one.end, {}, {}}).first->second;
    step.start = std::min(step.start, since_origin(event.ready));
    step.end = std::max(step.end, one.end);
    step.executions.push_back(i);
  }
}

std::uint32_t RankTasks::worker_of(std::uint32_t thread) const {
  const WorkerId worker = trace_.threads[thread].worker;
  return worker ? worker.value() : 0;
}

/// The time of a worker between two of its tasks, if the second was ready before: what the scheduler takes. A longer
/// one of worker 0 in an open run is the program's, which goes on while the run does.
void RankTasks::add_gaps() {
  for (const auto& executions : of_thread_) {
    nanoseconds last_end{};
    std::uint32_t last = none;
    for (const std::uint32_t i : executions) {
      const Execution& one = executions_[i];
      RunNode& node = builder_[one.node];
      const nanoseconds from = std::max(last_end, since_origin(one.event->ready));
      const bool is_of_open_run = one.event->place == 0 && !node.is_spawned && node.worker == 0;
      if (is_of_open_run && one.start - from > gap_max && last != none) {
        program_gaps_.push_back({from, one.start, last});
      } else {
        node.before = std::clamp(one.start - from, nanoseconds{}, gap_max);
      }
      last_end = std::max(last_end, one.end);
      last = i;
    }
  }
}

/// A task that continues does so after all that it has spawned; what waits for a task waits for those, too.
void RankTasks::continue_and_spawn() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> families;  // the one that spawns, and the spawned task's first
  for (const auto& [id, list] : of_id_) {
    const trace::TaskEvent& first = *executions_[list.front()].event;
    const auto parent = first.place == 0 && first.released_by > 0 ? of_id_.find(first.released_by) : of_id_.end();
    if (parent == of_id_.end()) {
      continue;
    }
    const nanoseconds ready = since_origin(first.ready);
    for (const std::uint32_t i : parent->second) {
      const Execution& one = executions_[i];
      if (one.event->role == trace::TaskRole::compute && one.start <= ready && ready < one.end) {
        families.emplace_back(i, list.front());
        break;
      }
    }
  }
  std::ranges::sort(families);
  for (const auto& [parent, child] : families) {
    Execution& one = executions_[parent];
    if (one.gate == none) {
      one.gate = builder_.add({.role = NodeRole::join, .rank = trace_.rank.value(), .step = one.event->step});
      builder_.order(one.node, one.gate);
    }
    builder_.spawn(one.node, {executions_[child].node, since_origin(executions_[child].event->ready) - one.start});
    builder_[executions_[child].node].is_spawned = true;
  }
  for (const auto& [parent, child] : families) {
    builder_.order(last_of(executions_[child].event->id)->out(), executions_[parent].gate);
  }
  for (const auto& [id, list] : of_id_) {
    for (std::size_t i = 1; i < list.size(); ++i) {
      builder_.order(executions_[list[i - 1]].out(), executions_[list[i]].node);
      builder_[executions_[list[i]].node].continues = executions_[list[i - 1]].node;
    }
  }
}

const Execution* RankTasks::last_of(std::uint64_t id) const {
  const auto found = of_id_.find(id);
  return found == of_id_.end() ? nullptr : &executions_[found->second.back()];
}

const Execution* RankTasks::last_before(std::uint64_t id, nanoseconds at) const {
  const auto found = of_id_.find(id);
  if (found == of_id_.end()) {
    return nullptr;
  }
  const auto after =
      std::ranges::upper_bound(found->second, at, {}, [this](std::uint32_t i) { return executions_[i].end; });
  return after == found->second.begin() ? nullptr : &executions_[*(after - 1)];
}

const Execution* RankTasks::last_begun_before(std::uint64_t id, nanoseconds at) const {
  const auto found = of_id_.find(id);
  if (found == of_id_.end()) {
    return nullptr;
  }
  const auto after =
      std::ranges::lower_bound(found->second, at, {}, [this](std::uint32_t i) { return executions_[i].start; });
  return after == found->second.begin() ? nullptr : &executions_[*(after - 1)];
}

void RankTasks::order_graphs(StepRange steps) {
  for (const trace::GraphRunEvent& run : trace_.graph_runs) {
    if (!is_in(steps, run.step)) {
      continue;
    }
    const nanoseconds start = since_origin(run.start);
    StepOfRank& step = steps_.try_emplace(run.step, StepOfRank{start, start, {}, {}}).first->second;
    step.start = start;
    order_run(run, step);
  }
}

/// The dependencies of the graph between tasks that ran. Joins leave no record: all of the graph take part.
void RankTasks::order_run(const trace::GraphRunEvent& run, StepOfRank& step) {
  struct Ends {
    std::uint32_t in = none;
    std::uint32_t out = none;
  };
  std::unordered_map<std::uint32_t, Ends> of_place;
  for (const std::uint32_t i : step.executions) {
    const Execution& one = executions_[i];
    if (const std::uint32_t place = one.event->place; place > 0) {
      Ends& ends = of_place[place];
      if (ends.in == none) {
        ends.in = one.node;
        add_claims(run.graph, place, one.node);
      }
      ends.out = one.out();
      const auto [known, is_new] = identities_.try_emplace({run.graph, place}, 0);
      if (is_new) {
        known->second = builder_.new_identity();
      }
      builder_[one.node].identity = known->second;
    }
  }
  const auto in_graph = [](const auto& entry) { return entry.graph; };
  for (const trace::GraphTask& task : std::ranges::equal_range(trace_.graph_tasks, run.graph, {}, in_graph)) {
    if (task.role == trace::TaskRole::join) {
      const std::uint32_t join = builder_.add({.role = NodeRole::join, .rank = trace_.rank.value(), .step = run.step});
      of_place[task.place] = {join, join};
      step.joins.push_back(join);
    }
  }
  for (const trace::Dependency& pair : std::ranges::equal_range(trace_.dependencies, run.graph, {}, in_graph)) {
    const auto earlier = of_place.find(pair.earlier);
    const auto later = of_place.find(pair.later);
    if (earlier != of_place.end() && later != of_place.end()) {
      builder_.order(earlier->second.out, later->second.in);
    }
  }
}

void RankTasks::add_claims(std::uint32_t graph, std::uint32_t place, std::uint32_t node) {
  enum : std::uint32_t { locks, shares, is_above };
  const auto key = [](const trace::GraphClaims& claims) { return std::pair{claims.graph, claims.place}; };
  const auto found = std::ranges::lower_bound(trace_.graph_claims, std::pair{graph, place}, {}, key);
  if (found == trace_.graph_claims.end() || key(*found) != std::pair{graph, place}) {
    return;
  }
  std::uint32_t last = none;
  for (const std::uint32_t entry : found->claims) {
    const auto [known, is_new] = resources_.try_emplace({graph, entry >> 2U}, 0);
    if (is_new) {
      known->second = builder_.resource();
    }
    if ((entry & 3U) == is_above && last != none) {
      builder_.set_above(last, known->second);
    } else {
      builder_.claim(node, {known->second, (entry & 3U) == shares});
    }
    last = known->second;
  }
}

/// Orders the tasks and messages of flows as a sequential program does that reads and writes the same places.
void RankTasks::order_flows(StepRange steps) {
  std::unordered_map<std::uint64_t, PlaceHistory> places;
  const bool names_flows = std::ranges::any_of(trace_.flow_tasks, [](const trace::FlowTask& task) {
    return task.role == trace::TaskRole::compute && task.communicator != 0;
  });
  std::uint32_t step = 0;
  for (const trace::FlowTask& task : trace_.flow_tasks) {
    const bool is_message = task.role != trace::TaskRole::compute;
    std::uint32_t node = none;
    std::uint32_t out = none;
    const auto found = of_id_.find(task.id);
    if (!is_message && found != of_id_.end()) {
      node = executions_[found->second.front()].node;
      out = executions_[found->second.back()].out();
      step = builder_[node].step;
    } else if (is_message && (step != 0 || is_in(steps, 0))) {
      node = out = builder_.add({.role = role_of(task.role),
                                 .rank = trace_.rank.value(),
                                 .step = step,
                                 .start = since_origin(task.submitted),
                                 .end = since_origin(task.submitted)});
      flow_messages_.push_back({node, task.role == trace::TaskRole::send, task.communicator, task.tag.value()});
    }
    if (node == none) {
      continue;
    }
    builder_[node].weight_ns = static_cast<float>(task.priority);
    // Places are numbers of a flow, and a rank may have several.
    const std::uint64_t flow = names_flows ? std::uint64_t{task.communicator} << 32U : 0;
    for (const std::uint32_t entry : task.accesses) {
      access(builder_, places[flow | entry >> 2U], static_cast<FlowAccess>(std::min(entry & 3U, 2U)), node, out);
    }
    submissions_.push_back({node, step, since_origin(task.submitted)});
  }
}

/// Orders the executions of elements and deferred tasks after those that they were recorded to come after.
void RankTasks::order_recorded() {
  for (const trace::TaskOrder& task : trace_.task_orders) {
    const auto found = of_id_.find(task.id);
    if (found == of_id_.end()) {
      continue;  // of another step
    }
    const nanoseconds at = since_origin(task.time);
    const auto later =
        std::ranges::lower_bound(found->second, at, {}, [this](std::uint32_t i) { return executions_[i].end; });
    if (later == found->second.end()) {
      continue;
    }
    const Execution& one = executions_[*later];
    for (const std::uint64_t entry : task.earlier) {
      const trace::ListedTask listed = trace::listed_task(entry);
      if (listed.elsewhere) {
        remote_orders_.push_back({one.node, listed.elsewhere->value(), listed.id});
        continue;
      }
      const Execution* const before = last_before(listed.id, one.start);
      const bool is_same_run = before != nullptr && before->event->step == one.event->step;  // else the program waited
      if (is_same_run && before->node != one.node) {
        builder_.order(before->out(), one.node);
      }
    }
    if (task.submitted > nanoseconds{}) {
      submissions_.push_back({one.node, one.event->step, since_origin(task.submitted)});
    }
  }
}

/// Of a task without known dependencies, the one that made it ready, if it had ended.
void RankTasks::order_others() {
  std::unordered_set<std::uint32_t> of_flow;
  for (const Submission& submission : submissions_) {
    of_flow.insert(submission.node);
  }
  for (const Execution& one : executions_) {
    if (builder_.is_ordered(one.node) || one.event->released_by == 0 || of_flow.contains(one.node)) {
      continue;
    }
    const Execution* const cause = last_of(one.event->released_by);
    if (cause != nullptr && cause->end <= one.end && cause->node != one.node && cause->start < one.start) {
      builder_.order(cause->out(), one.node);
    }
  }
}

nanoseconds RankTasks::busy_on_main(nanoseconds from, nanoseconds until) const {
  nanoseconds sum{};
  for (std::uint32_t thread = 0; thread < of_thread_.size(); ++thread) {
    if (trace_.threads[thread].worker != WorkerId{0}) {
      continue;
    }
    const std::vector<std::uint32_t>& executions = of_thread_[thread];
    auto at = std::ranges::upper_bound(executions, from, {}, [this](std::uint32_t i) { return executions_[i].end; });
    for (; at != executions.end() && executions_[*at].start < until; ++at) {
      sum += std::min(executions_[*at].end, until) - std::max(executions_[*at].start, from);
    }
  }
  return sum;
}

const Execution* RankTasks::running(std::uint32_t thread, nanoseconds at) const {
  if (thread >= of_thread_.size()) {
    return nullptr;
  }
  const std::vector<std::uint32_t>& executions = of_thread_[thread];
  const auto after =
      std::ranges::upper_bound(executions, at, {}, [this](std::uint32_t i) { return executions_[i].start; });
  if (after == executions.begin()) {
    return nullptr;
  }
  const Execution& one = executions_[*(after - 1)];
  return at <= one.end ? &one : nullptr;
}

}  // namespace plait::replay::detail
