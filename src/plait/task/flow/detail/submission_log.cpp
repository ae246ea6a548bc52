// SPDX-License-Identifier: Apache-2.0
#include "plait/task/flow/detail/submission_log.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace plait::task::detail {

namespace {

constexpr std::array mode_names{"r", "later", "w", "rw", "commute", "reduce"};  // by `Mode`

}  // namespace

std::optional<std::uint64_t> SubmissionLog::chain_at(std::uint64_t number) const {
  if (number == 0) {
    return 0;
  }
  if (number > count_) {
    return std::nullopt;
  }
  if (number >= oldest_kept()) {
    return entries_[(number - 1) % kept].chain;
  }
  if (number % checkpoint_every == 0) {
    return checkpoints_[number / checkpoint_every - 1];
  }
  return std::nullopt;
}

std::string SubmissionLog::describe(std::uint64_t number) const {
  if (number > count_) {
    return "nothing further";
  }
  if (number < oldest_kept()) {
    return "a submission that is no longer kept";
  }
  const Entry& entry = entries_[(number - 1) % kept];
  std::string text = fmt::format("'{}'", entry.kind->name);
  const std::size_t described = std::min<std::size_t>(entry.access_count, described_max);
  for (std::size_t i = 0; i < described; ++i) {
    text += fmt::format("{}{}({})",
                        i == 0 ? " on " : ", ",
                        mode_names.at(static_cast<std::size_t>(entry.accesses[i].mode)),
                        name_of(*entry.accesses[i].datum));
  }
  if (entry.access_count > described) {
    text += ", ...";
  }
  return entry.executes ? text + fmt::format(", executed by rank {}", entry.executes.value()) : text;
}

}  // namespace plait::task::detail
