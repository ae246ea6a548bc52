// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/program_check.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task::detail {

namespace {

/// No datum has this number and version.
constexpr Tag check_tag{0xffff'ffff'ffff'fffeU};
constexpr Rank hub{0};

}  // namespace

ProgramCheck::ProgramCheck(comm::Endpoint& endpoint, comm::CommId comm, const SubmissionLog& log)
    : endpoint_{endpoint}, log_{log}, messages_{endpoint, comm, check_tag} {}

void ProgramCheck::send(Rank to, const Head& head, std::span<const std::byte> more) {
  Bytes bytes(sizeof head + more.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::ranges::copy(more, bytes.begin() + sizeof head);
  messages_.send(to, std::move(bytes));
}

void ProgramCheck::send_to_others(const Head& head) {
  for (std::uint32_t rank = 0; rank < endpoint_.rank_count(); ++rank) {
    if (Rank{rank} != endpoint_.self()) {
      send(Rank{rank}, head);
    }
  }
}

void ProgramCheck::report() {
  report_number(log_.count());
}

void ProgramCheck::report_checkpoint() {
  report_number(log_.count() - log_.count() % SubmissionLog::checkpoint_every);
}

void ProgramCheck::report_number(std::uint64_t number) {
  if (endpoint_.rank_count() == 1 || number <= reported_) {
    return;
  }
  reported_ = number;
  const Head head{.kind = Kind::reached, .number = number, .chain = *log_.chain_at(number)};
  if (endpoint_.self() == hub) {
    send_to_others(head);
  } else {
    send(hub, head);
  }
  compare_pending();
}

void ProgramCheck::report_end() {
  if (endpoint_.self() != hub) {
    send(hub, {.kind = Kind::ended, .number = log_.count(), .chain = *log_.chain_at(log_.count())});
    return;
  }
  compare_pending();
  if (++ended_ranks_ == endpoint_.rank_count()) {
    ended_ranks_ = 0;
    ended_number_ = log_.count();
    send_to_others({.kind = Kind::all_ended, .number = ended_number_});
  }
}

void ProgramCheck::poll() {
  while (const auto message = messages_.take()) {
    act(message->source, message->bytes);
  }
}

void ProgramCheck::act(Rank source, std::span<const std::byte> message) {
  Head head{};
  std::memcpy(&head, message.data(), sizeof head);
  const std::span<const std::byte> more = message.subspan(sizeof head);
  switch (head.kind) {
    case Kind::reached:
    case Kind::ended:
      compare({source, head.number, head.chain, head.kind == Kind::ended});
      break;
    case Kind::all_ended:
      ended_number_ = head.number;
      break;
    case Kind::dispute:
      answer(source, head, more);
      break;
    case Kind::answer:
      differ(source, head.number, {reinterpret_cast<const char*>(more.data()), more.size()});
  }
}

void ProgramCheck::compare(const Claim& claim) {
  if (claim.number > log_.count()) {
    pending_.push_back(claim);
    return;
  }
  const std::optional<std::uint64_t> mine = log_.chain_at(claim.number);
  if (!mine) {
    return;  // too long ago; a later number will be compared
  }
  if (*mine != claim.chain) {
    dispute(claim.source, claim.number);
    return;
  }
  std::uint64_t& agreed = agreed_[claim.source];
  agreed = std::max(agreed, claim.number);
  if (claim.has_ended && ++ended_ranks_ == endpoint_.rank_count()) {
    ended_ranks_ = 0;
    ended_number_ = log_.count();
    send_to_others({.kind = Kind::all_ended, .number = ended_number_});
  }
}

void ProgramCheck::compare_pending() {
  for (const Claim& claim : std::exchange(pending_, {})) {
    compare(claim);
  }
}

/// Sends the chains up to `number` from where they still agreed, or as far back as they are kept.
void ProgramCheck::dispute(Rank source, std::uint64_t number) {
  const std::uint64_t first = std::max(agreed_[source] + 1, log_.oldest_kept());
  std::vector<std::uint64_t> chains;
  for (std::uint64_t at = first; at <= number; ++at) {
    chains.push_back(*log_.chain_at(at));
  }
  if (chains.empty()) {
    differ(source, number, "a submission that is no longer kept");
  }
  send(source, {.kind = Kind::dispute, .number = first, .chain = chains.size()}, std::as_bytes(std::span{chains}));
}

void ProgramCheck::answer(Rank source, const Head& head, std::span<const std::byte> chains) {
  for (std::uint64_t i = 0; i < head.chain; ++i) {
    std::uint64_t theirs = 0;
    std::memcpy(&theirs, chains.data() + i * sizeof theirs, sizeof theirs);
    const std::uint64_t number = head.number + i;
    if (const auto mine = log_.chain_at(number); !mine || *mine != theirs) {
      const std::string text = log_.describe(number);
      send(source, {.kind = Kind::answer, .number = number}, std::as_bytes(std::span{text}));
      return;
    }
  }
}

void ProgramCheck::differ(Rank source, std::uint64_t number, std::string_view theirs) const {
  throw Error{
      ErrorCode::bad_argument,
      fmt::format("the ranks submit different programs: the first difference is submission {}, on rank {} {}, but "
                  "on rank {} {}; each rank must submit the same tasks in the same order",
                  number,
                  endpoint_.self().value(),
                  log_.describe(number),
                  source.value(),
                  theirs)};
}

}  // namespace plait::task::detail
