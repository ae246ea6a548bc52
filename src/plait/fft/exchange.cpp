// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/exchange.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/request.hpp"
#include "plait/fft/detail/blocks.hpp"

namespace plait::fft {

namespace {

enum class Blocking : std::uint8_t { no, yes };

/// An exchange by plait's all-to-all.
class PlaitExchange final : public Exchange {
 public:
  PlaitExchange(const comm::Group& group, const BlockBytes& bytes, Blocking blocking)
      : group_{group}, blocking_{blocking}, to_{detail::Places{bytes.to}}, from_{detail::Places{bytes.from}} {}

  [[nodiscard]] std::span<std::byte> to(std::size_t member) override { return to_[member]; }
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) override { return from_[member]; }

  void start() override {
    comm::BlocksToSend to;
    comm::BlocksToReceive from;
    for (std::size_t member = 0; member < group_.size(); ++member) {
      to.emplace_back(to_[member]);
      from.push_back(from_[member]);
    }
    request_ = comm::all_to_all(group_, std::move(to), std::move(from));
    if (blocking_ == Blocking::yes) {
      request_.wait();
    }
  }
  void advance() override { (void)group_.endpoint().progress(); }
  void wait() override { request_.wait(); }

 private:
  comm::Group group_;
  Blocking blocking_;
  detail::Blocks to_;
  detail::Blocks from_;
  comm::Request request_;
};

MakeExchange by_plait(Blocking blocking) {
  return [blocking](const comm::Group& group, const BlockBytes& bytes) {
    return std::make_unique<PlaitExchange>(group, bytes, blocking);
  };
}

}  // namespace

std::vector<Variant> variants() {
  return {
      {"PLB", "PLN", "plait's all-to-all, completed before computing continues", by_plait(Blocking::yes)},
      {"PLN", "PLB", "plait's all-to-all, overlapped with other transforms", by_plait(Blocking::no)},
      {"PLT", "PLB", "a message for each piece of a block, as tasks of one graph", {}},
  };
}

const Variant& find_variant(const std::vector<Variant>& among, std::string_view name) {
  const auto found = std::ranges::find(among, name, &Variant::name);
  if (found == among.end()) {
    std::vector<std::string> names;
    std::ranges::transform(among, std::back_inserter(names), &Variant::name);
    throw Error{
        ErrorCode::bad_argument,
        fmt::format("there is no variant '{}' of the exchange: choose one of {}", name, fmt::join(names, ", "))};
  }
  return *found;
}

}  // namespace plait::fft
