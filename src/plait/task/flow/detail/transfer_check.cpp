// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/transfer_check.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"

namespace plait::task::detail {

namespace {

/// No datum has this number and version, and no other check.
constexpr Tag transfer_check_tag{0xffff'ffff'ffff'fffdU};

/// The finalizer of SplitMix64; see https://prng.di.unimi.it/splitmix64.c (public domain).
std::uint64_t hash_of_value(Tag value) noexcept {
  std::uint64_t hash = value.value() + 0x9e37'79b9'7f4a'7c15U;
  hash = (hash ^ hash >> 30U) * 0xbf58'476d'1ce4'e5b9U;
  hash = (hash ^ hash >> 27U) * 0x94d0'49bb'1331'11ebU;
  return hash ^ hash >> 31U;
}

/// Returns the first of `some` that `others` lacks.
std::optional<Tag> first_lacking(std::vector<Tag> some, std::vector<Tag> others) {
  std::ranges::sort(some);
  std::ranges::sort(others);
  std::vector<Tag> lacking;
  std::ranges::set_difference(some, others, std::back_inserter(lacking));
  return lacking.empty() ? std::nullopt : std::optional{lacking.front()};
}

std::uint32_t datum_of(Tag value) noexcept {
  return static_cast<std::uint32_t>(value.value() >> 32U);
}

std::uint32_t version_in(Tag value) noexcept {
  return static_cast<std::uint32_t>(value.value());
}

}  // namespace

TransferCheck::TransferCheck(comm::Endpoint& endpoint, comm::CommId comm, const DataStore& data)
    : endpoint_{endpoint}, data_{data}, messages_{endpoint, comm, transfer_check_tag} {}

void TransferCheck::sends(const Transfer& transfer) {
  note(transfer, true);
}

void TransferCheck::reads(const Transfer& transfer) {
  note(transfer, false);
}

void TransferCheck::note(const Transfer& transfer, bool is_sent) {
  Peer& peer = peers_[transfer.peer];
  Sum& sum = is_sent ? peer.sent : peer.read;
  ++sum.count;
  sum.hashes += hash_of_value(transfer.value);
  if (notes_.size() < kept) {
    notes_.push_back({transfer, is_sent});
  } else {
    notes_[noted_ % kept] = {transfer, is_sent};
  }
  ++noted_;
}

// ---- messages ----

void TransferCheck::send(Rank to, Head head, std::span<const Tag> values) {
  head.epoch = epoch_;
  const std::span<const std::byte> more = std::as_bytes(values);
  Bytes bytes(sizeof head + more.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  std::ranges::copy(more, bytes.begin() + sizeof head);
  messages_.send(to, std::move(bytes));
}

void TransferCheck::report() {
  has_reported_ = true;
  unmatched_ = peers_.size();
  for (const auto& [rank, peer] : peers_) {
    if (peer.sent.count + peer.read.count > 0) {
      send(rank, {.kind = Kind::sums, .sent = peer.sent, .read = peer.read});
    }
  }
  for (auto& [rank, peer] : peers_) {
    if (peer.reported) {
      compare(rank, peer);
    }
  }
  for (const auto& [rank, missing] : std::exchange(questions_, {})) {
    answer(rank, missing);
  }
}

void TransferCheck::begin_epoch() {
  ++epoch_;
  has_reported_ = false;
  peers_.clear();
  questions_.clear();
  notes_.clear();
  noted_ = 0;
  for (const CheckMessages::Arrived& message : std::exchange(early_, {})) {
    act(message);
  }
}

void TransferCheck::poll() {
  while (const auto message = messages_.take()) {
    act(*message);
  }
}

void TransferCheck::act(const CheckMessages::Arrived& message) {
  Head head{};
  require(message.bytes.size() >= sizeof head, "a message between the ranks of a flow is too short");
  std::memcpy(&head, message.bytes.data(), sizeof head);
  if (head.epoch != epoch_) {
    if (head.epoch > epoch_) {  // else a question, whose value has come since
      early_.push_back(message);
    }
    return;
  }
  std::vector<Tag> values((message.bytes.size() - sizeof head) / sizeof(Tag));
  if (!values.empty()) {
    std::memcpy(values.data(), message.bytes.data() + sizeof head, values.size() * sizeof(Tag));
  }
  switch (head.kind) {
    case Kind::sums: {
      Peer& peer = peers_.try_emplace(message.source).first->second;
      peer.reported = head;
      if (has_reported_) {
        unmatched_ += peer.sent.count + peer.read.count == 0 ? 1 : 0;  // it was not among the ranks concerned
        compare(message.source, peer);
      }
      break;
    }
    case Kind::sent_list:
    case Kind::read_list:
      differ(message.source, head, std::move(values));
      break;
    case Kind::question:
      if (has_reported_) {
        answer(message.source, values);
      } else {
        questions_[message.source] = std::move(values);
      }
      break;
  }
}

/// Sends this rank's list where the sums differ; the other rank names the difference.
void TransferCheck::compare(Rank source, Peer& peer) {
  const auto disagree = [&](Kind kind, bool is_sent) {
    send(source,
         {.kind = kind, .is_complete = keeps_all() ? 1U : 0U, .sent = peer.sent, .read = peer.read},
         values_with(source, is_sent));
  };
  if (peer.reported->read != peer.sent) {
    disagree(Kind::sent_list, true);
  } else if (peer.reported->sent != peer.read) {
    disagree(Kind::read_list, false);
  } else {
    --unmatched_;
  }
}

std::vector<Tag> TransferCheck::values_with(Rank peer, bool is_sent) const {
  std::vector<Tag> values;
  for (const Kept& note : notes_) {
    if (note.transfer.peer == peer && note.is_sent == is_sent) {
      values.push_back(note.transfer.value);
    }
  }
  return values;
}

// ---- questions of ranks that wait ----

void TransferCheck::ask(std::span<const Transfer> missing) {
  std::unordered_map<Rank, std::vector<Tag>> by_peer;
  for (const Transfer& transfer : missing) {
    by_peer[transfer.peer].push_back(transfer.value);
  }
  for (const auto& [rank, values] : by_peer) {
    send(rank, {.kind = Kind::question}, values);
  }
}

/// Throws: `Error` for a value that this rank does not send.
void TransferCheck::answer(Rank source, std::span<const Tag> missing) const {
  if (!keeps_all()) {
    return;
  }
  if (const auto lacking = first_lacking({missing.begin(), missing.end()}, values_with(source, true))) {
    throw_difference(endpoint_.self(), {}, source, {*lacking});
  }
}

// ---- errors ----

void TransferCheck::differ(Rank source, const Head& head, std::vector<Tag> theirs) const {
  const bool they_send = head.kind == Kind::sent_list;
  const Rank self = endpoint_.self();
  std::vector<Tag> mine = values_with(source, !they_send);
  if (head.is_complete == 0 || !keeps_all()) {
    const auto peer = peers_.find(source);
    const Peer own = peer != peers_.end() ? peer->second : Peer{};
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} sends {} values to rank {}, which reads {} of it, and they are not the same: each "
                            "rank must submit its part of one program; of a smaller one the first difference is named",
                            (they_send ? source : self).value(),
                            (they_send ? head.sent : own.sent).count,
                            (they_send ? self : source).value(),
                            (they_send ? own.read : head.read).count)};
  }
  they_send ? throw_difference(source, std::move(theirs), self, std::move(mine))
            : throw_difference(self, std::move(mine), source, std::move(theirs));
}

void TransferCheck::throw_difference(Rank sender, std::vector<Tag> sent, Rank reader, std::vector<Tag> read) const {
  const std::optional<Tag> missing = first_lacking(read, sent);
  std::optional<Tag> surplus = first_lacking(sent, read);
  if (missing) {  // the same datum explains most
    const auto same = std::ranges::find_if(sent, [&](Tag value) {
      return datum_of(value) == datum_of(*missing) && std::ranges::find(read, value) == read.end();
    });
    surplus = same != sent.end() ? std::optional{*same} : std::nullopt;
  }
  if (!missing) {
    throw Error{ErrorCode::bad_argument,
                fmt::format("rank {} sends {} to rank {}, but no task on rank {} reads it: submit the reading task "
                            "there, or leave rank {} out",
                            sender.value(),
                            name_of(*surplus),
                            reader.value(),
                            reader.value(),
                            reader.value())};
  }
  throw Error{ErrorCode::bad_argument,
              fmt::format("rank {} reads {} of rank {}, which does not send it{}: on rank {}, send() this version to "
                          "rank {}, or submit the task that reads it there",
                          reader.value(),
                          name_of(*missing),
                          sender.value(),
                          surplus ? fmt::format(" but version {}", version_in(*surplus)) : "",
                          sender.value(),
                          reader.value())};
}

std::string TransferCheck::name_of(Tag value) const {
  return fmt::format("version {} of {}", version_in(value), data_.name_of(datum_of(value)));
}

}  // namespace plait::task::detail
