// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/plait.hpp"

#include "ring/program/settings.hpp"

namespace ring {

// The commands of plait-ring. They throw `plait::Error`; what they print is for people.

/// Makes a ring and writes it; in the seed code's text format when the file's name ends in .txt.
void make_initial_condition(const InitSettings& settings);

/// Reads one format and writes the other.
void convert(const ConvertSettings& settings);

/// Integrates a ring on all ranks of the runtime, writing snapshots. Collective; trouble with input and output is
/// thrown alike on every rank.
void run_ring(plait::Runtime& runtime, const RunSettings& settings);

}  // namespace ring
