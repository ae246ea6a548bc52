// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/posted_exchange.hpp"

#include <atomic>
#include <memory>

#include "plait/comm/completion.hpp"
#include "plait/comm/promise.hpp"

namespace plait::comm::detail {

namespace {

/// Each message tells when it has ended; the last one completes the promise and ends this.
class PostedExchange {
 public:
  PostedExchange(AllToAll exchange, std::vector<std::size_t> send_order)
      : exchange_{std::move(exchange)},
        send_order_{std::move(send_order)},
        promise_{exchange_.call.endpoint()},
        left_{2 * exchange_.call.size() - 1},
        sends_{*this},
        blocks_(exchange_.call.size()) {}

  Request start(std::size_t sends_max) {
    Request request = promise_.request();
    const Call& call = exchange_.call;
    for (std::size_t distance = 1; distance < call.size(); ++distance) {
      const std::size_t member = call.before(distance);
      blocks_[member].exchange = this;
      blocks_[member].member = member;
      post([&] { return call.endpoint().receive(call.address(member), exchange_.from[member], &blocks_[member]); });
    }
    send(sends_max);
    exchange_.copy_own();
    tell(call.self());
    count_down();
    return request;
  }

 private:
  struct Block final : Completion {
    PostedExchange* exchange = nullptr;
    std::size_t member = 0;

    void completed(const Status& status) noexcept override { exchange->note_block(member, status); }
    void released(const Status& /*status*/) noexcept override { exchange->count_down(); }
  };

  struct Sends final : Completion {
    explicit Sends(PostedExchange& its_exchange) : exchange{its_exchange} {}
    PostedExchange& exchange;

    void completed(const Status& status) noexcept override { exchange.note(status.error); }
    void released(const Status& /*status*/) noexcept override {
      exchange.send(1);
      exchange.count_down();
    }
  };

  /// Posts `count` sends more, if there are as many. A send may end, and ask for the next, before its post returns:
  /// then who posts goes on, instead of one call within the other. The caller holds a count of `left_`.
  void send(std::size_t count) noexcept {
    // Releases `next_send_` to the one who posts next, and acquires it from who did before.
    if (sends_wanted_.fetch_add(count, std::memory_order_acq_rel) != 0) {
      return;
    }
    do {
      if (next_send_ < send_order_.size()) {
        const Call& call = exchange_.call;
        const std::size_t member = send_order_[next_send_++];
        post([&] { return call.endpoint().send(call.address(member), exchange_.to[member], {.completion = &sends_}); });
      }
    } while (sends_wanted_.fetch_sub(1, std::memory_order_acq_rel) != 1);  // as above
  }

  /// What cannot be posted has ended at once.
  template <class Post>
  void post(Post one) noexcept {
    try {
      (void)one();  // its completion tells
    } catch (const Error& error) {
      note(error.code());
      count_down();
    } catch (...) {
      note(ErrorCode::out_of_memory);
      count_down();
    }
  }

  void note_block(std::size_t member, const Status& status) noexcept {
    if (status.error) {
      note(status.error);
    } else if (status.bytes != exchange_.from[member].size()) {
      note(ErrorCode::bad_argument);  // the sender means a block of another size
    } else {
      tell(member);
    }
  }

  void tell(std::size_t member) noexcept {
    try {
      if (exchange_.options.on_block) {
        exchange_.options.on_block(member);
      }
    } catch (...) {
      note(ErrorCode::user_task);
    }
  }

  void note(std::optional<ErrorCode> error) noexcept {
    int none = no_error;
    if (error) {
      // Read after the last count_down(), which orders it.
      error_.compare_exchange_strong(none, static_cast<int>(*error), std::memory_order_relaxed);
    }
  }

  void count_down() noexcept {
    // Releases what this message brought, and acquires what the others did when it is the last.
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      const std::unique_ptr<PostedExchange> end{this};
      const int error = error_.load(std::memory_order_relaxed);  // ordered by left_
      promise_.complete({.source = exchange_.call.endpoint().self(),
                         .error = error == no_error ? std::nullopt : std::optional{static_cast<ErrorCode>(error)}});
    }
  }

  static constexpr int no_error = -1;

  AllToAll exchange_;
  std::vector<std::size_t> send_order_;
  std::size_t next_send_ = 0;  ///< Of the thread that raised `sends_wanted_` from 0.
  std::atomic<std::size_t> sends_wanted_ = 0;
  Promise promise_;
  std::atomic<std::size_t> left_;  ///< Messages that have not ended, and one for start().
  std::atomic<int> error_ = no_error;
  Sends sends_;
  std::vector<Block> blocks_;
};

}  // namespace

Request posted_exchange(AllToAll exchange, std::vector<std::size_t> send_order, std::size_t sends_max) {
  auto owned = std::make_unique<PostedExchange>(std::move(exchange), std::move(send_order));
  return owned.release()->start(sends_max);  // ends itself
}

}  // namespace plait::comm::detail
