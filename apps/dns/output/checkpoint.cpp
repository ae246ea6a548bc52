// SPDX-License-Identifier: Apache-2.0
#include "dns/output/checkpoint.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace dns {

namespace data = plait::data;

/// The modes of all variables with one pair of wave numbers along axes 1 and 2, by variable: real and imaginary parts.
struct ModeLine {
  std::vector<double> parts;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(parts);
  }
};

namespace {

constexpr const char* lines_name = "lines";

template <class FieldsLike>
auto variables(FieldsLike& fields) {
  std::vector<decltype(&fields.u.front())> all;
  for (auto* const arrays : {&fields.u, &fields.scalars}) {
    for (auto& one : *arrays) {
      all.push_back(&one);
    }
  }
  return all;
}

std::uint64_t lines_along_2(const Layout& spectral) {
  return static_cast<std::uint64_t>(spectral.lengths[2]);
}

[[noreturn]] void throw_broken(const std::string& what) {
  throw plait::Error{plait::ErrorCode::bad_input,
                     fmt::format("the checkpoint cannot be used, as {}: restart from an older one", what)};
}

}  // namespace

data::Checkpoint to_checkpoint(const Fields& fields,
                               const Layout& spectral,
                               const RunState& state,
                               const app::Description& description) {
  data::Checkpoint checkpoint{.program = "plait-dns", .step = state.step, .values = {}, .collections = {}};
  for (const auto& [key, text] : description) {
    checkpoint.values[key] = text;
  }
  checkpoint.values["time"] = state.time;
  checkpoint.values["courant rate"] = state.courant_rate;
  const auto forcing = std::as_bytes(std::span{state.forcing});
  checkpoint.values["forcing state"] = plait::Bytes{forcing.begin(), forcing.end()};
  data::PackedElements packed;
  packed.collection = lines_name;
  packed.type = plait::type_name<ModeLine>();
  const auto all = variables(fields);
  const plait::fft::IndexBox& box = spectral.box;
  ModeLine line;
  line.parts.resize(2 * all.size() * static_cast<std::size_t>(box.extent(0)));
  for (Index i1 = box.low[1]; i1 < box.high[1]; ++i1) {
    for (Index i2 = box.low[2]; i2 < box.high[2]; ++i2) {
      std::size_t next = 0;
      for (const auto* const variable : all) {
        for (Index i0 = box.low[0]; i0 < box.high[0]; ++i0) {
          const std::complex<double> mode = (*variable)[static_cast<std::size_t>(spectral.offset(i0, i1, i2))];
          line.parts[next++] = mode.real();
          line.parts[next++] = mode.imag();
        }
      }
      if (std::any_of(line.parts.begin(), line.parts.end(), [](double part) { return part != 0; })) {
        const std::uint64_t id =
            static_cast<std::uint64_t>(i1) * lines_along_2(spectral) + static_cast<std::uint64_t>(i2);
        packed.add(data::ElementId{id}, data::pack(line));
      }
    }
  }
  checkpoint.collections.push_back(std::move(packed));
  return checkpoint;
}

data::ReadCheckpointOptions lines_to_owners(const std::array<Index, 3>& spectral_lengths,
                                            plait::fft::TransformGrid grid) {
  const auto along_2 = static_cast<std::uint64_t>(spectral_lengths[2]);
  return {.placement = [along_2, owners = LineOwners{spectral_lengths, grid}](data::ElementId id) {
    return plait::Rank{owners.of(id.value() / along_2, id.value() % along_2)};  // it refuses an invalid line
  }};
}

RunState from_checkpoint(const data::Checkpoint& checkpoint, const Layout& spectral, Fields& fields) {
  RunState state{.time = checkpoint.value<double>("time"),
                 .step = checkpoint.step,
                 .courant_rate = checkpoint.value<double>("courant rate"),
                 .forcing = {}};
  const auto& forcing = checkpoint.value<plait::Bytes>("forcing state");
  state.forcing.resize(forcing.size() / sizeof(double));
  std::copy_n(
      forcing.begin(), state.forcing.size() * sizeof(double), std::as_writable_bytes(std::span{state.forcing}).begin());
  const auto all = variables(fields);
  for (auto* const variable : all) {
    std::fill(variable->begin(), variable->end(), std::complex<double>{});
  }
  const plait::fft::IndexBox& box = spectral.box;
  const data::PackedElements& packed = checkpoint.elements(lines_name, plait::type_name<ModeLine>(), data::Shape{});
  for (std::size_t place = 0; place < packed.count(); ++place) {
    const auto i1 = static_cast<Index>(packed.ids[place].value() / lines_along_2(spectral));
    const auto i2 = static_cast<Index>(packed.ids[place].value() % lines_along_2(spectral));
    const auto line = data::unpack_as<ModeLine>(packed.element(place));
    if (i1 < box.low[1] || i1 >= box.high[1] || i2 < box.low[2] || i2 >= box.high[2]) {
      throw_broken(fmt::format("the modes ({}, {}) came to a rank that does not have them", i1, i2));
    }
    if (line.parts.size() != 2 * all.size() * static_cast<std::size_t>(box.extent(0))) {
      throw_broken("it has other fields");
    }
    std::size_t next = 0;
    for (auto* const variable : all) {
      for (Index i0 = box.low[0]; i0 < box.high[0]; ++i0, next += 2) {
        (*variable)[static_cast<std::size_t>(spectral.offset(i0, i1, i2))] = {line.parts[next], line.parts[next + 1]};
      }
    }
  }
  return state;
}

}  // namespace dns
