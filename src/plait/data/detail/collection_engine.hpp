// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "plait/base/bytes.hpp"
#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/comm/address.hpp"
#include "plait/comm/collectives/group.hpp"
#include "plait/comm/endpoint.hpp"
#include "plait/data/detail/element.hpp"
#include "plait/data/detail/phase_work.hpp"
#include "plait/data/detail/route.hpp"
#include "plait/data/detail/termination.hpp"
#include "plait/data/detail/wire.hpp"
#include "plait/data/options.hpp"
#include "plait/data/report.hpp"
#include "plait/data/shape.hpp"
#include "plait/task/open_run.hpp"
#include "plait/task/scheduler.hpp"
#include "plait/trace/recorder.hpp"

namespace plait::data::detail {

/// What is behind a `Collection`: the elements of this rank, where the others are, messages and phases.
///
/// What is known of places changes between phases only (collection_engine.cpp, moves.cpp), so that messages of a pair
/// take one way during a phase and keep their order; messages are in messages.cpp. Threads: its maker's between phases;
/// during one, workers send (turns.cpp), and whoever makes progress takes what comes.
class CollectionEngine final : public task::detail::Ending {
 public:
  static constexpr std::size_t head_bytes = sizeof(Head);

  struct Parts {
    comm::Endpoint& endpoint;
    task::Scheduler& scheduler;
    trace::Recorder& recorder;
  };
  /// Collective.
  CollectionEngine(const Parts& parts, const Shape& shape, CollectionOptions options, const ElementKind& kind);
  CollectionEngine(const CollectionEngine&) = delete;
  CollectionEngine& operator=(const CollectionEngine&) = delete;
  CollectionEngine(CollectionEngine&&) = delete;
  CollectionEngine& operator=(CollectionEngine&&) = delete;
  ~CollectionEngine();

  [[nodiscard]] Rank self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t rank_count() const noexcept { return rank_count_; }
  [[nodiscard]] const std::string& name() const noexcept { return options_.name; }
  [[nodiscard]] const Shape& shape() const noexcept { return shape_; }
  [[nodiscard]] const comm::Group& group() const noexcept { return group_; }
  [[nodiscard]] Rank home(ElementId id) const;

  // ---- between phases ----
  /// Takes over an element that is at home here and first.
  void insert(ElementId id, Element* element);
  /// Takes over an element that is new, wherever its home is.
  void create_between(ElementId id, Element* element);
  /// Takes an element of this rank out of the collection: it is the caller's.
  [[nodiscard]] Element* take_out(ElementId id);
  [[noreturn]] void throw_not_here(ElementId id) const;
  [[nodiscard]] Element* find(ElementId id) const;
  /// Throws: `Error` with `bad_argument` when it is not.
  [[nodiscard]] const Element& here(ElementId id) const;
  /// As elements move. Throw: `Error` that names the element, whatever its type's functions throw.
  [[nodiscard]] Bytes pack(const Element& element) const;
  [[nodiscard]] Element* unpack(ElementId id, std::span<const std::byte> packed) const;
  /// In order of id.
  [[nodiscard]] std::span<Element* const> local();
  PhaseReport run_phase(const PhaseWork& work, std::string_view name);
  MigrationReport migrate(std::span<const Move> moves);
  void replace(std::span<const std::pair<ElementId, Element*>> elements);
  void send_later(ElementId to, Mail& mail) { outside_.emplace_back(to, &mail); }
  void reset_loads();
  /// Of the workers, in phases, beside what elements did, and of what came from other ranks; since the last reset.
  [[nodiscard]] nanoseconds overhead() const noexcept;

  // ---- from turns ----
  [[nodiscard]] Route route(ElementId to);
  [[nodiscard]] Bytes& buffer(WorkerId worker) { return workers_[worker.value()].buffer; }
  static void begin_post(Bytes& buffer) { buffer.resize(head_bytes); }
  /// `buffer`: room for the head, and the packed arguments.
  void post_mail(Rank to, const Outgoing& mail, Bytes& buffer);
  /// To an element here, or to one that nobody knows. From a turn on `worker`; nothing outside of turns.
  void deliver(const Route& route, ElementId to, Mail& mail, WorkerId worker);
  static void note_sent(Element& from, ElementId to, std::size_t bytes);
  void create(ElementId id, Element* element, WorkerId worker);
  void send_erase(ElementId id, Element& sender, WorkerId worker);
  void run(Element& first, WorkerId worker);
  void ended(task::detail::Node& node, task::detail::ReadySink& sink) noexcept override;

 private:
  using Table = boost::unordered_flat_map<std::uint64_t, Element*>;
  using Places = boost::unordered_flat_map<std::uint64_t, Rank>;
  struct Heard {
    Rank rank;
    std::uint32_t used = 0;  ///< The last phase that has used it, after which it was right; through an atomic_ref.
  };
  struct alignas(64) WorkerState {
    Bytes buffer;
    std::uint64_t turns = 0;
    std::uint64_t messages = 0;
    std::uint64_t through = 0;  ///< Elements that have had all their turns of the phase.
    nanoseconds in_turns{};
    bool has_run = false;            ///< A task, since this was last asked.
    Element* rest = nullptr;         ///< Of a bunch that has taken too long.
    Element* first_woken = nullptr;  ///< Who has something to do when the running task has ended.
    Element* last_woken = nullptr;
  };
  class Bunches;

  // collection_engine.cpp
  void throw_if_programs_differ();
  void throw_if_failed() const;
  [[noreturn]] void fail_all(const Error& error);
  void begin_phase(std::string_view name);
  void open_for_messages();
  void close_phase();
  void prepare(ElementId id, Element& element);
  void adopt_news();
  void throw_if_unfinished();
  [[nodiscard]] nanoseconds busy_of_workers() const;
  [[nodiscard]] PhaseReport report(nanoseconds start);
  [[nodiscard]] std::string describe_waiting() const;
  bool look() noexcept;
  [[nodiscard]] Counts counts() const noexcept;

  // turns.cpp
  void begin_turns();
  void leave(Element& element, WorkerState& state) noexcept;
  static void wake(Element& element, WorkerState& state) noexcept;
  void count_step(Element& element, WorkerState& state) const noexcept;
  void take_turn(Element& element, Turn& turn, WorkerState& state);
  void take_mail(Element& element, Turn& turn, WorkerState& state);
  void throw_unless_expected(const Element& element, const Mail& input) const;
  void take_step(Element& element, Turn& turn, WorkerState& state);
  [[noreturn]] void throw_as_error(const Element& element) const;

  // messages.cpp
  void arrive(const comm::ActiveMessage& message);
  void take_in_order(const comm::ActiveMessage& message);
  void accept(std::span<const std::byte> message);
  void handle(const Head& head, std::span<const std::byte> rest);
  void handle_mail(const Head& head, std::span<const std::byte> rest);
  void post(Rank to, Head head, std::span<const std::byte> rest);
  void post_with_head(Rank to, const Head& head, Bytes& message);
  [[nodiscard]] Route route_to_new(ElementId to);
  [[nodiscard]] bool is_trusted(Heard& place) const;
  void put(Element& element, Mail& mail, WorkerId worker);
  void deliver_unknown(ElementId id, const Route& route, WorkerId worker);
  void wake_from_outside(Element& element);
  void lose(ElementId from, ElementId to);
  void tell_place(Rank to, ElementId id, Rank where);

  // moves.cpp
  void check_moves(std::span<const Move> moves);
  void send_element(const Move& move, MigrationReport& report);
  void adopt(const Head& head, std::span<const std::byte> packed);
  void note_created(ElementId id, Rank where);
  void note_erased(ElementId id);
  [[nodiscard]] Error id_is_used(ElementId id) const;
  void apply_known();
  void forget_unused();

  comm::Endpoint& endpoint_;
  task::Scheduler& scheduler_;
  trace::Recorder& recorder_;
  const Rank self_;
  const std::uint32_t rank_count_;
  const Shape shape_;
  const CollectionOptions options_;
  const Mapping beyond_;  ///< Homes of ids that the shape does not have.
  const ElementKind& kind_;
  const comm::HandlerId handler_;
  const comm::Group group_;
  Termination termination_;

  // Changed between phases only, and, in a migration, by what comes.
  Table table_;
  std::vector<Element*> order_;
  bool is_order_old_ = false;
  Places away_;  ///< Of elements whose home this is: where they are, if not here.
  boost::unordered_flat_map<std::uint64_t, Heard> places_;  ///< Of others, not at home: where they were last.
  std::array<std::uint32_t, 2> migrations_{};               ///< Phases: of the last one, and of that before.
  std::vector<std::pair<Rank, Head>> later_;                ///< Notes to homes, sent with the next phase.

  // A phase.
  std::uint64_t phase_ = 0;
  PhaseWork work_{};
  task::detail::Label label_;
  std::uint64_t started_ = 0;  ///< Elements that have turns in it.
  std::optional<task::OpenRun> run_;
  std::vector<std::pair<ElementId, Mail*>> outside_;  ///< Sent between phases.
  std::vector<WorkerState> workers_;
  std::atomic<std::uint64_t> sent_ = 0;     ///< To other ranks, since the beginning, as is the next.
  std::atomic<std::uint64_t> handled_ = 0;  ///< From other ranks.
  std::atomic<std::uint64_t> forwarded_ = 0;
  std::atomic<std::uint64_t> forwarded_again_ = 0;
  std::atomic<std::uint64_t> messages_sent_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::unique_ptr<std::atomic<std::uint32_t>[]> next_out_;  ///< By rank: the number of the next message.
  bool has_failed_ = false;
  bool is_migrating_ = false;
  nanoseconds overhead_{};                     ///< But for
  std::atomic<std::int64_t> arriving_ns_ = 0;  ///< what came from other ranks.

  SpinLock look_lock_;
  bool can_look_ = false;  ///< Whether this rank may say that it is quiet; under the lock.

  SpinLock early_lock_;  ///< Guards the next two.
  std::uint64_t open_phase_ = 0;
  std::vector<Bytes> early_;  ///< Messages of a phase that this rank has not reached.

  SpinLock news_lock_;  ///< Guards what is learnt during a phase, down to the last.
  std::vector<std::pair<ElementId, Rank>> known_;
  std::vector<std::pair<ElementId, Mail*>> unknown_;  ///< To elements that nobody knows.
  std::vector<Element*> erased_;
  Table fresh_;        ///< Elements that were made here.
  Places registered_;  ///< Elements whose home this is, that were made elsewhere.
  std::vector<ElementId> gone_;
  std::atomic<std::uint64_t> fresh_count_ = 0;  ///< Of the two; read without the lock.
  std::uint64_t lost_count_ = 0;
  std::vector<LostMessage> lost_;

  // Of the one thread that takes what comes.
  std::vector<std::uint32_t> next_in_;                              ///< By rank: the number that is expected.
  std::map<std::pair<std::uint32_t, std::uint32_t>, Bytes> ahead_;  ///< By rank and number: come before their turn.
};

/// Where the code of all ranks begins to count: methods travel as distances from here.
void origin_of_methods();

}  // namespace plait::data::detail
