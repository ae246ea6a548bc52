// SPDX-License-Identifier: Apache-2.0
#include "plait/exports/samples.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace plait::exports {
namespace {

constexpr const char* unknown_code = "unknown code";

}  // namespace

std::uint32_t PathTree::child(std::uint32_t caller, const std::string& function) {
  const std::uint32_t name = names_.number(Names::Kind::code, function);
  const auto [found, is_new] = known_.try_emplace({caller, name}, static_cast<std::uint32_t>(nodes_.size()));
  if (is_new) {
    nodes_.push_back({name, caller});
  }
  return found->second;
}

std::uint32_t PathTree::node_of(const std::string& place) {
  const auto [found, is_new] = places_.try_emplace(place, none);
  if (!is_new) {
    return found->second;
  }
  const auto path = texts_.paths.find(place);
  std::uint32_t node = none;
  if (place.empty()) {
    node = child(none, unknown_code);
  } else if (path == texts_.paths.end() || path->second.empty()) {
    node = child(none, place.substr(0, place.find('~')));  // without the number of its call path
  } else {
    for (auto function = path->second.rbegin(); function != path->second.rend(); ++function) {
      node = child(node, *function);
    }
  }
  found->second = node;
  return node;
}

std::vector<std::uint32_t> PathTree::functions_to(std::uint32_t node) const {
  std::vector<std::uint32_t> functions;
  for (; node != none; node = nodes_[node].caller) {
    functions.push_back(nodes_[node].function);
  }
  std::ranges::reverse(functions);
  return functions;
}

std::string SampledThread::label() const {
  return has_worker() ? fmt::format("thread {}", worker) : fmt::format("other thread {}", number);
}

std::vector<SampledThread> sampled_threads(const RankOfRun& rank, PathTree& paths) {
  const auto& texts = rank.trace.names[static_cast<std::size_t>(trace::Role::call_site)];
  std::map<std::uint32_t, SampledThread> threads;
  std::unordered_map<std::uint32_t, std::uint32_t> nodes;  // by name of the place
  for (const auto& [recorder, sample] : rank.trace.samples) {
    const auto [node, is_new] = nodes.try_emplace(sample.site ? sample.site.value() : trace::nothing, 0);
    if (is_new) {
      const auto text = sample.site ? texts.find(sample.site) : texts.end();
      node->second = paths.node_of(text != texts.end() ? text->second
                                   : sample.site       ? fmt::format("place {}", sample.site.value())
                                                       : std::string{});
    }
    const auto [thread, is_first] =
        threads.try_emplace(sample.thread, SampledThread{sample.of_worker, sample.thread, {}});
    thread->second.worker = std::min<std::uint32_t>(thread->second.worker, sample.of_worker);
    thread->second.samples.push_back(
        {rank.clock(sample.time), node->second, static_cast<std::uint64_t>(sample.interval.count())});
  }
  std::vector<SampledThread> found;
  for (auto& [number, thread] : threads) {
    std::ranges::stable_sort(thread.samples, {}, &PathSample::time);
    found.push_back(std::move(thread));
  }
  return found;
}

std::vector<Count> counts_of(const RankOfRun& rank, Names& names) {
  std::map<std::tuple<trace::NameId, trace::NameId, trace::NameId>, std::uint32_t> known;
  std::vector<Count> counts;
  for (const auto& [thread, count] : rank.trace.counts) {
    const auto [name, is_new] = known.try_emplace({count.counter, count.region, count.task}, 0);
    if (is_new) {
      const std::string& counter = rank.trace.name(trace::Role::counter, count.counter);
      const std::string where = count.region ? rank.trace.name(trace::Role::span, count.region)
                                : count.task ? rank.trace.name(trace::Role::task, count.task)
                                             : std::string{"the thread"};
      name->second = names.number(Names::Kind::count, fmt::format("{} in {}", counter, where));
    }
    counts.push_back({count.of_worker,
                      name->second,
                      std::max(rank.clock(count.start), rank.clock(count.end)),
                      static_cast<double>(count.value)});
  }
  std::ranges::stable_sort(counts, {}, &Count::end);
  return counts;
}

}  // namespace plait::exports
