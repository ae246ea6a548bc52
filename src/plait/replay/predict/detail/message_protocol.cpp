// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/predict/detail/message_protocol.hpp"

#include <algorithm>
#include <utility>

namespace plait::replay::predicting {

MessageProtocol::MessageProtocol(const Machine& machine,
                                 const PredictOptions& options,
                                 EventQueue& events,
                                 MessageUser& user)
    : machine_{machine},
      events_{events},
      user_{user},
      posted_(machine.ranks),
      unexpected_(machine.ranks),
      kept_(machine.ranks) {
  const NetworkParts parts{machine, messages_, events_, *this, options.tolerance};
  network_ = options.model == Model::points ? make_point_network(parts) : make_flow_network(parts);
}

void MessageProtocol::send(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now) {
  ++message_count_;
  byte_count_ += bytes;
  std::uint32_t index = messages_.take(key, End::receive);
  if (index == none) {
    index = messages_.insert(key);
    messages_[index].time = now;
    ++unexpected_[key.destination];
  } else {
    messages_[index].searched = posted_[key.destination]--;
  }
  Message& message = messages_[index];
  message.send = operation;
  message.bytes = bytes;
  message.is_within_host = machine_.is_within_host(message.source, message.destination);
  message.is_eager = costs(message).is_eager(bytes);
  if (message.receive != none) {
    user_.matched(message, now);
  }
  if (message.is_eager) {
    user_.complete(operation, now, 0);
    submit(index, now);
  } else {
    events_.push({now + machine_.latency(message.source, message.destination), EventKind::request, index});
  }
}

Time MessageProtocol::receive(std::uint32_t operation, const MatchKey& key, std::uint64_t bytes, Time now) {
  const std::uint32_t index = messages_.take(key, End::send);
  if (index == none) {
    Message& message = messages_[messages_.insert(key)];
    message.receive = operation;
    message.bytes = bytes;
    message.time = now;
    ++posted_[key.destination];
    return machine_.search_each * unexpected_[key.destination];  // all, in vain
  }
  Message& message = messages_[index];
  message.receive = operation;
  const Time search = machine_.searching(unexpected_[key.destination]--);
  user_.matched(message, now);
  const Time arrived = std::exchange(message.time, now);
  if (message.stage == Stage::asked) {
    answer(index, now);
  } else if (message.stage == Stage::delivered) {
    hand_over(index, arrived);
  }
  return search;
}

void MessageProtocol::answer(std::uint32_t message, Time now) {
  const Message& asked = messages_[message];
  const Time there = now + costs(asked).rendezvous + machine_.latency(asked.source, asked.destination);
  events_.push({there, EventKind::answer, message});
}

void MessageProtocol::submit(std::uint32_t message, Time now) {
  const Message& sent = messages_[message];
  if (sent.is_eager) {
    disturb_sender(sent, now);
  }
  network_->submit(message, now);
}

void MessageProtocol::left(std::uint32_t message, Time at) {
  const Message& sent = messages_[message];
  user_.has_left(sent.send, at);
  if (!sent.is_eager) {
    user_.complete(sent.send, at, 0);
    disturb_sender(sent, at);
  }
}

/// From the end of the send on, while its bytes move.
void MessageProtocol::disturb_sender(const Message& sent, Time at) {
  const Time taken = costs(sent).stolen_sending(sent.bytes);
  const Time moving = costs(sent).moving(sent.bytes);
  const Time before = sent.is_eager ? 0 : costs(sent).leaving(sent.bytes);
  user_.disturb(sent.source, {.at = at, .taken = taken, .lasts = moving - before});
}

void MessageProtocol::delivered(std::uint32_t message, Time at) {
  Message& sent = messages_[message];
  sent.stage = Stage::delivered;
  const Time moving = costs(sent).moving(sent.bytes);
  user_.disturb(sent.destination,
                {.at = at - moving, .taken = costs(sent).stolen_receiving(sent.bytes), .lasts = moving});
  if (sent.receive == none) {
    sent.time = at;
  } else {
    hand_over(message, at);
  }
}

void MessageProtocol::hand_over(std::uint32_t message, Time at) {
  const Message& sent = messages_[message];
  if (at < sent.time) {  // before its receive: the unexpected message is copied now
    if (sent.is_eager) {
      kept_[sent.destination].push_back({at, sent.time, sent.bytes});
    }
    at = sent.time + (sent.is_eager ? machine_.copying(sent.bytes) : 0);
  }
  at += sent.searched > 0 ? machine_.searching(sent.searched) : 0;
  const std::uint32_t operation = sent.receive;
  const Time cost = costs(sent).receiving(sent.bytes);
  messages_.release(message);
  user_.complete(operation, at, cost);
}

Unexpected MessageProtocol::unexpected_of(std::uint32_t rank) const {
  Unexpected found;
  std::vector<std::pair<Time, std::int64_t>> changes;  // what leaves comes before what arrives at the same time
  for (const UnexpectedMessage& message : kept_[rank]) {
    const auto bytes = static_cast<std::int64_t>(message.bytes) + 1;  // so that empty ones count, too
    changes.emplace_back(message.from, bytes);
    changes.emplace_back(message.until, -bytes);
    ++found.copied;
    found.copied_bytes += message.bytes;
  }
  std::ranges::sort(changes);
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  for (const auto& [time, change] : changes) {
    count += change > 0 ? 1 : -1;
    bytes += change;
    found.count_max = std::max(found.count_max, static_cast<std::uint32_t>(count));
    found.bytes_max = std::max(found.bytes_max, static_cast<std::uint64_t>(bytes - count));
  }
  return found;
}

void MessageProtocol::progress(EventKind kind, std::uint32_t message, Time now) {
  if (kind == EventKind::answer) {
    submit(message, now);
  } else if (messages_[message].receive != none) {
    answer(message, std::max(now, messages_[message].time));
  } else {
    messages_[message].stage = Stage::asked;
  }
}

}  // namespace plait::replay::predicting
