// SPDX-License-Identifier: Apache-2.0
#include "grain/board.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "support/computation.hpp"

namespace grain {

Board::Board(const Shape& shape) : shape_{shape}, cells_(shape.window * shape.width()) {
  for (std::size_t place = 0; place < shape_.window; ++place) {
    places_.push_back(describe(place));
  }
  begin();
}

Board::Place Board::describe(std::size_t place) const {
  std::set<std::pair<std::size_t, std::size_t>> sent;
  std::set<std::pair<std::size_t, std::size_t>> received;
  const auto note = [&](std::size_t reader, std::size_t input) {
    if (shape_.is_mine(input) && !shape_.is_mine(reader)) {
      sent.emplace(input, shape_.owner(reader));
    } else if (!shape_.is_mine(input) && shape_.is_mine(reader)) {
      received.emplace(input, shape_.owner(input));
    }
  };
  for (std::size_t reader = 0; reader < shape_.width(); ++reader) {
    for (const std::size_t input : shape_.inputs((place + 1) % shape_.window, reader)) {
      note(reader, input);
    }
  }
  Place all;
  for (const auto& [point, peer] : sent) {
    all.sent.push_back({point, peer});
  }
  for (const auto& [point, peer] : received) {
    all.received.push_back({point, peer});
  }
  for (std::size_t i = 0; i < shape_.points_per_rank; ++i) {
    all.inputs.push_back(shape_.inputs(place, shape_.first() + i));
  }
  return all;
}

std::span<std::byte> Board::bytes(std::size_t place, std::size_t point) {
  return std::as_writable_bytes(std::span{&cell(place, point).output, 1});
}

void Board::begin() {
  std::ranges::fill(cells_, Cell{});
  base_ = 1;  // the first step reads outputs of step 0
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
    const auto mine = std::span{cells_}.subspan(place * shape_.width() + shape_.first(), shape_.points_per_rank);
    if (std::ranges::any_of(mine, [&](const Cell& one) { return one.runs != windows; })) {
      return false;
    }
  }
  return wrong_inputs_.load() == 0;
}

}  // namespace grain
