// SPDX-License-Identifier: Apache-2.0
#include "cosmology/program/power_file.hpp"

#include <span>

#include <fmt/format.h>

#include "plait/files/partial_file.hpp"
#include "plait/files/system_file.hpp"

namespace cosmology {

void PowerFile::add(const RunState& state, const plait::particles::PowerSpectrum& spectrum) {
  const double growth = state.universe.expansion().growth(state.scale_factor);
  if (first_.empty()) {
    first_ = spectrum.power;
    first_growth_ = growth;
  }
  const double grown = growth * growth / (first_growth_ * first_growth_);
  for (std::size_t i = 0; i < spectrum.power.size(); ++i) {
    rows_ += fmt::format("{} {:.8g} {:.6g} {:.6g} {:.6g} {}\n",
                         state.step,
                         state.scale_factor,
                         spectrum.wave_number[i],
                         spectrum.power[i],
                         first_[i] * grown,
                         spectrum.waves[i]);
  }
  const std::string head = fmt::format(
      "# power spectra of plait-cosmology; shot noise {:.6g} Mpc^3 is not taken off\n"
      "# step  scale_factor  k[1/Mpc]  power[Mpc^3]  linear[Mpc^3]  waves\n",
      spectrum.shot_noise);
  const std::string text = head + rows_;
  plait::files::PartialFile partial{path_};
  plait::files::SystemFile{partial.path(), plait::files::SystemFile::Mode::create}.write(
      0, std::as_bytes(std::span{text}));
  partial.complete();
}

}  // namespace cosmology
