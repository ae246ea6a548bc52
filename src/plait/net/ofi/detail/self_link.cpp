// SPDX-License-Identifier: Apache-2.0
#include "plait/net/ofi/detail/self_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::net::detail::ofi {

Post SelfLink::send(Packet&& packet) {
  if (packets_.size() >= limits_.packets_max) {
    return Post::retry;
  }
  packets_.push_back(std::move(packet));
  return Post::done;
}

bool SelfLink::take(Packet& packet) {
  if (packets_.empty()) {
    return false;
  }
  packet = std::move(packets_.front());
  packets_.pop_front();
  return true;
}

Post SelfLink::send_bulk(const BulkSend& bulk) {
  if (sends_.size() >= limits_.bulk_max) {
    return Post::retry;
  }
  sends_.push_back(bulk);
  return Post::posted;
}

void SelfLink::progress(std::vector<BulkDone>& done) {
  const BulkSend& send = sends_.front();
  const auto receive = std::ranges::find(receives_, send.slot, &BulkReceive::slot);
  expect(receive != receives_.end(), "the receiver, this rank, has posted its buffer first");
  expect(receive->buffer.size() == send.data.size(), "the receiver's buffer is as long as the data");
  const std::size_t bytes = std::min(limits_.bytes_per_step, send.data.size() - bytes_copied_);
  std::memcpy(receive->buffer.data() + bytes_copied_, send.data.data() + bytes_copied_, bytes);
  bytes_copied_ += bytes;
  if (bytes_copied_ == send.data.size()) {
    done.push_back({TransferDirection::sent, send.cookie});
    done.push_back({TransferDirection::received, receive->cookie});
    bytes_copied_ = 0;
    receives_.erase(receive);
    sends_.pop_front();
  }
}

}  // namespace plait::net::detail::ofi
