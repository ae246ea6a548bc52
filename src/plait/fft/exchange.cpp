// SPDX-License-Identifier: Apache-2.0
#include "plait/fft/exchange.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/base/error.hpp"
#include "plait/comm/collectives/all_to_all.hpp"
#include "plait/comm/request.hpp"
#include "plait/fft/detail/lines.hpp"

namespace plait::fft {

namespace {

/// Blocks in memory of this exchange's own, each beginning a cache line.
class Blocks {
 public:
  explicit Blocks(const std::vector<std::size_t>& sizes) {
    constexpr std::size_t per_line = detail::cache_line_bytes / sizeof(detail::Complex);
    std::size_t count = 0;
    for (const std::size_t bytes : sizes) {
      places_.emplace_back(count, bytes);
      const std::size_t numbers = (bytes + sizeof(detail::Complex) - 1) / sizeof(detail::Complex);
      count += (numbers + per_line - 1) / per_line * per_line;
    }
    memory_ = detail::Memory{static_cast<Index>(count)};
  }

  [[nodiscard]] std::span<std::byte> block(std::size_t member) const {
    const auto [first, bytes] = places_[member];
    return {reinterpret_cast<std::byte*>(memory_.data() + first), bytes};
  }
  [[nodiscard]] std::vector<std::span<std::byte>> all() const {
    std::vector<std::span<std::byte>> blocks;
    for (std::size_t member = 0; member < places_.size(); ++member) {
      blocks.push_back(block(member));
    }
    return blocks;
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  detail::Memory memory_;
};

enum class Blocking : std::uint8_t { no, yes };

/// By plait's own all-to-all.
class PlaitExchange final : public Exchange {
 public:
  PlaitExchange(const comm::Group& group, const BlockBytes& bytes, Blocking blocking)
      : group_{group}, blocking_{blocking}, to_{bytes.to}, from_{bytes.from} {}
  PlaitExchange(const PlaitExchange&) = delete;
  PlaitExchange& operator=(const PlaitExchange&) = delete;
  PlaitExchange(PlaitExchange&&) = delete;
  PlaitExchange& operator=(PlaitExchange&&) = delete;
  ~PlaitExchange() override = default;

  [[nodiscard]] std::span<std::byte> to(std::size_t member) override { return to_.block(member); }
  [[nodiscard]] std::span<const std::byte> from(std::size_t member) override { return from_.block(member); }

  void start() override {
    const std::vector<std::span<std::byte>> to = to_.all();
    request_ = comm::all_to_all(group_, comm::BlocksToSend(to.begin(), to.end()), from_.all());
    if (blocking_ == Blocking::yes) {
      request_.wait();
    }
  }
  void advance() override { (void)group_.endpoint().progress(); }
  void wait() override { request_.wait(); }

 private:
  comm::Group group_;
  Blocking blocking_;
  Blocks to_;
  Blocks from_;
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
      {"PLB", "PLN", "plait's all-to-all, waited for before computing goes on", by_plait(Blocking::yes)},
      {"PLN", "PLB", "plait's all-to-all, while other transforms compute", by_plait(Blocking::no)},
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
        fmt::format(
            "'{}' is no way of exchanging that this program has: choose one of {}", name, fmt::join(names, ", "))};
  }
  return *found;
}

}  // namespace plait::fft
