// SPDX-License-Identifier: Apache-2.0
#include "plait/comm/collectives/detail/spread.hpp"

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "plait/comm/promise.hpp"

namespace plait::comm::detail {

namespace {

/// Ends when the data has arrived and is forwarded; a coroutine would learn of the former only.
class Spread final : public Completion {
 public:
  Spread(Call call, std::size_t root, std::span<std::byte> data)
      : call_{std::move(call)}, root_{root}, data_{data}, promise_{call_.endpoint()} {}

  Request start(unsigned phase) {
    Request request = promise_.request();
    try {
      post(phase);
    } catch (const Error& error) {
      end({.source = error.rank(), .error = error.code()});
    }
    return request;
  }

  void completed(const Status& status) noexcept override {
    status_ = status;
    if (!status.error && !call_.has_failed() && status.bytes != data_.size()) {
      status_.error = ErrorCode::bad_argument;  // the root means another size
    }
  }
  void released(const Status& /*status*/) noexcept override { end(status_); }

 private:
  void post(unsigned phase) {
    const Address address = call_.address(root_, phase);
    if (call_.self() != root_) {
      (void)call_.endpoint().receive(address, data_, this);
      return;
    }
    std::vector<Destination> others;
    for (std::size_t place = 1; place < call_.size(); ++place) {
      others.push_back({call_.rank(call_.after(place))});
    }
    if (others.empty()) {
      end({.source = call_.endpoint().self()});
      return;
    }
    const std::span<const std::byte> data = call_.has_failed() ? failure() : std::span<const std::byte>{data_};
    (void)call_.endpoint().multicast(std::move(others), address.tag, data, {.completion = this}, address.comm);
  }

  /// A message of another size than the data.
  [[nodiscard]] std::span<const std::byte> failure() const noexcept {
    return std::span{failure_}.first(data_.size() == 1 ? 2 : 1);
  }

  void end(const Status& status) noexcept {
    const std::unique_ptr<Spread> owned{this};
    promise_.complete(status);
  }

  Call call_;
  std::size_t root_;
  std::span<std::byte> data_;
  Promise promise_;
  Status status_;
  std::array<std::byte, 2> failure_{};
};

}  // namespace

Request spread(Call call, std::size_t root, std::span<std::byte> data, unsigned phase) {
  return std::make_unique<Spread>(std::move(call), root, data).release()->start(phase);  // ends itself
}

}  // namespace plait::comm::detail
