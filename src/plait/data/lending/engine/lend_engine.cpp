// SPDX-License-Identifier: Apache-2.0
#include "plait/data/lending/engine/lend_engine.hpp"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"
#include "plait/data/lending/detail/routes.hpp"
#include "plait/data/lending/detail/transfer_run.hpp"

namespace plait::data::detail {

namespace {

/// A piece that this rank uses: its own, or lent by another rank.
struct Loan {
  static constexpr std::size_t at_home = ~std::size_t{0};
  std::size_t parent = at_home;  ///< Number among `Routes::parents`.
  bool is_ready = true;          ///< Its data is here.
  bool has_left = true;          ///< Its element has ended its steps in the phase, or there is none.
  std::function<void()> open;    ///< Starts the element that waits for it.
};

}  // namespace

struct LendEngine::Members {
  enum class State : std::uint8_t { at_home, lent, returning };

  Members(const TransferRun::Context& its_context, std::vector<ElementId> owned, Callbacks its_callbacks)
      : context{its_context}, callbacks{std::move(its_callbacks)}, routes{context.endpoint, std::move(owned)} {}

  void settle();
  void connect();
  void is_unpacked(ElementId id);
  void send_back(std::size_t parent);
  /// Runs `act`. Reports what it throws to all other ranks, as they may wait for messages of this one.
  template <class Act>
  void or_stop_all(Act act) {
    try {
      act();
    } catch (const Error& error) {
      if (!context.endpoint.failure()) {
        context.endpoint.stop_all(error);
      }
      throw;
    }
  }

  TransferRun::Context context;
  Callbacks callbacks;
  Routes routes;
  std::optional<std::uint64_t> settled_for;  ///< Placement of the elements that the routes are for.
  LendTotals totals;
  State state = State::at_home;
  bool is_in_phase = false;  ///< A phase has begun with this gate since the pieces were lent.

  mutable SpinLock lock;                             ///< Guards the next four.
  std::unordered_map<ElementId, Loan> loans;         ///< Of elements here.
  std::unordered_map<ElementId, bool> own_are_back;  ///< Of pieces of this rank whose elements are elsewhere.
  std::vector<std::size_t> in_use;                   ///< By parent: loans whose elements have not left the phase.
  std::size_t in_use_count = 0;                      ///< Of all loans.

  TransferRun lending{context, "unpack lent pieces", [this](ElementId id) { is_unpacked(id); }};
  TransferRun returning{context, "unpack returned pieces", [this](ElementId id) {
                          const std::lock_guard guard{lock};
                          own_are_back.at(id) = true;
                        }};
  [[nodiscard]] TransferRun& transfer(Direction direction) noexcept {
    return direction == Direction::to_elements ? lending : returning;
  }
};

LendEngine::LendEngine(comm::Endpoint& endpoint,
                       task::Scheduler& scheduler,
                       trace::Recorder& recorder,
                       std::vector<ElementId> owned,
                       Callbacks callbacks)
    : members_{std::make_shared<Members>(
          TransferRun::Context{endpoint, scheduler, recorder}, std::move(owned), std::move(callbacks))} {}

LendEngine::~LendEngine() {
  comm::Endpoint& endpoint = members_->context.endpoint;
  const bool are_lent_in_flight = members_->lending.abandon();
  if (members_->returning.abandon() || are_lent_in_flight) {
    endpoint.keep(std::move(members_));
  }
}

void LendEngine::Members::settle() {
  settled_for = callbacks.placement();
  routes.settle(callbacks.here());
  ++totals.settled;
  connect();
}

/// Elements have moved: finds the piece of each that is here, and keeps the copies of those that stayed.
void LendEngine::Members::connect() {
  std::vector<ElementId> borrowed;
  loans.clear();
  own_are_back.clear();
  in_use.assign(routes.parents().size(), 0);
  in_use_count = 0;
  const auto ends_of = [](const std::vector<Routes::Peer>& peers, auto piece_of) {
    std::vector<TransferRun::End> ends;
    for (const Routes::Peer& peer : peers) {
      TransferRun::End& end = ends.emplace_back(TransferRun::End{peer.rank, peer.ids, {}});
      std::ranges::transform(peer.ids, std::back_inserter(end.pieces), piece_of);
    }
    return ends;
  };
  for (std::size_t parent = 0; parent < routes.parents().size(); ++parent) {
    for (const ElementId id : routes.parents()[parent].ids) {
      loans[id].parent = parent;
      borrowed.push_back(id);
    }
  }
  for (const ElementId id : routes.at_home()) {
    loans[id] = {};
  }
  for (const Routes::Peer& borrower : routes.borrowers()) {
    for (const ElementId id : borrower.ids) {
      own_are_back[id] = true;
    }
  }
  callbacks.use_pieces(borrowed, routes.at_home());
  lending.connect(
      ends_of(routes.parents(), callbacks.copy), ends_of(routes.borrowers(), callbacks.own_piece), routes.lend_comm());
  returning.connect(ends_of(routes.borrowers(), callbacks.own_piece),
                    ends_of(routes.parents(), callbacks.copy),
                    routes.return_comm());
}

void LendEngine::lend(const PiecePart& part) {
  Members& m = *members_;
  m.or_stop_all([&] {
    if (m.state == Members::State::lent) {
      throw Error{ErrorCode::bad_argument, "what is lent already cannot be lent again: give it back first"};
    }
    wait(Direction::to_elements);  // over, as all has been given back
    wait(Direction::to_parents);
    if (m.settled_for != m.callbacks.placement()) {
      m.settle();
    }
    {
      const std::lock_guard lock{m.lock};
      for (auto& [id, loan] : m.loans) {
        loan.is_ready = loan.parent == Loan::at_home;
        loan.has_left = true;
      }
    }
    m.is_in_phase = false;
    m.totals.wrapped += m.routes.at_home().size();
    m.lending.begin(part, [] { return true; });
    for (std::size_t to = 0; to < m.lending.receiver_count(); ++to) {
      m.lending.send(to);
    }
    m.state = Members::State::lent;
  });
}

void LendEngine::give_back(const PiecePart& part) {
  Members& m = *members_;
  m.or_stop_all([&] {
    if (m.state != Members::State::lent) {
      throw Error{ErrorCode::bad_argument, "nothing is lent that could be given back: call lend first"};
    }
    if (m.settled_for != m.callbacks.placement()) {
      throw Error{
          ErrorCode::bad_argument,
          fmt::format("elements came to rank {} or left it between lend and give_back, without what was lent to "
                      "them: move elements after give_back",
                      m.context.endpoint.self().value())};
    }
    if (!m.is_in_phase) {
      wait(Direction::to_elements);  // no element uses the pieces: all go back at once
    }
    for (auto& [id, is_back] : m.own_are_back) {
      is_back = false;  // no thread unpacks yet
    }
    m.returning.begin(part, [&m] {
      const std::lock_guard lock{m.lock};
      return m.in_use_count == 0;
    });
    std::vector<std::size_t> unused;
    {
      const std::lock_guard lock{m.lock};
      m.state = Members::State::returning;
      for (std::size_t parent = 0; parent < m.in_use.size(); ++parent) {
        if (m.in_use[parent] == 0) {
          unused.push_back(parent);
        }
      }
    }
    for (const std::size_t parent : unused) {
      m.returning.send(parent);
    }
  });
}

const LendTotals& LendEngine::totals() const noexcept {
  Members& m = *members_;
  m.totals.sent = m.lending.pieces_sent() + m.returning.pieces_sent();
  m.totals.bytes = m.lending.bytes_sent() + m.returning.bytes_sent();
  return m.totals;
}

// ---- a transfer under way ----

void LendEngine::wait(Direction direction) {
  members_->transfer(direction).wait();
  if (direction == Direction::to_parents && members_->state == Members::State::returning) {
    members_->state = Members::State::at_home;
  }
}

void LendEngine::wait(Direction direction, ElementId id) {
  task::OpenRun* const run = members_->transfer(direction).run();
  if (run != nullptr && !is_ready(direction, id)) {
    run->help_until([this, direction, id] { return is_ready(direction, id); });
    if (!is_ready(direction, id)) {
      run->wait();  // throws what has ended it
    }
  }
}

task::Run* LendEngine::run(Direction direction) const noexcept {
  return members_->transfer(direction).run();
}

bool LendEngine::is_ready(Direction direction, ElementId id) const {
  const Members& m = *members_;
  const std::lock_guard lock{m.lock};
  const auto loan = m.loans.find(id);
  if (direction == Direction::to_elements) {
    return loan != m.loans.end() && loan->second.is_ready;
  }
  if (const auto own = m.own_are_back.find(id); own != m.own_are_back.end()) {
    return own->second;
  }
  return loan != m.loans.end() && loan->second.parent == Loan::at_home && loan->second.has_left;
}

void LendEngine::Members::is_unpacked(ElementId id) {
  std::function<void()> open;
  {
    const std::lock_guard guard{lock};
    Loan& loan = loans.at(id);
    loan.is_ready = true;
    open.swap(loan.open);
  }
  if (open) {
    open();
  }
}

// ---- as a gate ----

void LendEngine::begin_phase(std::uint64_t placement) {
  Members& m = *members_;
  if (m.state != Members::State::lent || m.settled_for != placement) {
    throw Error{ErrorCode::bad_argument,
                m.state != Members::State::lent
                    ? "a phase cannot use pieces that are not lent: call lend before it, and give_back after it begins"
                    : "elements have moved since their pieces were lent: give them back, and lend them again"};
  }
  const std::lock_guard lock{m.lock};
  m.is_in_phase = true;
  m.in_use_count = m.loans.size();
  std::ranges::fill(m.in_use, 0);
  for (auto& [id, loan] : m.loans) {
    loan.has_left = false;
    if (loan.parent != Loan::at_home) {
      ++m.in_use[loan.parent];
    }
  }
}

bool LendEngine::is_open(ElementId id) {
  const std::lock_guard lock{members_->lock};
  const auto loan = members_->loans.find(id);
  return loan == members_->loans.end() || loan->second.is_ready;
}

bool LendEngine::enter(ElementId id, std::function<void()> open) {
  const std::lock_guard lock{members_->lock};
  Loan& loan = members_->loans.at(id);
  if (!loan.is_ready) {
    loan.open = std::move(open);
  }
  return loan.is_ready;
}

void LendEngine::leave(ElementId id) {
  Members& m = *members_;
  std::size_t parent = Loan::at_home;
  {
    const std::lock_guard lock{m.lock};
    const auto loan = m.loans.find(id);
    if (loan == m.loans.end()) {
      return;  // an element without a piece
    }
    loan->second.has_left = true;
    if (loan->second.parent != Loan::at_home && --m.in_use[loan->second.parent] == 0 &&
        m.state == Members::State::returning) {
      parent = loan->second.parent;
    }
    --m.in_use_count;
  }
  if (parent != Loan::at_home) {
    m.returning.send(parent);
  }
}

void LendEngine::throw_unless_ready(ElementId id) const {
  const std::lock_guard lock{members_->lock};
  const auto loan = members_->loans.find(id);
  if (loan == members_->loans.end()) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("element {} has no piece here: it has no parent, or was not on this rank when its parent's "
                            "data was lent",
                            id.value())};
  }
  if (!loan->second.is_ready) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("the piece of element {} has not arrived: start the phase with the lender's gate, or wait "
                            "for the transfer that lend returns",
                            id.value())};
  }
}

}  // namespace plait::data::detail
