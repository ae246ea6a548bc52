// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "plait/comm/collectives/detail/broadcast.hpp"
#include "plait/comm/completion.hpp"
#include "plait/comm/promise.hpp"

namespace plait::comm::detail {

namespace {

/// Ends when the data has come and has been passed on; a coroutine would learn of the former only.
class Multicast final : public Completion {
 public:
  explicit Multicast(Broadcast broadcast) : broadcast_{std::move(broadcast)}, promise_{broadcast_.call.endpoint()} {}

  Request start() {
    Request request = promise_.request();
    try {
      post();
    } catch (const Error& error) {
      end({.source = error.rank(), .error = error.code()});
    }
    return request;
  }

  void completed(const Status& status) noexcept override {
    status_ = status;
    if (!status.error && status.bytes != broadcast_.data.size()) {
      status_.error = ErrorCode::bad_argument;  // the root means another size
    }
  }
  void released(const Status& /*status*/) noexcept override { end(status_); }

 private:
  void post() {
    const Call& call = broadcast_.call;
    const Address address = call.address(broadcast_.root);
    if (broadcast_.place() != 0) {
      (void)call.endpoint().receive(address, broadcast_.data, this);
      return;
    }
    std::vector<Destination> others;
    for (std::size_t place = 1; place < call.size(); ++place) {
      others.push_back({call.rank(broadcast_.member(place))});
    }
    if (others.empty()) {
      end({.source = call.endpoint().self()});
      return;
    }
    (void)call.endpoint().multicast(
        std::move(others), address.tag, broadcast_.data, {.completion = this}, address.comm);
  }

  void end(const Status& status) noexcept {
    const std::unique_ptr<Multicast> owned{this};
    promise_.complete(status);
  }

  Broadcast broadcast_;
  Promise promise_;
  Status status_;
};

}  // namespace

Request multicast_broadcast(Broadcast broadcast) {
  return std::make_unique<Multicast>(std::move(broadcast)).release()->start();  // ends itself
}

}  // namespace plait::comm::detail
