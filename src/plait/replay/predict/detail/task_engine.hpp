// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "plait/replay/predict/detail/message_protocol.hpp"
#include "plait/replay/predict/detail/task_queue.hpp"
#include "plait/replay/predict/predict_tasks.hpp"

namespace plait::replay::predicting {

/// Schedules the nodes of a run on workers, event by event.
///
/// A worker acts when a task of its own ends, or when it is idle and something became ready. Messages that are complete
/// are noted, and end with the next act of a worker of their rank.
class TaskEngine final : public MessageUser {
 public:
  /// Borrows the run and the platform.
  TaskEngine(const TaskRun& run,
             const Platform& platform,
             const TaskOptions& options,
             std::uint32_t ranks,
             std::uint32_t hosts);
  TaskEngine(const TaskEngine&) = delete;
  TaskEngine& operator=(const TaskEngine&) = delete;

  /// Throws: `Error` with `bad_input` when nodes wait for ever. Once only.
  [[nodiscard]] TaskPrediction predict();

  void matched(const Message& message, Time now) override;
  void has_left(std::uint32_t send, Time at) override;
  void complete(std::uint32_t operation, Time at, Time cost) override;
  void disturb(std::uint32_t rank, const Disturbance& by) override;

 private:
  struct Worker {
    std::uint32_t rank = 0;
    std::uint32_t running = RunNode::none;
    std::uint32_t next = RunNode::none;  ///< Made ready by the last one.
    std::deque<std::uint32_t> batch;     ///< Taken from a queue.
    std::deque<std::uint32_t> spawned;   ///< The newest is its own next; others steal the oldest.
    TaskQueue queue;
    std::uint32_t random = 1;
    Time stolen = 0;  ///< From what it runs, by messages.
  };
  /// What waits until a worker of the rank is in the library.
  struct Noted {
    EventKind kind = EventKind::release;
    std::uint32_t id = 0;
  };
  struct RankState {
    std::deque<std::uint32_t> program;  ///< Ready parts of the program.
    std::vector<Noted> noted;
    Time busy = 0;
    Time in_program = 0;
    bool is_unsettled = false;  ///< Something became ready since its idle workers were last asked.
  };

  void handle(const Event& event);
  // Nodes.
  void release(std::uint32_t node, Worker& worker);
  void make_ready(std::uint32_t node, Worker& worker);
  void finish(std::uint32_t node, Worker& worker);
  void post(std::uint32_t node, Worker& worker);
  void end_message(std::uint32_t operation, Worker& worker);
  // Workers.
  void begin(Worker& worker, std::uint32_t node);
  void end_running(Worker& worker);
  void go_on(Worker& worker);
  void settle(std::uint32_t rank);
  [[nodiscard]] bool has_idle(std::uint32_t rank) const;
  [[nodiscard]] Worker& acting(std::uint32_t rank);
  void offer(Worker& worker, std::uint32_t node);
  [[nodiscard]] std::uint32_t next_of(Worker& worker);
  [[nodiscard]] std::uint32_t steal(Worker& worker);
  void handle_noted(Worker& worker);
  void note(std::uint32_t rank, EventKind kind, std::uint32_t id);

  [[nodiscard]] Time duration_of(const RunNode& node) const;
  [[nodiscard]] ReadyTask ready_task(std::uint32_t node) const;
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t node) const { return of_rank_[run_.nodes[node].rank]; }
  [[nodiscard]] std::span<Worker> workers_of(std::uint32_t rank) {
    return std::span{workers_}.subspan(std::size_t{rank} * workers_each_, workers_each_);
  }
  [[nodiscard]] TaskPrediction result();

  const TaskRun& run_;
  const Platform& platform_;
  const TaskOptions& options_;
  std::uint32_t workers_each_;
  std::vector<std::uint32_t> of_rank_;  ///< The modelled rank of each recorded one.
  Machine machine_;
  EventQueue events_;
  PredictOptions protocol_options_;
  MessageProtocol messages_;
  ResourceStates resources_;
  std::vector<Worker> workers_;
  std::vector<RankState> ranks_;
  std::vector<std::uint32_t> waits_;          ///< Of each node: what must still end.
  std::vector<std::uint32_t> messages_left_;  ///< Of each send node.
  std::vector<std::uint32_t> last_worker_;    ///< By identity.
  std::vector<bool> has_arrived_;             ///< Of each message within a rank: its send was posted.
  std::vector<std::uint32_t> finishing_;
  std::vector<std::uint32_t> unsettled_;
  std::vector<NodeTimes> times_;
  bool is_finishing_ = false;
  std::uint64_t ended_ = 0;
  std::uint64_t tasks_ = 0;
  std::uint64_t stolen_ = 0;
  Time now_ = 0;
  Time last_ = 0;
};

}  // namespace plait::replay::predicting
