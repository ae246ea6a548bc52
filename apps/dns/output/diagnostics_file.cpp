// SPDX-License-Identifier: Apache-2.0
#include "dns/output/diagnostics_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/reader.hpp"
#include "plait/files/hdf5/write_file.hpp"

namespace dns {
namespace {

constexpr std::uint64_t first_capacity = 64;

/// Calls `visit(path, width, values)` for each column, in their order in the file: the time first, then the step.
template <class Visit>
void visit_columns(const DiagnosticsFile::Header& header,
                   const Diagnostics& row,
                   const RunNotes& notes,
                   const Visit& visit) {
  const auto number = [&](const std::string& path, double value) {
    visit(path, 1, std::span<const double>{&value, 1});
  };
  number("time", row.time);
  number("step", static_cast<double>(row.step));
  number("time_step", notes.time_step);
  number("courant", notes.courant);
  number("seconds", notes.seconds);
  number("energy", row.energy);
  number("enstrophy", row.enstrophy);
  number("dissipation", row.dissipation);
  number("helicity", row.helicity);
  number("divergence", row.divergence);
  number("taylor_scale", row.taylor_scale);
  number("taylor_reynolds", row.taylor_reynolds);
  number("kolmogorov_scale", row.kolmogorov_scale);
  number("k_max_eta", row.k_max_eta);
  number("integral_scale", row.integral_scale);
  number("turnover_time", row.turnover_time);
  number("forcing_power", row.forcing_power);
  number("skewness", row.skewness);
  number("u_max", row.u_max);
  visit("spectrum", header.shells, std::span{row.spectrum});
  visit("transfer", header.shells, std::span{row.transfer});
  for (std::size_t i = 0; i < header.scalars.size(); ++i) {
    const std::string group = fmt::format("scalars/{}/", header.scalars[i].name);
    const ScalarDiagnostics scalar = i < row.scalars.size() ? row.scalars[i] : ScalarDiagnostics{};
    number(group + "mean", scalar.mean);
    number(group + "variance", scalar.variance);
    number(group + "dissipation", scalar.dissipation);
    number(group + "production", scalar.production);
    visit(group + "spectrum", header.shells, std::span{scalar.spectrum});
  }
}

std::vector<hsize_t> extents_of(std::size_t width, std::uint64_t rows) {
  return width == 1 ? std::vector<hsize_t>{rows} : std::vector<hsize_t>{rows, width};
}

}  // namespace

DiagnosticsFile::DiagnosticsFile(std::filesystem::path file, Header header)
    : file_{std::move(file)}, header_{std::move(header)} {
  visit_columns(header_, {}, {}, [this](const std::string& path, std::size_t width, std::span<const double>) {
    columns_.push_back({path, width, 0, std::vector<double>(width)});
  });
}

void DiagnosticsFile::take_over(std::uint64_t step) {
  const plait::files::Hdf5Silence silence;
  std::uint64_t rows = 0;
  try {
    const plait::files::Hdf5Reader file{file_};
    const std::vector<double> steps = read(file, columns_[1], file.facts("step").count);
    const std::vector<double> times = read(file, columns_[0], steps.size());
    while (rows < steps.size() && !std::isnan(times[rows]) && steps[rows] < static_cast<double>(step)) {
      ++rows;
    }
    for (const Column& column : columns_) {
      (void)read(file, column, rows);  // throws unless it is there and of this shape
    }
  } catch (const plait::Error&) {
    return;
  }
  make(std::max(first_capacity, 2 * rows), rows);
}

std::vector<double> DiagnosticsFile::read(const plait::files::Hdf5Reader& file,
                                          const Column& column,
                                          std::uint64_t rows) {
  const std::vector<hsize_t> extents = file.facts(column.path).extents;
  if (extents.size() != extents_of(column.width, 0).size() || extents[0] < rows ||
      (extents.size() == 2 && extents[1] != column.width)) {
    file.fail(fmt::format("has no {} of this run", column.path));
  }
  std::vector<double> values(rows * column.width);
  file.read(column.path,
            std::vector<hsize_t>(extents.size()),
            extents_of(column.width, rows),
            H5T_NATIVE_DOUBLE,
            values.data());
  return values;
}

void DiagnosticsFile::make(std::uint64_t capacity, std::uint64_t rows) {
  const plait::files::Hdf5Silence silence;
  descriptor_.reset();
  std::optional<plait::files::Hdf5Reader> old;
  if (rows > 0) {
    old.emplace(file_);
  }
  (void)plait::files::write_hdf5(file_, [&](plait::files::Hdf5Writer& out) {
    const plait::files::Hdf5Handle root = out.open("/");
    out.attribute(root, "program", "plait-dns");
    out.attribute(root, "format", std::uint32_t{1});
    out.attribute(root, "contents", "diagnostics");
    out.attribute(root, "viscosity", header_.viscosity);
    out.attribute(root, "k_max", header_.k_max);
    out.attribute(root, "points", std::span<const std::uint64_t>{header_.points});
    const double unset = std::numeric_limits<double>::quiet_NaN();
    for (Column& column : columns_) {
      column.offset = out.reserve(column.path, extents_of(column.width, capacity), H5T_NATIVE_DOUBLE, &unset);
      if (old) {
        const std::vector<double> values = read(*old, column, rows);
        const std::vector<hsize_t> extents = extents_of(column.width, rows);
        out.write(out.open(column.path),
                  {{}, std::vector<hsize_t>(extents.size()), extents},
                  std::span<const double>{values});
      }
    }
    for (const ScalarPhysics& scalar : header_.scalars) {
      out.attribute(out.open("scalars/" + scalar.name), "schmidt", scalar.schmidt);
    }
  }).value();
  capacity_ = capacity;
  rows_ = rows;
  descriptor_.emplace(file_, plait::files::SystemFile::Mode::write);
}

void DiagnosticsFile::append(const Diagnostics& row, const RunNotes& notes) {
  auto column = columns_.begin();
  visit_columns(header_, row, notes, [&](const std::string&, std::size_t width, std::span<const double> values) {
    column->row.assign(values.begin(), values.end());
    column->row.resize(width);
    ++column;
  });
  if (rows_ == capacity_) {
    make(std::max(first_capacity, 2 * capacity_), rows_);
  }
  for (const Column& next : columns_ | std::views::reverse) {  // the time last: it marks the row as complete
    descriptor_->write(next.offset + rows_ * next.width * sizeof(double), std::as_bytes(std::span{next.row}));
  }
  ++rows_;
}

void DiagnosticsFile::finish() {
  if (rows_ > 0 && rows_ < capacity_) {
    make(rows_, rows_);
  }
  descriptor_.reset();
}

}  // namespace dns
