// SPDX-License-Identifier: Apache-2.0
#include "grain/board.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "support/computation.hpp"

namespace grain {

Board::Board(const Shape& shape) : shape_{shape}, places_(shape.window), cells_(shape.window * shape.width()) {
  for (std::size_t place = 0; place < shape_.window; ++place) {
    std::set<std::pair<std::size_t, std::size_t>> sent;
    std::set<std::size_t> received;
    const std::size_t after = (place + 1) % shape_.window;
    for (std::size_t point = 0; point < shape_.width(); ++point) {
      for (const std::size_t input : shape_.inputs(after, point)) {
        if (shape_.is_mine(input) && !shape_.is_mine(point)) {
          sent.emplace(input, shape_.owner(point));
        } else if (!shape_.is_mine(input) && shape_.is_mine(point)) {
          received.insert(input);
        }
      }
    }
    for (const auto& [point, peer] : sent) {
      places_[place].sent.push_back({point, peer});
    }
    for (const std::size_t point : received) {
      places_[place].received.push_back({point, shape_.owner(point)});
    }
    for (std::size_t i = 0; i < shape_.points_per_rank; ++i) {
      places_[place].inputs.push_back(shape_.inputs(place, shape_.first() + i));
    }
  }
  begin();
}

std::span<std::byte> Board::bytes(std::size_t place, std::size_t point) {
  return std::as_writable_bytes(std::span{&cell(place, point).output, 1});
}

void Board::begin() {
  std::ranges::fill(cells_, Cell{});
  base_ = 1;  // what the first step reads is of step 0
  for (std::size_t point = 0; point < shape_.width(); ++point) {
    cell(shape_.window - 1, point).output = {0, point};
  }
  wrong_inputs_ = 0;
}

void Board::work(std::size_t place, std::size_t point, std::uint64_t computation) noexcept {
  const std::uint64_t step = base_ + place;
  for (const std::size_t input : places_[place].inputs[point - shape_.first()]) {
    if (cell(before(place), input).output != Output{step - 1, input}) [[unlikely]] {
      wrong_inputs_.fetch_add(1);
    }
  }
  bench::compute(computation);
  Cell& mine = cell(place, point);
  mine.output = {step, point};
  ++mine.runs;
}

bool Board::is_right(std::size_t windows) const {
  for (std::size_t place = 0; place < shape_.window; ++place) {
    for (std::size_t i = 0; i < shape_.points_per_rank; ++i) {
      if (cells_[place * shape_.width() + shape_.first() + i].runs != windows) {
        return false;
      }
    }
  }
  return wrong_inputs_.load() == 0;
}

}  // namespace grain
