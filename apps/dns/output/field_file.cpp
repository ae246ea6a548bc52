// SPDX-License-Identifier: Apache-2.0
#include "dns/output/field_file.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "plait/files/hdf5/mpi/mpi_ranks.hpp"

namespace dns {
namespace {

using plait::fft::Index;
using Layout = plait::fft::ArrayLayout;

/// The values with axis 0 fastest: that of (i0, i1, i2) of the layout's box is at (i2 * extent 1 + i1) * extent 0 + i0.
template <class T>
std::vector<T> with_x_fastest(const Layout& layout, std::span<const double> values) {
  constexpr Index tile = 16;  // of lines that are read and written at once: both stay in cache
  const std::array<Index, 3> extent{layout.box.extent(0), layout.box.extent(1), layout.box.extent(2)};
  std::vector<T> turned(static_cast<std::size_t>(layout.size()));
  for (Index i1 = 0; i1 < extent[1]; ++i1) {
    for (Index first0 = 0; first0 < extent[0]; first0 += tile) {
      for (Index first2 = 0; first2 < extent[2]; first2 += tile) {
        for (Index i2 = first2; i2 < std::min(first2 + tile, extent[2]); ++i2) {
          T* const to = turned.data() + (i2 * extent[1] + i1) * extent[0];
          const double* const from = values.data() + i1 * layout.stride[1] + i2 * layout.stride[2];
          for (Index i0 = first0; i0 < std::min(first0 + tile, extent[0]); ++i0) {
            to[i0] = static_cast<T>(from[i0 * layout.stride[0]]);
          }
        }
      }
    }
  }
  return turned;
}

void write_contents(plait::files::Hdf5Writer& out, const FieldStep& step, Precision precision) {
  const Layout& layout = step.layout;
  const plait::files::Hdf5Handle root = out.open("/");
  out.attribute(root, "program", "plait-dns");
  out.attribute(root, "format", std::uint32_t{1});
  out.attribute(root, "step", step.step);
  out.attribute(root, "time", step.time);
  out.attribute(root, "viscosity", step.viscosity);
  out.attribute(root, "axes", "zyx");
  std::array<std::uint64_t, 3> points{};
  plait::files::Hyperslab slab;
  for (int axis = 2; axis >= 0; --axis) {
    points[static_cast<std::size_t>(axis)] = static_cast<std::uint64_t>(layout.lengths[static_cast<std::size_t>(axis)]);
    slab.whole.push_back(points[static_cast<std::size_t>(axis)]);
    slab.first.push_back(static_cast<hsize_t>(layout.box.low[static_cast<std::size_t>(axis)]));
    slab.count.push_back(static_cast<hsize_t>(layout.box.extent(axis)));
  }
  out.attribute(root, "points", std::span<const std::uint64_t>{points});
  for (const PointValues& field : step.fields) {
    if (precision == Precision::single) {
      (void)out.dataset(field.name, slab, std::span<const float>{with_x_fastest<float>(layout, field.values)});
    } else {
      (void)out.dataset(field.name, slab, std::span<const double>{with_x_fastest<double>(layout, field.values)});
    }
  }
}

}  // namespace

std::filesystem::path field_file(const std::filesystem::path& folder, std::uint64_t step) {
  return folder / fmt::format("dns-{:08}.h5", step);
}

plait::Result<std::uint64_t> write_fields(const std::filesystem::path& file,
                                          const FieldStep& step,
                                          Precision precision,
                                          MPI_Comm communicator) {
  plait::files::MpiRanks ranks{communicator};
  return plait::files::write_hdf5(
      file, ranks, [&](plait::files::Hdf5Writer& out) { write_contents(out, step, precision); });
}

}  // namespace dns
