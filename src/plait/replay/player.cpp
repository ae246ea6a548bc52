// SPDX-License-Identifier: Apache-2.0
#include "plait/replay/player.hpp"

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "plait/replay/check.hpp"
#include "plait/replay/detail/play_thread.hpp"

namespace plait::replay {

using detail::PlayState;
using detail::PlayThread;

struct Player::State : PlayState {
  using PlayState::PlayState;
};

Player::Player(Backend& backend, const Part& part, PlayOptions options)
    : state_{std::make_unique<State>(backend, part, std::move(options))} {}

Player::~Player() = default;

namespace {

/// Runs each on a thread of its own, the first on this one. Throws what the first to fail has thrown.
void run_all(std::vector<std::pair<PlayThread*, std::function<void()>>> works, PlayState& state) {
  std::mutex mutex;
  std::exception_ptr trouble;
  const auto run = [&](const std::function<void()>& work) {
    try {
      work();
    } catch (...) {
      state.stops.store(true, std::memory_order_relaxed);  // a hint to the others; orders nothing
      const std::lock_guard lock{mutex};
      trouble = trouble ? trouble : std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < works.size(); ++i) {
      threads.emplace_back(run, works[i].second);
    }
    run(works[0].second);
  }
  if (trouble) {
    std::rethrow_exception(trouble);
  }
}

std::string name_of(const Roles& roles) {
  std::string name;
  const auto add = [&](bool has, const char* role) {
    if (has) {
      name += name.empty() ? role : fmt::format("+{}", role);
    }
  };
  add(roles.injects, "inject");
  add(roles.polls_sends, "sends");
  add(roles.polls_receives, "receives");
  return name;
}

/// One thread for each lane.
void play_lanes(PlayState& state, trace::Recorder& recorder, std::vector<std::unique_ptr<PlayThread>>& threads) {
  std::vector<std::pair<PlayThread*, std::function<void()>>> works;
  for (std::uint32_t i = 0; i < state.part.schedule.lanes.size(); ++i) {
    const std::string name = fmt::format("lane {}", i);
    PlayThread* const thread =
        threads.emplace_back(std::make_unique<PlayThread>(state, recorder, name, Roles{true, true, true})).get();
    works.emplace_back(thread, [thread, i] { thread->run_alone(i); });
  }
  run_all(std::move(works), state);
}

/// One thread for each list of roles.
void play_roles(PlayState& state, trace::Recorder& recorder, std::vector<std::unique_ptr<PlayThread>>& threads) {
  std::vector<std::pair<PlayThread*, std::function<void()>>> works;
  for (const Roles& roles : state.options.threads) {
    PlayThread* const thread =
        threads.emplace_back(std::make_unique<PlayThread>(state, recorder, name_of(roles), roles)).get();
    state.sends_to = roles.polls_sends ? thread : state.sends_to;
    state.receives_to = roles.polls_receives ? thread : state.receives_to;
    const bool is_alone = state.options.threads.size() == 1 && state.part.schedule.lanes.size() == 1;
    works.emplace_back(thread, [thread, &roles, is_alone] {
      is_alone ? thread->run_alone(0) : roles.injects ? thread->run_together() : thread->run_polling();
    });
  }
  run_all(std::move(works), state);
}

}  // namespace

Played Player::play(trace::Recorder& recorder) {
  PlayState& state = *state_;
  state.begin_repetition(recorder);
  std::vector<std::unique_ptr<PlayThread>> threads;
  Played played;
  played.begin = state.begin;
  if (state.options.threads.empty()) {
    play_lanes(state, recorder, threads);
  } else if (!state.part.schedule.lanes.empty()) {
    play_roles(state, recorder, threads);
  }
  played.end = recorder.now();
  for (const auto& thread : threads) {
    thread->add_to(played);
  }
  return played;
}

std::uint64_t Player::moved() const noexcept {
  return state_->moved.load(std::memory_order_relaxed);  // a hint; orders nothing
}

std::string Player::describe_waiting() const {
  return state_->describe_waiting();
}

}  // namespace plait::replay
