// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/plait.hpp"

#include "pic/problem.hpp"
#include "pic/ranks.hpp"
#include "support/report.hpp"

namespace bench {

/// What balancers are compared on.
struct BalancerCase {
  pic::ProblemOptions problem;
  int patches_per_rank = 16;
  int block_steps = 20;  ///< Between two balancings.
  int warm_blocks = 4;   ///< Not counted.
  int blocks = 7;
};

/// Runs a problem on one collection for each balancer, ours and Zoltan's, which alternate block by block. Adds rows of
/// `own` beside the others: the time of a step, the imbalance of the measured loads, and what moved and how long it
/// took to decide at each balancing. Without Zoltan in this build, a note has the reason. Collective. Throws: `Error`
/// when a balancer changes the result.
void compare_balancers(Report& report, plait::Runtime& runtime, pic::Ranks& ranks, const BalancerCase& one);

}  // namespace bench
