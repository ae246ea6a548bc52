// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <span>

#include "plait/comm/completion.hpp"
#include "plait/comm/detail/operation.hpp"

namespace plait::comm::detail {

/// One exposed memory: the puts that are in place, the operations that wait for more, and the transfers under way.
///
/// Puts of one source count in the order of posting: a later one that is in place earlier counts with the earlier one.
/// Is notified as a `Completion` of each send that reads the memory. Threads: one at a time, except where documented.
class ExposedRegion final : public Completion {
 public:
  ExposedRegion(std::uint64_t id, std::span<std::byte> memory) : id_{id}, memory_{memory} {}

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// Puts that are in place, with their data. Threads: any.
  [[nodiscard]] std::uint64_t arrived() const noexcept {
    return arrived_.load(std::memory_order_acquire);  // with count()
  }

  /// Refuses transfers that begin from now on.
  void withdraw() noexcept { is_withdrawn_ = true; }
  [[nodiscard]] bool is_withdrawn() const noexcept { return is_withdrawn_; }
  /// Whether no transfer reads or writes the memory. Threads: any.
  [[nodiscard]] bool is_quiet() const noexcept {
    return under_way_.load(std::memory_order_acquire) == 0;  // with end_transfer()
  }

  /// A send is about to read the memory; `completed` ends that.
  void start_transfer() noexcept { under_way_.fetch_add(1, std::memory_order_relaxed); }  // under the endpoint's lock
  /// Threads: any.
  void completed(const Status& /*status*/) noexcept override { end_transfer(); }

  /// Begins a put whose data arrives later, and returns its number for `end_put`.
  [[nodiscard]] std::uint64_t start_put(Rank source) {
    start_transfer();
    Unfinished& puts = unfinished_[source];
    puts.are_in_place.push_back(false);
    return puts.first + puts.are_in_place.size() - 1;
  }
  /// The data of that put is in place.
  void end_put(Rank source, std::uint64_t number) {
    const auto found = unfinished_.find(source);
    Unfinished& puts = found->second;
    puts.are_in_place[number - puts.first] = true;
    for (; !puts.are_in_place.empty() && puts.are_in_place.front(); ++puts.first) {
      puts.are_in_place.pop_front();
      count();
    }
    if (puts.are_in_place.empty()) {
      unfinished_.erase(found);
    }
    end_transfer();
  }
  /// A put is in place at once.
  void note_put(Rank source) {
    if (!unfinished_.empty()) [[unlikely]] {
      if (const auto earlier = unfinished_.find(source); earlier != unfinished_.end()) {
        earlier->second.are_in_place.push_back(true);
        return;
      }
    }
    count();
  }

  /// Has `operation` wait until `count` puts are in place. Borrowed until `take_reached` or `take_waiting`.
  void add(std::uint64_t count, Operation& operation) { waiting_.emplace(count, &operation); }
  /// Takes out an operation whose number of puts is in place; null when there is none.
  [[nodiscard]] Operation* take_reached() {
    return waiting_.empty() || waiting_.begin()->first > arrived() ? nullptr : take_waiting();
  }
  /// Takes out any operation that waits; null when none does.
  [[nodiscard]] Operation* take_waiting() {
    return waiting_.empty() ? nullptr : waiting_.extract(waiting_.begin()).mapped();
  }
  template <class Visit>
  void for_each_waiting(Visit visit) const {
    for (const auto& [count, operation] : waiting_) {
      visit(operation);
    }
  }

 private:
  /// The puts of one source from the first that is not in place on.
  struct Unfinished {
    std::uint64_t first = 0;
    std::deque<bool> are_in_place;
  };

  void count() noexcept {
    arrived_.store(arrived_.load(std::memory_order_relaxed) + 1, std::memory_order_release);  // with arrived()
  }
  void end_transfer() noexcept { under_way_.fetch_sub(1, std::memory_order_release); }  // with is_quiet()

  const std::uint64_t id_;
  const std::span<std::byte> memory_;
  std::atomic<std::uint64_t> arrived_ = 0;
  std::atomic<std::uint64_t> under_way_ = 0;
  bool is_withdrawn_ = false;
  std::map<Rank, Unfinished> unfinished_;
  std::multimap<std::uint64_t, Operation*> waiting_;  ///< By the number of puts that they wait for.
};

}  // namespace plait::comm::detail
