// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plait/base/error.hpp"

#include "pic/program/settings.hpp"

namespace pic {

/// Trouble that every rank has met alike, before any of them waited for another.
class SettingsError : public plait::Error {
 public:
  explicit SettingsError(const plait::Error& error) : plait::Error{error} {}
};

/// Runs a problem on all ranks of MPI_COMM_WORLD; rank 0 prints. Returns the program's exit code: 1 when a particle of
/// the analytic problem is not where it belongs. Collective.
/// Throws: `SettingsError` alike on all ranks; other trouble on the rank that met it.
[[nodiscard]] int run(const RunSettings& settings);

}  // namespace pic
