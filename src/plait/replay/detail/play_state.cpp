// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/detail/play_state.hpp"

#include <utility>

#include <fmt/format.h>

#include "plait/replay/check.hpp"

namespace plait::replay::detail {

PlayState::PlayState(Backend& backend_, const RankPart& part_, PlayOptions options_)
    : backend{backend_},
      part{part_},
      options{std::move(options_)},
      operations(part.operation_count()),
      at(part.schedule.streams.size()) {
  const std::vector<Stream>& streams = part.schedule.streams;
  std::size_t count = 0;
  for (const Stream& stream : streams) {
    first_of_stream.push_back(count);
    count += stream.operations.size();
  }
  for (std::uint32_t i = 0; i < streams.size(); ++i) {
    for (std::uint32_t j = 0; j < streams[i].operations.size(); ++j) {
      operations[id(i, j).value()].stream = i;
      operations[id(i, j).value()].index = j;
    }
    for (const std::uint32_t waited : streams[i].waited) {
      operations[id(i, waited).value()].is_waited = true;
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

void PlayState::begin_repetition(trace::Recorder& recorder) {
  for (UnderWay& one : operations) {
    one.stage.store(Stage::not_begun, std::memory_order_relaxed);  // no thread plays yet
  }
  for (std::size_t i = 0; i < function_count; ++i) {
    if (!function_texts[i].empty()) {
      functions[i] = recorder.name(trace::Role::function, function_texts[i]);
    }
  }
  signals.numbers.store(0, std::memory_order_relaxed);            // no thread plays yet
  signals.has_begun_all.store(false, std::memory_order_relaxed);  // no thread plays yet
  orders.clear();
  begin = recorder.now();
}

MessageName PlayState::name_of(const UnderWay& one) const {
  const Operation& what = operation(one);
  const bool is_send = what.action == Action::send;
  return {.source = is_send ? part.self.value() : what.peer,
          .destination = is_send ? what.peer : part.self.value(),
          .communicator = what.communicator,
          .tag = what.tag,
          .order = one.order};
}

std::string PlayState::describe_waiting() const {
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
    for (const UnderWay& one : operations) {
      if (one.stage.load(std::memory_order_acquire) == Stage::begun &&  // with release in PlayThread
          operation(one).action == action) {
        add(one.stream, one.index, "");
      }
    }
  }
  if (found > named_max) {
    sentence += fmt::format("; and {} more", found - named_max);
  }
  if (found == 0) {
    for (std::uint32_t stream = 0; stream < part.schedule.streams.size(); ++stream) {
      const std::uint32_t index = at[stream].load(std::memory_order_relaxed);  // a hint; orders nothing
      if (index < part.schedule.streams[stream].operations.size()) {
        add(stream, index, "is where ");
      }
    }
  }
  return sentence;
}

}  // namespace plait::replay::detail
