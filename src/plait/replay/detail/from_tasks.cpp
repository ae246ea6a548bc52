// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/from_tasks.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/replay/detail/call_writer.hpp"
#include "plait/replay/detail/matched_messages.hpp"
#include "plait/replay/detail/rank_calls.hpp"
#include "plait/replay/detail/stream_builder.hpp"

namespace plait::replay::detail {
namespace {

bool is_message(const RunNode& node) {
  return node.role == NodeRole::send || node.role == NodeRole::receive;
}

/// Of each node, the sends and receives that it waits for, by way of joins.
std::vector<std::vector<std::uint32_t>> messages_before(const TaskRun& run) {
  std::vector<std::vector<std::uint32_t>> before(run.nodes.size());
  std::vector<std::uint32_t> ways;
  std::vector<std::uint32_t> seen_for(run.nodes.size(), RunNode::none);
  for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
    if (!is_message(run.nodes[node])) {
      continue;
    }
    ways.assign(1, node);
    while (!ways.empty()) {
      const std::uint32_t from = ways.back();
      ways.pop_back();
      for (const std::uint32_t later : run.later.of(from)) {
        if (std::exchange(seen_for[later], node) == node) {
          continue;
        }
        if (run.nodes[later].role == NodeRole::join) {
          ways.push_back(later);
        } else {
          before[later].push_back(node);
        }
      }
    }
  }
  return before;
}

/// What a node waits for on its rank: of each worker the last part of a task or of the program.
class EarlierParts {
 public:
  /// The end of a node, or the point in it at which it spawns `child`.
  struct Part {
    std::uint32_t node = RunNode::none;
    std::uint32_t child = RunNode::none;
  };

  explicit EarlierParts(const TaskRun& run) : run_{run}, parts_(run.nodes.size()) {
    std::vector<std::uint32_t> waits;
    std::vector<std::uint32_t> open;
    for (std::uint32_t node = 0; node < run.nodes.size(); ++node) {
      waits.push_back(run.nodes[node].earlier);
      if (waits.back() == 0) {
        open.push_back(node);
      }
    }
    const auto release = [&](std::uint32_t node) {
      if (--waits[node] == 0) {
        open.push_back(node);
      }
    };
    while (!open.empty()) {
      const std::uint32_t node = open.back();
      open.pop_back();
      for (const std::uint32_t later : run.later.of(node)) {
        pass_on(node, later);
        release(later);
      }
      for (const Spawning& spawning : run.spawns.of(node)) {
        add(spawning.child, {node, spawning.child});
        release(spawning.child);
      }
      if (run.nodes[node].role == NodeRole::join) {
        parts_[node] = {};  // nothing asks for those of a join any more
      }
    }
  }

  [[nodiscard]] const std::vector<Part>& of(std::uint32_t node) const { return parts_[node]; }

 private:
  void pass_on(std::uint32_t node, std::uint32_t later) {
    const NodeRole role = run_.nodes[node].role;
    if (role == NodeRole::task || role == NodeRole::program) {
      add(later, {node});
    } else if (role == NodeRole::join) {
      for (const Part& part : parts_[node]) {
        add(later, part);
      }
    }
  }

  /// Of each worker the last suffices, as it comes after those before.
  void add(std::uint32_t node, const Part& part) {
    const RunNode& what = run_.nodes[part.node];
    for (Part& known : parts_[node]) {
      const RunNode& other = run_.nodes[known.node];
      if (other.worker == what.worker) {
        // Of one node, its end is later than the points at which it spawns.
        const bool is_later = known.node == part.node ? part.child == RunNode::none : other.start < what.start;
        known = is_later ? part : known;
        return;
      }
    }
    parts_[node].push_back(part);
  }

  const TaskRun& run_;
  std::vector<std::vector<Part>> parts_;
};

/// The operations of all ranks.
class TaskStreams {
 public:
  /// `calls`: of each rank, or none. Messages of tasks are on `communicator`.
  TaskStreams(const TaskRun& run, const std::vector<RankCalls>& calls, std::uint32_t communicator)
      : run_{run},
        calls_{calls},
        communicator_{communicator},
        messages_{messages_before(run)},
        parts_{run},
        operations_(run.nodes.size()) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> numbers;
    for (const RunMessage& message : run.messages) {
      tags_.push_back(numbers[{run.nodes[message.send].rank, run.nodes[message.receive].rank}]++);
    }
    end_of_.assign(run.nodes.size(), {none, 0});
    waited_at_.assign(run.nodes.size(), {none, 0});
  }

  /// `beginning`: when the program begins to compute, by rank 0's clock.
  [[nodiscard]] Schedule schedule(nanoseconds beginning, CallTotals& totals) {
    beginning_ = beginning;
    totals_ = &totals;
    std::vector<std::vector<std::uint32_t>> of_rank(run_.ranks);
    for (std::uint32_t node = 0; node < run_.nodes.size(); ++node) {
      if (run_.nodes[node].role != NodeRole::join) {
        of_rank[run_.nodes[node].rank].push_back(node);
      }
    }
    Schedule schedule;
    schedule.length = run_.length;
    for (std::uint32_t rank = 0; rank < run_.ranks; ++rank) {
      std::vector<std::uint32_t>& nodes = of_rank[rank];
      std::ranges::stable_sort(nodes, {}, [this](std::uint32_t node) { return run_.nodes[node].start; });
      write(nodes, rank, schedule.ranks.emplace_back());
    }
    return schedule;
  }

 private:
  static constexpr std::uint32_t none = RunNode::none;

  /// The streams of one rank while they are written.
  struct Writing {
    std::vector<Stream>& streams;
    std::vector<StreamBuilder> builders;
    std::vector<std::vector<std::uint32_t>> covered;  ///< Of each stream: operations of the others that it comes after.
    std::vector<std::optional<CallWriter>> calls;     ///< Of each stream's thread, if it called MPI.
  };

  void write(const std::vector<std::uint32_t>& nodes, std::uint32_t number, RankSchedule& rank) {
    std::uint32_t workers = 1;
    for (const std::uint32_t node : nodes) {
      workers = std::max(workers, run_.nodes[node].worker + 1);
    }
    Writing writing{rank.streams, {}, {}, {}};
    add_streams(workers, number, writing);
    for (const std::uint32_t node : nodes) {
      for (const std::uint32_t message : messages_[node]) {
        if (run_.nodes[message].role == NodeRole::receive) {
          stream_of_receive_.try_emplace(message, run_.nodes[node].worker);
        }
      }
    }
    nanoseconds end{};
    for (const std::uint32_t node : nodes) {
      write(node, writing);
      end = std::max(end, run_.nodes[node].end);
    }
    write_last_calls(end, writing);
    for (StreamBuilder& builder : writing.builders) {
      builder.wait_for_the_rest(end, nodes.empty() ? 0 : run_.nodes[nodes.back()].step);
    }
  }

  /// One for each worker, and for each other thread that called MPI.
  void add_streams(std::uint32_t workers, std::uint32_t rank, Writing& writing) const {
    std::vector<std::optional<std::size_t>> threads(workers);
    if (!calls_.empty()) {
      const RankCalls& calls = calls_[rank];
      for (std::size_t thread = 0; thread < calls.threads().size(); ++thread) {
        const WorkerId worker = calls.trace().threads[thread].worker;
        if (calls.threads()[thread].calls.empty()) {
          continue;
        }
        if (worker && worker.value() < workers && !threads[worker.value()]) {
          threads[worker.value()] = thread;
        } else {
          threads.emplace_back(thread);
        }
      }
    }
    writing.streams.resize(threads.size());
    writing.calls.resize(threads.size());
    writing.covered.assign(threads.size(), std::vector<std::uint32_t>(threads.size(), 0));
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
      std::string& name = writing.streams[i].name;
      name = workers == 1 ? "tasks" : fmt::format("worker {}", i);
      if (i >= workers) {
        name = calls_[rank].trace().threads[*threads[i]].name;
      }
      writing.builders.emplace_back(writing.streams[i]);
      if (threads[i]) {
        writing.calls[i].emplace(calls_[rank], *threads[i], 0U, beginning_);
      }
    }
  }

  void write_call(std::uint32_t stream, Writing& writing) {
    writing.calls[stream]->write_next(writing.streams[stream], writing.builders[stream], *totals_);
  }

  /// Writes the calls of the stream's thread before a node of its own. What the thread did between two nodes but these
  /// calls was waiting; before the first one, computing.
  void write_calls_before(const RunNode& node, std::uint32_t stream, Writing& writing) {
    std::optional<CallWriter>& calls = writing.calls[stream];
    const bool is_first = writing.streams[stream].operations.empty();
    bool has_any = false;
    while (calls && calls->has_one_before(node.start)) {
      go_on_to_call(*calls, !is_first);
      write_call(stream, writing);
      has_any = true;
    }
    if (is_first && has_any) {
      writing.builders[stream].compute(calls->free(), node.start - calls->free(), node.step);
    }
  }

  /// Writes the calls of each thread after its last node, when all others have ended.
  void write_last_calls(nanoseconds end, Writing& writing) {
    std::vector<StreamPoint> ends;
    for (std::uint32_t stream = 0; stream < writing.streams.size(); ++stream) {
      ends.push_back(end_of(stream, writing));
    }
    for (std::uint32_t stream = 0; stream < writing.streams.size(); ++stream) {
      std::optional<CallWriter>& calls = writing.calls[stream];
      if (!calls || calls->is_at_end()) {
        continue;
      }
      while (calls->has_one_before(end)) {
        go_on_to_call(*calls, stream < run_.workers);
        write_call(stream, writing);
      }
      if (calls->is_at_end()) {
        continue;
      }
      if (stream < run_.workers) {
        come_after(ends, stream, writing, {.start = end});
        calls->go_on_at(std::max(calls->free(), end));
      }
      while (!calls->is_at_end()) {
        write_call(stream, writing);
      }
    }
  }

  /// A worker waits until its next call, where it has no task; another thread computes.
  static void go_on_to_call(CallWriter& calls, bool is_worker) {
    if (is_worker) {
      calls.go_on_at(std::max(calls.free(), calls.start()));
    }
  }

  void write(std::uint32_t place, Writing& writing) {
    const RunNode& node = run_.nodes[place];
    const std::uint32_t stream = stream_of(place);
    write_calls_before(node, stream, writing);
    std::vector<StreamPoint> others;
    wait_for_messages(place, stream, writing, others);
    for (const EarlierParts::Part& part : parts_.of(place)) {
      if (part.child == none) {
        others.push_back(end_of_[part.node]);
      } else if (const auto point = spawned_at_.find(part.child); point != spawned_at_.end()) {
        others.push_back(point->second);
      }
    }
    come_after(others, stream, writing, node);
    if (is_message(node)) {
      begin(place, writing.builders[stream]);
    } else {
      compute(place, stream, writing);
    }
    end_of_[place] = end_of(stream, writing);
  }

  /// Where a stream is now.
  [[nodiscard]] static StreamPoint end_of(std::uint32_t stream, const Writing& writing) {
    const std::size_t count = writing.streams[stream].operations.size();
    return count == 0 ? StreamPoint{none, 0} : StreamPoint{stream, static_cast<std::uint32_t>(count - 1)};
  }

  [[nodiscard]] std::uint32_t stream_of(std::uint32_t place) const {
    const RunNode& node = run_.nodes[place];
    if (node.role == NodeRole::receive) {
      const auto first = stream_of_receive_.find(place);
      return first == stream_of_receive_.end() ? 0 : first->second;
    }
    if (node.role != NodeRole::send) {
      return node.worker;
    }
    const auto& parts = parts_.of(place);
    const auto last =
        std::ranges::max_element(parts, {}, [this](const auto& part) { return run_.nodes[part.node].end; });
    return last == parts.end() ? 0 : run_.nodes[last->node].worker;
  }

  /// Waits for those that were begun in this stream, and adds to `others` the waits of the others.
  void wait_for_messages(std::uint32_t place,
                         std::uint32_t stream,
                         Writing& writing,
                         std::vector<StreamPoint>& others) {
    const RunNode& node = run_.nodes[place];
    std::map<std::uint32_t, std::vector<std::uint32_t>> open;  // operations by stream
    std::vector<std::uint32_t> waited;
    for (const std::uint32_t message : messages_[place]) {
      if (waited_at_[message].stream != none) {
        others.push_back(waited_at_[message]);
      } else if (!operations_[message].empty()) {
        std::vector<std::uint32_t>& list = open[stream_of(message)];
        list.insert(list.end(), operations_[message].begin(), operations_[message].end());
        waited.push_back(message);
      }
    }
    for (const auto& [of, operations] : open) {
      writing.builders[of].wait(operations, node.start, {}, node.step);
      if (of != stream) {
        others.push_back(end_of(of, writing));
      }
    }
    for (const std::uint32_t message : waited) {
      waited_at_[message] = end_of(stream_of(message), writing);
    }
  }

  /// Has a stream wait for points of the others, but for those that it comes after already.
  static void come_after(const std::vector<StreamPoint>& others,
                         std::uint32_t stream,
                         Writing& writing,
                         const RunNode& node) {
    std::vector<StreamPoint>& list = writing.streams[stream].others;
    const auto first = static_cast<std::uint32_t>(list.size());
    for (const StreamPoint& point : others) {
      if (point.stream == none || point.stream == stream) {
        continue;
      }
      if (std::uint32_t& covered = writing.covered[stream][point.stream]; covered <= point.operation) {
        covered = point.operation + 1;
        list.push_back(point);
      }
    }
    if (const auto count = static_cast<std::uint32_t>(list.size()) - first; count > 0) {
      writing.builders[stream].add(
          {.action = Action::after, .step = node.step, .first = first, .count = count, .at = node.start});
    }
  }

  /// Adds the time of a task, in parts where it spawns others or calls MPI.
  void compute(std::uint32_t place, std::uint32_t stream, Writing& writing) {
    const RunNode& node = run_.nodes[place];
    std::vector<Spawning> spawnings{run_.spawns.of(place).begin(), run_.spawns.of(place).end()};
    std::ranges::stable_sort(spawnings, {}, &Spawning::after);
    nanoseconds before = node.before + node.lag;
    nanoseconds done{};
    for (const Spawning& spawning : spawnings) {
      const nanoseconds at = std::clamp(spawning.after, done, node.took);
      run_until(node, {done, at}, std::exchange(before, nanoseconds{}), stream, writing);
      done = at;
      spawned_at_[spawning.child] = end_of(stream, writing);
    }
    run_until(node, {done, node.took}, before, stream, writing);
  }

  /// Adds a part of a node with the calls in it, and `before` it the time of its worker.
  void run_until(const RunNode& node,
                 std::pair<nanoseconds, nanoseconds> part,
                 nanoseconds before,
                 std::uint32_t stream,
                 Writing& writing) {
    StreamBuilder& builder = writing.builders[stream];
    std::optional<CallWriter>& calls = writing.calls[stream];
    const nanoseconds end = node.start + part.second;
    if (!calls || !calls->has_one_before(end)) {
      builder.compute(node.start + part.first, part.second - part.first + before, node.step);
      return;
    }
    builder.compute(node.start + part.first, before, node.step);
    calls->go_on_at(node.start + part.first);
    while (calls->has_one_before(end)) {
      write_call(stream, writing);
    }
    builder.compute(calls->free(), end - calls->free(), node.step);
  }

  void begin(std::uint32_t place, StreamBuilder& builder) {
    const RunNode& node = run_.nodes[place];
    const auto add = [&](std::uint32_t number) {
      const RunMessage& message = run_.messages[number];
      const bool is_send = node.role == NodeRole::send;
      operations_[place].push_back(builder.begin({.action = is_send ? Action::send : Action::receive,
                                                  .step = node.step,
                                                  .communicator = communicator_,
                                                  .peer = run_.nodes[is_send ? message.receive : message.send].rank,
                                                  .tag = tags_[number],
                                                  .bytes = message.bytes,
                                                  .at = node.start,
                                                  .took = std::max(nanoseconds{}, node.end - node.start)}));
    };
    if (node.role == NodeRole::send) {
      std::ranges::for_each(run_.sent.of(place), add);
    } else if (run_.received[place] != RunNode::none) {
      add(run_.received[place]);
    }
  }

  const TaskRun& run_;
  const std::vector<RankCalls>& calls_;
  std::uint32_t communicator_;
  nanoseconds beginning_{};
  CallTotals* totals_ = nullptr;
  std::vector<std::vector<std::uint32_t>> messages_;
  EarlierParts parts_;
  std::vector<std::vector<std::uint32_t>> operations_;  ///< Of each node, in its stream.
  std::vector<std::uint64_t> tags_;                     ///< Of each message.
  std::vector<StreamPoint> end_of_;                     ///< Of each node; without a stream until it is written.
  std::vector<StreamPoint> waited_at_;                  ///< Of each message, where it is waited for first.
  std::unordered_map<std::uint32_t, StreamPoint> spawned_at_;
  std::unordered_map<std::uint32_t, std::uint32_t> stream_of_receive_;  ///< The one that waits for it first.
};

/// A number that no communicator has; 0 is that of all ranks.
std::uint32_t unused_number(const std::map<std::uint32_t, std::vector<std::uint32_t>>& communicators) {
  return communicators.empty() ? 1 : communicators.rbegin()->first + 1;
}

}  // namespace

bool has_ordered_tasks(const trace::RunTrace& run) {
  return !run.ranks.empty() && std::ranges::all_of(run.ranks, [](const trace::RankTrace& rank) {
    std::set<std::uint32_t> threads;
    for (const auto& [thread, task] : rank.tasks) {
      threads.insert(thread);
    }
    return threads.size() == 1 ||
           (threads.size() > 1 && !(rank.graph_runs.empty() && rank.flow_tasks.empty() && rank.task_orders.empty()));
  });
}

Schedule schedule_from_tasks(const trace::RunTrace& run, StepRange steps) {
  const TaskRun tasks = tasks_of_run(run, steps).value();
  CallTotals totals;
  Schedule schedule = TaskStreams{tasks, {}, 0}.schedule({}, totals);
  schedule.notices = match_messages(run, [](std::uint32_t, std::size_t) { return true; }).notices;
  return schedule;
}

Schedule schedule_from_tasks_and_calls(const trace::RunTrace& run, std::span<const TimeRange> ranges, StepRange steps) {
  TaskRun tasks = tasks_of_run(run, steps).value();
  for (RunNode& node : tasks.nodes) {
    node.start += tasks.origin;
    node.end += tasks.origin;
  }
  const MatchedRun matched{run, ranges};
  CallTotals totals;
  std::vector<RankCalls> calls;
  calls.reserve(run.ranks.size());
  for (std::uint32_t rank = 0; rank < run.ranks.size(); ++rank) {
    calls.emplace_back(run.ranks[rank], run.clock_line(Rank{rank}), matched, ranges[rank], totals);
  }
  const std::uint32_t communicator = unused_number(matched.communicators);
  const nanoseconds beginning = std::min(tasks.origin, beginning_of(run, ranges));
  Schedule schedule = TaskStreams{tasks, calls, communicator}.schedule(beginning, totals);
  schedule.communicators = matched.communicators;
  std::vector<std::uint32_t>& all = schedule.communicators[communicator];
  all.resize(run.ranks.size());
  std::iota(all.begin(), all.end(), 0U);
  totals.of_engine = 0;  // they are played
  schedule.notices = matched.notices();
  report(totals, schedule.notices);
  count_from_the_beginning(schedule, beginning);
  return schedule;
}

}  // namespace plait::replay::detail
