// SPDX-License-Identifier: Apache-2.0
#include "dns/output/diagnostics_file.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/base/error.hpp"
#include "plait/files/hdf5/reader.hpp"
#include "plait/files/hdf5/write_file.hpp"

namespace dns {
namespace {

using plait::Error;

constexpr std::uint64_t first_capacity = 64;

/// The columns of what is measured, but for time and step.
constexpr std::pair<const char*, double Diagnostics::*> numbers[] = {
    {"energy", &Diagnostics::energy},
    {"enstrophy", &Diagnostics::enstrophy},
    {"dissipation", &Diagnostics::dissipation},
    {"helicity", &Diagnostics::helicity},
    {"divergence", &Diagnostics::divergence},
    {"taylor_scale", &Diagnostics::taylor_scale},
    {"taylor_reynolds", &Diagnostics::taylor_reynolds},
    {"kolmogorov_scale", &Diagnostics::kolmogorov_scale},
    {"k_max_eta", &Diagnostics::k_max_eta},
    {"integral_scale", &Diagnostics::integral_scale},
    {"turnover_time", &Diagnostics::turnover_time},
    {"forcing_power", &Diagnostics::forcing_power},
    {"skewness", &Diagnostics::skewness},
    {"u_max", &Diagnostics::u_max},
};

std::vector<hsize_t> extents_of(std::size_t width, std::uint64_t rows) {
  return width == 1 ? std::vector<hsize_t>{rows} : std::vector<hsize_t>{rows, width};
}

}  // namespace

DiagnosticsFile::DiagnosticsFile(std::filesystem::path file, Header header)
    : file_{std::move(file)}, header_{std::move(header)} {
  for (const char* const name : {"time", "step", "time_step", "courant", "seconds"}) {
    columns_.push_back({name, 1, 0, {}});
  }
  for (const auto& [name, value] : numbers) {
    columns_.push_back({name, 1, 0, {}});
  }
  columns_.push_back({"spectrum", header_.shells, 0, {}});
  columns_.push_back({"transfer", header_.shells, 0, {}});
  for (const std::string& scalar : header_.scalars) {
    for (const char* const name : {"mean", "variance", "dissipation", "production"}) {
      columns_.push_back({fmt::format("scalars/{}/{}", scalar, name), 1, 0, {}});
    }
    columns_.push_back({fmt::format("scalars/{}/spectrum", scalar), header_.shells, 0, {}});
  }
  for (Column& column : columns_) {
    column.row.assign(column.width, std::numeric_limits<double>::quiet_NaN());
  }
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
      (void)read(file, column, rows);  // all there, and of this shape
    }
  } catch (const Error&) {
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
    for (std::size_t i = 0; i < header_.scalars.size(); ++i) {
      out.attribute(out.open("scalars/" + header_.scalars[i]), "schmidt", header_.schmidt[i]);
    }
  }).value();
  capacity_ = capacity;
  rows_ = rows;
  is_made_ = true;
  descriptor_.emplace(file_, plait::files::SystemFile::Mode::write);
}

void DiagnosticsFile::put(const std::string& path, const std::vector<double>& values) {
  const auto column =
      std::find_if(columns_.begin(), columns_.end(), [&](const Column& one) { return one.path == path; });
  plait::expect(column != columns_.end(), "every number that is noted has a data set");
  std::fill(column->row.begin(), column->row.end(), values.size() < column->width ? 0.0 : column->row.front());
  std::copy_n(values.begin(), std::min(values.size(), column->width), column->row.begin());
}

void DiagnosticsFile::append(const Diagnostics& row, const RunNotes& notes) {
  put("time", row.time);
  put("step", static_cast<double>(row.step));
  put("time_step", notes.time_step);
  put("courant", notes.courant);
  put("seconds", notes.seconds);
  for (const auto& [name, value] : numbers) {
    put(name, row.*value);
  }
  put("spectrum", row.spectrum);
  put("transfer", row.transfer);
  for (std::size_t i = 0; i < header_.scalars.size(); ++i) {
    const std::string group = fmt::format("scalars/{}/", header_.scalars[i]);
    const ScalarDiagnostics& scalar = row.scalars.at(i);
    put(group + "mean", scalar.mean);
    put(group + "variance", scalar.variance);
    put(group + "dissipation", scalar.dissipation);
    put(group + "production", scalar.production);
    put(group + "spectrum", scalar.spectrum);
  }
  if (!is_made_ || rows_ == capacity_) {
    make(is_made_ ? 2 * capacity_ : first_capacity, rows_);
  }
  for (std::size_t i = columns_.size(); i-- > 0;) {
    const Column& column = columns_[i];  // the time last: it marks the row as complete
    descriptor_->write(column.offset + rows_ * column.width * sizeof(double), std::as_bytes(std::span{column.row}));
  }
  ++rows_;
}

void DiagnosticsFile::finish() {
  if (is_made_ && rows_ > 0 && rows_ < capacity_) {
    make(rows_, rows_);
  }
  descriptor_.reset();
}

}  // namespace dns
