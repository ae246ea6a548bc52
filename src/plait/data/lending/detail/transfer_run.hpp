// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "plait/base/spin_lock.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/collections/element.hpp"
#include "plait/data/lending/detail/routes.hpp"
#include "plait/data/lending/engine/lend_engine.hpp"
#include "plait/task/detail/node.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/run/kinds.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

/// The messages of one direction of lending. They are sent when packed, and unpacked by workers as they arrive.
///
/// Buffers are reused. Threads: one at a time for `begin` and `wait`; any for `send`; workers unpack and call
/// `unpacked`.
class TransferRun final : public task::detail::Ending {
 public:
  struct Context {
    comm::Endpoint& endpoint;
    task::Scheduler& scheduler;
    trace::Recorder& recorder;
  };
  using Unpacked = std::function<void(ElementId id)>;
  using IsIdle = std::function<bool()>;

  /// `unpacked` is called after each piece that has arrived.
  TransferRun(const Context& context, std::string_view name, Unpacked unpacked);
  TransferRun(const TransferRun&) = delete;
  TransferRun& operator=(const TransferRun&) = delete;
  ~TransferRun();

  /// The pieces for or from another rank: one for each id, in the same order.
  struct End {
    Rank rank;
    std::vector<ElementId> ids;
    std::vector<void*> pieces;
  };
  void connect(std::vector<End> from, std::vector<End> to, comm::CommId comm);

  /// Starts a run that receives from all senders. It is over when all is unpacked, `send` was called for each receiver,
  /// its message is sent, and `is_idle()`. Expects: no run is under way.
  void begin(const PiecePart& part, IsIdle is_idle);
  /// Packs the pieces for receiver number `to` and sends them. Throws: `Error` when the accessor is wrong.
  void send(std::size_t to);
  [[nodiscard]] std::size_t receiver_count() const noexcept { return outgoing_.size(); }
  /// Pieces and bytes that were sent, since the beginning.
  [[nodiscard]] std::uint64_t pieces_sent() const noexcept { return pieces_sent_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_.load(std::memory_order_relaxed); }

  /// Null when nothing was begun, or the last run was waited for.
  [[nodiscard]] task::OpenRun* run() noexcept { return run_.get(); }
  /// Executes tasks until the run is over. Afterwards no other rank needs this one's progress for it. Throws: as
  /// `task::OpenRun::wait`.
  void wait();
  void ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept override;
  /// Ends the run. Returns whether a message may be in flight: this object must then outlive the endpoint.
  [[nodiscard]] bool abandon() noexcept;

 private:
  struct Incoming;
  struct Outgoing {
    End end;
    Bytes bytes;
    comm::Request sent;
  };

  void unpack(const Incoming& incoming);
  [[nodiscard]] bool has_sent_all() const noexcept;

  const Context context_;
  const task::detail::Label label_;
  const Unpacked unpacked_;
  comm::CommId comm_;
  std::vector<std::unique_ptr<Incoming>> incoming_;
  std::vector<Outgoing> outgoing_;
  PiecePart part_{};
  std::atomic<std::uint32_t> unsent_ = 0;  ///< Messages that were not posted.
  std::atomic<std::uint64_t> pieces_sent_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  SpinLock lock_;                       ///< Guards `run_` against arrivals after a failure.
  std::unique_ptr<task::OpenRun> run_;  // last: its tasks use all the rest
};

}  // namespace plait::data::detail
