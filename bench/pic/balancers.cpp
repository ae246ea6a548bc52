// SPDX-License-Identifier: Apache-2.0
#include "pic/balancers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/data/balance/zoltan/entries.hpp"

#include "pic/block.hpp"
#include "pic/parallel/collection_way.hpp"

namespace bench {

namespace {

namespace balance = plait::data::balance;

/// The first is the one that the others are compared with.
constexpr std::array names{
    "refine:tolerance=0.05", "greedy", "bisection", "hypercube", "zoltan-rcb", "zoltan-hsfc", "zoltan-graph"};

/// One balancer's run, and what its counted blocks gave.
struct Subject {
  std::string name;
  std::unique_ptr<pic::CollectionWay<2>> way;
  std::size_t balancings_seen = 0;
  std::vector<double> step, imbalance, deciding, moved;
};

std::vector<Subject> make_subjects(Report& report,
                                   plait::Runtime& runtime,
                                   pic::Ranks& ranks,
                                   const BalancerCase& one) {
  std::vector<Subject> subjects;
  for (const char* const name : names) {
    const pic::BalanceOptions options{.patches_per_rank = one.patches_per_rank,
                                      .balancer = name,
                                      .balancers = balance::entries_with_zoltan(),
                                      .balance_steps = static_cast<std::uint64_t>(one.block_steps)};
    try {
      (void)balance::make_balancer(name, options.balancers);
    } catch (const plait::Error& error) {
      report.note(error.what());
      continue;
    }
    subjects.push_back(
        {.name = name,
         .way = std::make_unique<pic::CollectionWay<2>>(pic::make_problem<2>(one.problem), options, runtime, ranks)});
  }
  return subjects;
}

/// A block begins with a balancing, which may move nothing.
void run_once(Subject& subject, pic::Ranks& ranks, int steps, bool is_counted) {
  const BlockTimes times = run_block(*subject.way, ranks, steps);
  const BlockLoads loads = take_loads(*subject.way, ranks, steps);
  const auto balancings = subject.way->balancings().subspan(subject.balancings_seen);
  subject.balancings_seen += balancings.size();
  if (!is_counted) {
    return;
  }
  double moved = 0;
  double deciding = 0;
  for (const pic::BalanceNote& note : balancings) {
    moved += note.bytes_moved;
    deciding += note.decided.count();
  }
  subject.step.push_back(times.step);
  subject.imbalance.push_back(100 * loads.imbalance());
  if (!balancings.empty()) {  // else nothing moved, and the times are not known
    subject.deciding.push_back(deciding);
  }
  subject.moved.push_back(moved * 1e-3);
}

void add_row(Report& report,
             const std::vector<Subject>& subjects,
             const std::map<std::string, std::string>& params,
             const char* name,
             const char* unit,
             std::vector<double> Subject::* values) {
  if ((subjects.front().*values).empty()) {
    return;
  }
  Row row{.name = name, .params = params, .value = subjects.front().*values, .unit = unit};
  for (const Subject& subject : std::span{subjects}.subspan(1)) {
    if (const std::vector<double>& of_peer = subject.*values; !of_peer.empty()) {
      row.peers.push_back({subject.name, median(of_peer), *std::ranges::min_element(of_peer)});
    }
  }
  report.add(std::move(row));
}

}  // namespace

void compare_balancers(Report& report, plait::Runtime& runtime, pic::Ranks& ranks, const BalancerCase& one) {
  std::vector<Subject> subjects = make_subjects(report, runtime, ranks, one);
  for (int block = -one.warm_blocks; block < one.blocks; ++block) {
    for (Subject& subject : subjects) {
      run_once(subject, ranks, one.block_steps, block >= 0);
    }
  }
  for (Subject& subject : subjects) {
    if (subject.way->totals().checksum != subjects.front().way->totals().checksum) {
      throw plait::Error{plait::ErrorCode::bad_input, subject.name + " has changed the result: a defect of plait"};
    }
  }
  const std::map<std::string, std::string> params{{"patches a rank", std::to_string(one.patches_per_rank)},
                                                  {"ranks", std::to_string(ranks.count())},
                                                  {"balancer", subjects.front().name}};
  add_row(report, subjects, params, "step, balanced", "s", &Subject::step);
  add_row(report, subjects, params, "imbalance of the measured loads", "%", &Subject::imbalance);
  add_row(report, subjects, params, "deciding, a balancing", "s", &Subject::deciding);
  add_row(report, subjects, params, "moved, a balancing", "kB", &Subject::moved);
}

}  // namespace bench
