// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "dns/program/settings.hpp"

namespace dns {

// Folders that are made, writable, and without files of another run. To be called on one rank.
// Throw: `plait::Error` with `bad_argument`.

/// As asked for; else the run's folder under `plait run`; else `dns-output`.
[[nodiscard]] std::filesystem::path choose_output(const RunSettings& settings);
void prepare_output(const RunSettings& settings);
void prepare_checkpoints(const RunSettings& settings);

}  // namespace dns
