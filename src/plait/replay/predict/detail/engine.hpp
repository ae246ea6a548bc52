// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "plait/replay/predict/detail/message_table.hpp"
#include "plait/replay/predict/detail/network.hpp"
#include "plait/replay/predict/detail/places.hpp"
#include "plait/replay/predict/detail/rounds.hpp"
#include "plait/replay/predict/predict.hpp"
#include "plait/replay/predict/topology.hpp"
#include "plait/replay/schedule.hpp"

namespace plait::replay::predicting {

/// Plays a schedule on a platform, event by event.
///
/// Every lane acts in the order of virtual time: before it does what others could notice, it gives way to all events
/// before that. Computing and posting receives nobody notices, so most operations need no event.
class Engine final : public NetworkUser {
 public:
  Engine(const Schedule& schedule, const Platform& platform, const PredictOptions& options, std::uint32_t hosts);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  Engine(Engine&&) = delete;
  Engine& operator=(Engine&&) = delete;

  /// Throws: `Error` with `bad_input` when it cannot finish. Once only.
  [[nodiscard]] Prediction run();

  void left(std::uint32_t message, Time at) override;
  void delivered(std::uint32_t message, Time at) override;

 private:
  enum class Phase : std::uint8_t { acting, sending, waiting, ended };

  struct LaneState {
    const Lane* lane = nullptr;
    std::uint32_t rank = 0;
    std::uint32_t base = 0;  ///< Number of its first operation among all.
    std::uint32_t next = 0;
    std::uint32_t remaining = 0;  ///< Operations that its wait waits for.
    Phase phase = Phase::acting;
    Time now = 0;
    Time since = 0;  ///< When its wait began.
    Time compute = 0;
    Time wait = 0;
  };

  /// What came for a rank while it was outside the library.
  struct Pending {
    EventKind kind;
    std::uint32_t id;
  };

  struct RankState {
    std::uint32_t first_lane = 0;
    std::uint32_t lanes = 0;
    std::uint32_t waiting = 0;  ///< Lanes that are in a wait.
    std::vector<Pending> pending;
  };

  /// One rank's part of a collective.
  struct Helper {
    Rounds rounds;
    std::span<const std::uint32_t> members;  ///< Empty: all ranks.
    std::uint32_t operation = 0;
    std::uint32_t rank = 0;
    std::uint32_t communicator = 0;
    std::uint32_t sequence = 0;  ///< Among the collectives of the communicator.
    std::uint32_t round = 0;
    std::uint32_t remaining = 0;
    bool is_sending = false;
    Time ready = 0;
  };

  void handle(const Event& event);
  void run_lane(std::uint32_t index);
  /// Whether it goes on at once; else it has an event.
  [[nodiscard]] bool act(LaneState& lane, std::uint32_t index);
  [[nodiscard]] bool must_give_way(std::uint32_t lane, Time until);
  void begin_wait(LaneState& lane, std::uint32_t index, const Operation& operation);
  void end_wait(LaneState& lane);
  void begin_collective(LaneState& lane, const Operation& operation);
  void run_helper(std::uint32_t index, Time now);
  void begin_round(std::uint32_t index, Time now);
  void send_of_round(std::uint32_t index, Time now);
  void end_collective(std::uint32_t index, Time now);

  /// A send whose overhead is paid.
  void send(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now);
  void receive(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now);
  void answer(std::uint32_t message, Time now);
  void complete(std::uint32_t operation, Time at, Time cost);
  void note_match(const Message& message, Time now);
  /// What needs its rank to be in the library: now, or when it is there again.
  void progress(std::uint32_t rank, EventKind kind, std::uint32_t id, Time now);
  void progress_now(EventKind kind, std::uint32_t id, Time now);
  void drain(std::uint32_t rank, Time now);

  [[nodiscard]] bool is_within_host(std::uint32_t a, std::uint32_t b) const noexcept {
    return placement_.host(a) == placement_.host(b);
  }
  [[nodiscard]] const Costs& costs(std::uint32_t a, std::uint32_t b) const noexcept {
    return is_within_host(a, b) ? within_ : between_;
  }
  [[nodiscard]] Time wire_latency(std::uint32_t a, std::uint32_t b) const noexcept;
  [[nodiscard]] std::uint32_t member_of(std::uint32_t communicator, std::uint32_t rank);
  [[nodiscard]] MatchKey key_of(const LaneState& lane, const Operation& operation) const noexcept;
  [[nodiscard]] Prediction result();
  [[nodiscard]] std::string why_stuck() const;

  const Schedule& schedule_;
  const Platform& platform_;
  PredictOptions options_;
  Topology topology_;
  Placement placement_;
  Costs between_;
  Costs within_;
  double copy_per_byte_;
  Time progress_every_;
  EventQueue events_;
  MessageTable messages_;
  std::unique_ptr<Network> network_;
  std::vector<LaneState> lanes_;
  std::vector<RankState> ranks_;
  std::vector<Time> done_;  ///< Of each operation; `open` until it has completed, `awaited` when a wait wants it too.
  std::vector<OperationTimes> times_;
  std::vector<Helper> helpers_;
  std::vector<std::uint32_t> free_helpers_;
  std::unordered_map<std::uint64_t, std::uint32_t> sequences_;  ///< Collectives so far, by communicator and rank.
  std::unordered_map<std::uint64_t, std::uint32_t> members_;    ///< Index in communicator, by communicator and rank.
  std::vector<std::pair<Time, Time>> ahead_;                    ///< Workspace of `begin_wait`.
  Time now_ = 0;
  std::uint64_t message_count_ = 0;
  std::uint64_t byte_count_ = 0;
};

}  // namespace plait::replay::predicting
