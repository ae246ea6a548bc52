// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/steps/detail/step_end.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/reduce.hpp"

namespace plait::particles::detail {
namespace {

using task::Task;
using task::TaskContext;
using task::Ticks;
using task::TimeBin;

[[nodiscard]] StepEnd::Findings combine(const StepEnd::Findings& left, const StepEnd::Findings& right) {
  return {std::min(left.next, right.next),
          left.is_any | right.is_any,
          left.active_particles + right.active_particles,
          left.particles + right.particles};
}

}  // namespace

StepEnd::StepEnd(task::Graph& graph, const comm::Group& all, const Place& place, Tag tag)
    : table_{place.table},
      bin_{place.bin},
      all_{all},
      bins_{place.table.count()},
      peers_(place.halo.peers.size()),
      settle_{graph.task("settle bins", [this] { settle_own(); })},
      find_{graph.task("find next step", [this, kind = graph.kind("find next step")](TaskContext& context) {
        settle_ghosts();
        find_own();
        context.wait_for(kind, comm::all_reduce(all_, std::span{&findings_, 1}, combine));
      })} {
  find_.after(settle_);
  for (std::size_t number = 0; number < peers_.size(); ++number) {
    PeerBins& bins = peers_[number];
    bins.peer = &place.halo.peers[number];
    const comm::Address other{bins.peer->rank, tag, all_.comm()};
    Task send = graph.send("send bins", other, [&bins] { return std::span<const std::byte>{bins.mine}; });
    const Task receive = graph.receive("receive bins", other, bins.theirs);
    send.after(settle_);
    find_.after(receive);
    messages_.insert(messages_.end(), {send, receive});
  }
}

void StepEnd::begin(Ticks now) {
  bins_ = task::TimeBins{table_.count()};
  for (std::uint32_t cell = 0; cell < table_.own_count(); ++cell) {
    bins_.shorten(cell, shortest_in(cell), now);
  }
}

void StepEnd::activate(const Step& step, std::vector<Task>& tasks) {
  step_ = step;
  tasks.insert(tasks.end(), {settle_, find_});
  if (step.changes_bins) {
    tasks.insert(tasks.end(), messages_.begin(), messages_.end());
  }
}

TimeBin StepEnd::shortest_in(std::uint32_t cell) const {
  const auto its = std::as_const(table_.own())[bin_].subspan(table_[cell].first, table_[cell].count);
  return TimeBin{std::min(*std::ranges::min_element(its), task::longest_bin.value())};
}

/// Updates the bin of a cell from that of its particles.
void StepEnd::settle(std::uint32_t cell, TimeBin wanted) {
  if (task::is_active(bins_.bin_of(cell), step_.now)) {
    bins_.start(cell, wanted, step_.now);
  } else {
    bins_.shorten(cell, wanted, step_.now);
  }
}

void StepEnd::settle_own() {
  if (!step_.changes_bins) {
    return;
  }
  for (const std::uint32_t cell : step_.near) {
    settle(cell, shortest_in(cell));
  }
  for (PeerBins& to : peers_) {
    to.mine.clear();
    for (const std::uint32_t cell : to.peer->mine) {
      to.mine.push_back(std::byte{bins_.bin_of(cell).value()});
    }
  }
}

void StepEnd::settle_ghosts() {
  if (!step_.changes_bins) {
    return;
  }
  for (const PeerBins& from : peers_) {
    expect(from.theirs.size() == from.peer->theirs.size(), "both ranks of a boundary list the same cells");
    for (std::size_t place = 0; place < from.theirs.size(); ++place) {
      settle(from.peer->theirs[place], TimeBin{std::to_integer<std::uint8_t>(from.theirs[place])});
    }
  }
}

/// Sets what this rank contributes to the findings.
void StepEnd::find_own() {
  findings_ = {.active_particles = step_.active_here, .particles = table_.own().size()};
  if (step_.changes_bins) {
    findings_.next = bins_.next_time(step_.now);
  }
  if (step_.ask != nullptr && *step_.ask && (*step_.ask)(findings_.next)) {
    findings_.is_any = 1;
  }
}

}  // namespace plait::particles::detail
