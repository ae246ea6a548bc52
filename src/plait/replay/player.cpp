// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/player.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/check.hpp"
#include "plait/replay/detail/held_buffers.hpp"
#include "plait/replay/detail/play_state.hpp"

namespace plait::replay {
namespace {

/// Beyond these bytes, buffers are created when messages need them, and their pages take time of the replay.
constexpr std::uint64_t reserved_bytes_max = std::uint64_t{512} << 20;

/// Creates the buffers of messages before the replay begins.
void reserve_buffers(detail::PlayState& state) {
  std::uint64_t left = reserved_bytes_max;
  for (const Stream& stream : state.part.schedule.streams) {
    for (const detail::HeldBuffers& held : detail::held_buffers(stream)) {
      const std::size_t count = std::min<std::uint64_t>(held.count, left / held.bytes);
      (held.is_sent ? state.sent_buffers : state.buffers).reserve(held.bytes, count);
      left -= count * held.bytes;
    }
  }
}

}  // namespace

detail::PlayState::PlayState(Backend& backend_, const RankPart& part_, PlayOptions options_)
    : backend{backend_},
      part{part_},
      options{std::move(options_)},
      operations(part.operation_count()),
      at(part.schedule.streams.size()) {
  const std::vector<Stream>& streams = part.schedule.streams;
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    first_of_stream.push_back(count);
    for (const std::uint32_t waited : streams[i].waited) {
      operations[count + waited].is_waited = true;
    }
    for (std::uint32_t j = 0; j < streams[i].operations.size(); ++j, ++count) {
      operations[count].stream = i;
      operations[count].index = j;
    }
  }
  const CallNames names = backend.call_names();
  function_texts[function_send] = names.send;
  function_texts[function_receive] = names.receive;
  function_texts[function_wait] = names.wait;
  function_texts[function_test] = names.test;
  function_texts[function_progress] = names.progress;
  for (std::size_t i = 1; i < collective_count; ++i) {
    for (const Calling calling : {Calling::waits, Calling::goes_on}) {
      const auto what = static_cast<Collective>(i);
      function_texts[function_of(what, calling)] = backend.call_name(what, calling);
    }
  }
}

Player::Player(Backend& backend, const RankPart& part, PlayOptions options)
    : state_{std::make_unique<detail::PlayState>(backend, part, std::move(options))} {
  reserve_buffers(*state_);
}

Player::~Player() = default;

std::uint64_t Player::moved() const noexcept {
  return state_->signals.moved.load(std::memory_order_relaxed);  // a hint; orders nothing
}

std::string Player::describe_waiting() const {
  const RankPart& part = state_->part;
  constexpr int named_max = 4;
  std::string sentence;
  int found = 0;
  const auto add = [&](std::uint32_t stream, std::uint32_t index, const char* before) {
    if (++found <= named_max) {
      const Stream& here = part.schedule.streams[stream];
      sentence += fmt::format("{}{}{}",
                              sentence.empty() ? "" : "; ",
                              before,
                              describe(here.operations[index], part.self.value(), here, index));
    }
  };
  for (const Action action : {Action::receive, Action::collective, Action::send}) {
    for (const detail::UnderWay& one : state_->operations) {
      if (one.stage.load(std::memory_order_acquire) == detail::Stage::begun &&  // with release in PlayThread
          state_->operation(one).action == action) {
        add(one.stream, one.index, "");
      }
    }
  }
  if (found > named_max) {
    sentence += fmt::format("; and {} more", found - named_max);
  }
  if (found == 0) {
    for (std::uint32_t stream = 0; stream < part.schedule.streams.size(); ++stream) {
      const std::uint32_t index = state_->at[stream].load(std::memory_order_relaxed);  // a hint; orders nothing
      if (index < part.schedule.streams[stream].operations.size()) {
        add(stream, index, "is where ");
      }
    }
  }
  return sentence;
}

}  // namespace plait::replay
