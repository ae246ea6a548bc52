// SPDX-License-Identifier: Apache-2.0
#include "plait/simulate/preload/messages.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/simulate/preload/handles.hpp"

namespace plait::simulate {
namespace {

bool matches(const MessagePattern& wanted, const MessagePattern& message) noexcept {
  return wanted.context == message.context && (!wanted.source || wanted.source == message.source) &&
         (!wanted.tag || wanted.tag == message.tag);
}

}  // namespace

std::size_t bytes_of(const Parts& parts) noexcept {
  std::size_t bytes = 0;
  for (const Bytes& part : parts) {
    bytes += part.size();
  }
  return bytes;
}

Messages::Messages(net::SimNetwork& network, std::vector<Executor*> executors)
    : network_{network}, executors_{std::move(executors)}, mailboxes_(executors_.size()) {}

void Messages::send(Rank from, Rank to, std::uint64_t context, int tag, Payload data, RequestPointer request) {
  const std::size_t bytes = bytes_of(*data);
  const bool is_eager = bytes <= eager_bytes_max;
  if (request && !is_eager) {
    ++request->pending;
  }
  network_.carry(from,
                 to,
                 bytes + envelope_bytes,
                 [this, from, to, context, tag, data = std::move(data), request = is_eager ? nullptr : request] {
                   arrive(to, {{context, from, tag}, data});
                   if (request) {
                     --request->pending;
                     executors_[from.value()]->notify();
                   }
                 });
}

void Messages::receive(Rank at, const MessagePattern& wanted, RequestPointer request, Received received) {
  ++request->pending;
  Mailbox& box = mailboxes_[at.value()];
  const Posted posted{wanted, std::move(request), std::move(received)};
  const auto found = std::ranges::find_if(
      box.arrived, [&](const MessagePattern& message) { return matches(wanted, message); }, &Arrived::envelope);
  if (found == box.arrived.end()) {
    box.posted.push_back(posted);
    return;
  }
  const Arrived message = std::move(*found);
  box.arrived.erase(found);
  complete(posted, message);
}

void Messages::arrive(Rank to, Arrived message) {
  Mailbox& box = mailboxes_[to.value()];
  const auto found = std::ranges::find_if(
      box.posted, [&](const MessagePattern& wanted) { return matches(wanted, message.envelope); }, &Posted::wanted);
  if (found == box.posted.end()) {
    box.arrived.push_back(std::move(message));
  } else {
    const Posted posted = std::move(*found);
    box.posted.erase(found);
    complete(posted, message);
  }
  executors_[to.value()]->notify();
}

void Messages::complete(const Posted& posted, const Arrived& message) {
  posted.request->source = *message.envelope.source;
  posted.request->tag = *message.envelope.tag;
  posted.request->bytes = bytes_of(*message.data);
  posted.received(message.data);
  --posted.request->pending;
}

bool Messages::cancel(Rank at, const RequestPointer& request) {
  std::deque<Posted>& posted = mailboxes_[at.value()].posted;
  const auto found = std::ranges::find(posted, request, &Posted::request);
  if (found == posted.end()) {
    return false;
  }
  posted.erase(found);
  request->pending = 0;
  request->is_canceled = true;
  return true;
}

void Messages::wait(Rank at, const SimulatedRequest& request) {
  while (request.pending > 0) {
    wait_for_event(at);
  }
}

void Messages::wait_for_event(Rank at) {
  check_alive();
  executors_[at.value()]->wait();
  check_alive();
}

void Messages::check_alive() const {
  if (const std::optional<Rank> dead = network_.noticed_failure()) {
    throw Error{ErrorCode::network, fmt::format("rank {} has died in this simulation", dead->value()), *dead};
  }
}

std::string Messages::describe_wait(Rank at) const {
  const std::deque<Posted>& posted = mailboxes_[at.value()].posted;
  if (posted.empty()) {
    return {};
  }
  const MessagePattern& wanted = posted.front().wanted;
  return fmt::format("a message of {}{}{}",
                     wanted.source ? fmt::format("rank {}", wanted.source->value()) : "any rank",
                     wanted.tag ? fmt::format(" with tag {}", *wanted.tag) : "",
                     posted.size() > 1 ? fmt::format(" and {} more", posted.size() - 1) : "");
}

MPI_Request Messages::keep(RequestPointer request) {
  requests_.emplace(++request_count_, std::move(request));
  return to_handle<MPI_Request>(request_count_);
}

RequestPointer Messages::find(MPI_Request handle) const {
  const auto found = requests_.find(to_number(handle));
  require(found != requests_.end(), "the request does not exist, or was freed");
  return found->second;
}

void Messages::forget(MPI_Request handle) noexcept {
  requests_.erase(to_number(handle));
}

}  // namespace plait::simulate
