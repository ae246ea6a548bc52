// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "plait/replay/predict/detail/collective_runs.hpp"
#include "plait/replay/predict/detail/cores.hpp"
#include "plait/replay/predict/detail/message_protocol.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::predicting {

/// Plays a schedule on a platform, event by event.
///
/// Streams act in the order of virtual time: before a stream does what others could notice, it yields to all earlier
/// events. Computing and posting receives affect no other rank, so most operations need no event.
class Engine final : public MessageUser {
 public:
  Engine(const Schedule& schedule, const Platform& platform, const PredictOptions& options, std::uint32_t hosts);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  /// Throws: `Error` with `bad_input` when it cannot finish. Once only.
  [[nodiscard]] Prediction run();

  void matched(const Message& message, Time now) override;
  void has_left(std::uint32_t send, Time at) override;
  void complete(std::uint32_t operation, Time at, Time cost) override;
  void disturb(std::uint32_t rank, const Disturbance& by) override;

 private:
  enum class Phase : std::uint8_t {
    acting,
    computing,  ///< Has computing left, and a core for its next slice.
    sliced,     ///< Is at the end of a slice.
    sending,
    waiting,
    following,  ///< Waits for operations of other streams.
    ended
  };

  struct StreamState {
    const Stream* stream = nullptr;
    std::uint32_t rank = 0;
    std::uint32_t base = 0;  ///< Number of its first operation among all.
    std::uint32_t next = 0;
    std::uint32_t remaining = 0;  ///< Incomplete operations of its wait.
    std::uint32_t computed = 0;   ///< Its last operation that computes.
    Phase phase = Phase::acting;
    bool has_core = false;
    Time now = 0;
    Time left = 0;   ///< Of its computing, after the current slice.
    Time since = 0;  ///< When its wait began.
    Time compute = 0;
    Time wait = 0;
    Disturbance disturbance{};  ///< Of its processor, by what it has sent.
  };

  /// An event that waits until its rank is in the library.
  struct Pending {
    EventKind kind;
    std::uint32_t id;
  };

  /// What streams wait for in others.
  struct Passing {
    std::vector<Time> at;  ///< When each operation was passed, or `open`; empty if no stream waits for another.
    std::unordered_multimap<std::uint32_t, std::uint32_t> followers;  ///< Streams that wait until one is passed.
  };

  struct RankState {
    std::uint32_t first_stream = 0;
    std::uint32_t waiting = 0;  ///< Streams that are in a wait.
    std::vector<Pending> pending;
  };

  void handle(const Event& event);
  void run_stream(std::uint32_t index);
  /// Carries out the next operation. False if the stream yields: then it has an event, or waits.
  [[nodiscard]] bool act(StreamState& stream, std::uint32_t index);
  [[nodiscard]] bool must_give_way(std::uint32_t stream, Time until);
  /// Begins an operation that computes, or continues it. False if the stream yields.
  [[nodiscard]] bool compute(StreamState& stream, std::uint32_t index, const Operation& operation);
  /// Whether the stream has a core, where they are shared. Else it is woken when it has one.
  [[nodiscard]] bool has_core(StreamState& stream, std::uint32_t index);
  /// Gives the core of a stream to the next. Ranks of the host that wait make progress meanwhile.
  void give_back_core(StreamState& stream, std::uint32_t index);
  void begin_wait(StreamState& stream, std::uint32_t index, const Operation& operation);
  /// Waits for other streams. False if one has not passed its operation yet, which will resume this stream.
  [[nodiscard]] bool follow(StreamState& stream, std::uint32_t index, const Operation& operation);
  /// Goes to the next operation.
  void pass(StreamState& stream);
  void end_wait(StreamState& stream);
  /// Whether the stream does nothing that work for messages could delay.
  [[nodiscard]] static bool is_idle(const StreamState& stream) noexcept {
    return stream.phase == Phase::waiting || stream.phase == Phase::following || stream.phase == Phase::ended;
  }
  /// The stream that work of the network for a rank delays, if one may be delayed.
  [[nodiscard]] StreamState* disturbed(std::uint32_t rank, const Disturbance& by);
  void delay(StreamState& stream, Time taken);
  /// What a disturbance takes of computing that begins at `begin` and would take `took`.
  [[nodiscard]] Time taken_of(const Disturbance& by, Time begin, Time took) const noexcept;
  /// Whether a rank is in the library: it waits, and has a core for that.
  [[nodiscard]] bool is_polling(std::uint32_t rank) const noexcept;
  /// Handles an event now if its rank is in the library, else when it is.
  void progress(std::uint32_t rank, EventKind kind, std::uint32_t id, Time now);
  void progress_now(EventKind kind, std::uint32_t id, Time now);
  void drain(std::uint32_t rank, Time now);

  [[nodiscard]] MatchKey key_of(const StreamState& stream, const Operation& operation) const noexcept;
  [[nodiscard]] Prediction result();
  [[nodiscard]] std::string why_stuck() const;

  const Schedule& schedule_;
  const Platform& platform_;
  PredictOptions options_;
  Time progress_every_;
  Machine machine_;
  EventQueue events_;
  MessageProtocol messages_;
  CollectiveRuns collectives_;
  Cores cores_;
  std::vector<StreamState> streams_;
  std::vector<RankState> ranks_;
  std::vector<Time> done_;  ///< Of each operation; `open` until it has completed, `awaited` when a wait wants it too.
  Passing passing_;
  std::vector<OperationTimes> times_;
  std::vector<nanoseconds> stolen_;           ///< With `ComputingTimes::with_network`.
  std::vector<std::pair<Time, Time>> ahead_;  ///< Workspace of `begin_wait`.
  Time now_ = 0;
};

}  // namespace plait::replay::predicting
