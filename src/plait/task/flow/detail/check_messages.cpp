// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/check_messages.hpp"

#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "plait/base/error.hpp"
#include "plait/base/spin_lock.hpp"

namespace plait::task::detail {

/// The messages under way, with their bytes. Threads: any.
class CheckMessages::Outbox : public std::enable_shared_from_this<Outbox> {
 public:
  class Message final : public comm::Completion {
   public:
    Message(std::weak_ptr<Outbox> outbox, Bytes bytes) : outbox_{std::move(outbox)}, bytes_{std::move(bytes)} {}
    [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
    void completed(const comm::Status& /*status*/) noexcept override {}
    void released(const comm::Status& /*status*/) noexcept override {
      if (const auto outbox = outbox_.lock()) {  // always, as it has this; and it must stay until its lock is open
        outbox->end(*this);
      }
    }

   private:
    std::weak_ptr<Outbox> outbox_;
    Bytes bytes_;
  };

  Message& add(Bytes bytes) {
    const std::lock_guard lock{mutex_};
    return *messages_.emplace_back(std::make_unique<Message>(weak_from_this(), std::move(bytes)));
  }

  [[nodiscard]] bool is_empty() {
    const std::lock_guard lock{mutex_};
    return messages_.empty();
  }

 private:
  void end(const Message& message) noexcept {
    const std::lock_guard lock{mutex_};
    std::erase_if(messages_, [&](const auto& held) { return held.get() == &message; });
  }

  SpinLock mutex_;
  std::vector<std::unique_ptr<Message>> messages_;
};

CheckMessages::CheckMessages(comm::Endpoint& endpoint, comm::CommId comm, Tag tag)
    : endpoint_{endpoint}, comm_{comm}, tag_{tag}, outbox_{std::make_shared<Outbox>()} {
  if (endpoint_.rank_count() > 1) {
    post();
  }
}

CheckMessages::~CheckMessages() {
  stop();
}

void CheckMessages::stop() noexcept {
  if (endpoint_.rank_count() > 1 && !std::exchange(is_stopped_, true)) {
    receive_.cancel();
    receive_ = {};
    if (!outbox_->is_empty()) {
      endpoint_.keep(outbox_);
    }
  }
}

void CheckMessages::post() {
  has_come_.store(false, std::memory_order_relaxed);  // published by the endpoint's lock
  receive_ = endpoint_.receive({.rank = any_source, .tag = tag_, .comm = comm_}, buffer_, this);
}

void CheckMessages::released(const comm::Status& /*status*/) noexcept {
  has_come_.store(true, std::memory_order_release);  // with take()
}

void CheckMessages::send(Rank to, Bytes bytes) {
  Outbox::Message& message = outbox_->add(std::move(bytes));
  (void)endpoint_.send({.rank = to, .tag = tag_, .comm = comm_}, message.bytes(), {.completion = &message});
}

std::optional<CheckMessages::Arrived> CheckMessages::take() {
  if (!has_come_.load(std::memory_order_acquire)) {  // with released()
    return std::nullopt;
  }
  if (status_.error) {
    throw Error{*status_.error, "a message between the ranks of a flow was lost", status_.source};
  }
  Arrived arrived{.source = status_.source, .bytes = std::exchange(buffer_, {})};
  post();
  return arrived;
}

}  // namespace plait::task::detail
