// SPDX-License-Identifier: Apache-2.0
#include "plait/data/collections/detail/links.hpp"

#include <cstring>
#include <mutex>

namespace plait::data::detail {

namespace {

Head head_of(std::span<const std::byte> message) {
  Head head;
  std::memcpy(&head, message.data(), sizeof head);
  return head;
}

}  // namespace

Links::Links(comm::Endpoint& endpoint, comm::HandlerId handler, Take take)
    : endpoint_{endpoint},
      handler_{handler},
      take_{std::move(take)},
      next_out_{std::make_unique<std::atomic<std::uint32_t>[]>(endpoint.rank_count())},
      next_in_(endpoint.rank_count()) {}

void Links::post(Rank to, const Head& head, std::span<const std::byte> rest) {
  Bytes message(sizeof head);
  message.insert(message.end(), rest.begin(), rest.end());
  post_with_room(to, head, message);
}

void Links::post_with_room(Rank to, const Head& head, Bytes& message) {
  Head numbered = head;
  numbered.phase = phase_.load(std::memory_order_relaxed);                          // written between phases
  numbered.number = next_out_[to.value()].fetch_add(1, std::memory_order_relaxed);  // a number; orders nothing
  std::memcpy(message.data(), &numbered, sizeof numbered);
  sent_.fetch_add(1, std::memory_order_release);  // before the task that sends ends; with counts()
  endpoint_.post(to, handler_, message);
}

void Links::has_arrived(Rank source, std::span<const std::byte> message) {
  const std::uint32_t from = source.value();
  if (const Head head = head_of(message); head.number != next_in_[from]) {
    ahead_.emplace(std::pair{from, head.number}, Bytes{message.begin(), message.end()});
    return;
  }
  accept(message);
  ++next_in_[from];
  for (auto next = ahead_.find({from, next_in_[from]}); next != ahead_.end();
       next = ahead_.find({from, next_in_[from]})) {
    accept(next->second);
    ahead_.erase(next);
    ++next_in_[from];
  }
}

void Links::accept(std::span<const std::byte> message) {
  {
    const std::lock_guard lock{lock_};
    if (head_of(message).phase != open_phase_) {
      early_.emplace_back(message.begin(), message.end());
      return;
    }
  }
  handle(message);
}

void Links::handle(std::span<const std::byte> message) {
  take_(head_of(message), message.subspan(sizeof(Head)));
  handled_.fetch_add(1, std::memory_order_release);  // with counts()
}

void Links::open(std::uint64_t phase) {
  const std::lock_guard lock{lock_};
  for (const Bytes& message : std::exchange(early_, {})) {
    handle(message);
  }
  open_phase_ = phase;
}

void Links::close() {
  const std::lock_guard lock{lock_};
  open_phase_ = 0;
}

Counts Links::counts() const noexcept {
  const std::uint64_t handled = handled_.load(std::memory_order_acquire);      // with handle()
  return {.sent = sent_.load(std::memory_order_acquire), .handled = handled};  // with post_with_room()
}

}  // namespace plait::data::detail
