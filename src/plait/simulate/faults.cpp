// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/faults.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"

namespace plait::simulate {

namespace {

double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

/// Between both, each order of magnitude as likely.
double between(Random& random, double low, double high) {
  return low * std::pow(high / low, random.unit());
}

nanoseconds time_between(Random& random, nanoseconds low, nanoseconds high) {
  return nanoseconds{
      std::llround(between(random, static_cast<double>(low.count()), static_cast<double>(high.count())))};
}

/// The numbers of a kind, which do not depend on the other kinds.
Random numbers_of(std::uint64_t seed, FaultKind kind) {
  Random mixed{seed};
  return Random{mixed() + static_cast<std::uint64_t>(kind)};
}

}  // namespace

FaultKind fault_kind(std::string_view name) {
  const auto found = std::ranges::find(fault_names, name);
  if (found == fault_names.end()) {
    throw Error{ErrorCode::bad_input, fmt::format("{} is no fault: it must be {}", name, fmt::join(fault_names, ", "))};
  }
  return static_cast<FaultKind>(found - fault_names.begin());
}

Faults::Faults(const FaultSettings& settings, std::uint32_t rank_count, std::uint32_t link_count)
    : settings_{settings}, rank_count_{rank_count}, link_count_{link_count} {
  require(!settings.kinds.empty(), "faults are drawn from at least one kind");
  require(settings.run_length > nanoseconds{0}, "faults begin within a time that is above 0");
  const bool are_several = settings.kinds.size() > 1;
  for (const FaultKind kind : settings.kinds) {
    Random random = numbers_of(settings.seed, kind);
    const bool happens = random.happens(0.5);
    if (happens || !are_several) {
      draw(kind, random);
    }
  }
  if (sentences_.empty() && are_several) {
    const FaultKind kind = settings.kinds[settings.seed % settings.kinds.size()];
    Random random = numbers_of(settings.seed, kind);
    static_cast<void>(random.happens(0.5));
    draw(kind, random);
  }
}

nanoseconds Faults::time_of(Random& random) const {
  return nanoseconds{static_cast<nanoseconds::rep>(random.unit() * static_cast<double>(settings_.run_length.count()))};
}

void Faults::draw(FaultKind kind, Random& random) {
  switch (kind) {
    case FaultKind::delays:
      return draw_delays(net::SimOrder::kept_in_pair, random);
    case FaultKind::reorder:
      return draw_delays(net::SimOrder::free, random);
    case FaultKind::full_queues:
      return draw_full_queues(random);
    case FaultKind::slow_rank:
      return draw_slow_rank(random);
    case FaultKind::half_link:
      return draw_half_link(random);
    case FaultKind::dead_rank:
      return draw_dead_rank(random);
    case FaultKind::full_disk:
      return draw_full_disk(random);
  }
}

void Faults::note(FaultKind kind, const std::string& sentence) {
  sentences_.push_back(fmt::format("{}: {}", fault_names[static_cast<std::size_t>(kind)], sentence));
}

void Faults::draw_delays(net::SimOrder order, Random& random) {
  const nanoseconds delay_max = time_between(random, std::chrono::microseconds{1}, std::chrono::microseconds{500});
  network_.delay_max = std::max(network_.delay_max, delay_max);
  network_.order = std::max(network_.order, order);
  const bool is_free = order == net::SimOrder::free;
  note(is_free ? FaultKind::reorder : FaultKind::delays,
       fmt::format("each {} is late by up to {:.4g} s{}",
                   is_free ? "packet" : "message",
                   seconds_of(delay_max),
                   is_free ? " and may overtake others" : ""));
}

void Faults::draw_full_queues(Random& random) {
  network_.retry_probability = between(random, 0.02, 0.5);
  network_.send_queue_packets_max = 1 + static_cast<std::uint32_t>(random.below(8));
  network_.bulk_slot_count = 1 + static_cast<std::uint32_t>(random.below(4));
  note(FaultKind::full_queues,
       fmt::format("{:.2g} % of the sends are refused at random, {} packets of a rank fit at a time, and "
                   "{} large messages to it",
                   network_.retry_probability * 100,
                   network_.send_queue_packets_max,
                   network_.bulk_slot_count));
}

void Faults::draw_slow_rank(Random& random) {
  const SlowRank slow{.rank = rank_of(random), .since = time_of(random)};
  note(FaultKind::slow_rank,
       fmt::format("rank {} computes at half speed from {:.4g} s", slow.rank.value(), seconds_of(slow.since)));
  slow_ranks_.push_back(slow);
}

void Faults::draw_half_link(Random& random) {
  const std::uint32_t link =
      link_count_ > 0 ? static_cast<std::uint32_t>(random.below(link_count_)) : rank_of(random).value();
  const net::SimSlowLink slow{.link = link, .since = time_of(random)};
  note(FaultKind::half_link,
       fmt::format("{} {} has half its rate from {:.4g} s",
                   link_count_ > 0 ? "link" : "the interface of rank",
                   slow.link,
                   seconds_of(slow.since)));
  network_.slow_links.push_back(slow);
}

void Faults::draw_dead_rank(Random& random) {
  net::SimFailure failure{.rank = rank_of(random), .at = time_of(random), .notice = net::SimNotice::all};
  failure.noticed_after = time_between(random, std::chrono::microseconds{1}, std::chrono::milliseconds{10});
  note(FaultKind::dead_rank,
       fmt::format("rank {} dies at {:.4g} s; the others find out {:.4g} s later",
                   failure.rank.value(),
                   seconds_of(failure.at),
                   seconds_of(failure.noticed_after)));
  network_.failures.push_back(failure);
}

void Faults::draw_full_disk(Random& random) {
  const auto bytes_left = static_cast<std::uint64_t>(between(random, 1, 1e6)) - 1;
  full_disk_ = FullDisk{.folder = settings_.disk, .since = time_of(random), .bytes_left = bytes_left};
  note(FaultKind::full_disk,
       fmt::format("the disk has {} bytes left from {:.4g} s", bytes_left, seconds_of(full_disk_->since)));
}

void Faults::put_into(net::SimOptions& options) const {
  options.seed = settings_.seed;
  options.delay_max = network_.delay_max;
  options.order = network_.order;
  options.retry_probability = network_.retry_probability;
  options.send_queue_packets_max = network_.send_queue_packets_max;
  options.bulk_slot_count = network_.bulk_slot_count;
  options.failures = network_.failures;
  options.slow_links = network_.slow_links;
}

}  // namespace plait::simulate
