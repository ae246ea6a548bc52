// SPDX-License-Identifier: Apache-2.0
#include "dns/output/diagnostics_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "plait/base/error.hpp"

#include "support/hdf5_writer.hpp"

namespace dns {
namespace {

using plait::Error;
using plait::ErrorCode;
using plait::Hdf5Handle;

constexpr std::uint64_t first_capacity = 64;

/// Data sets are made by `Hdf5Writer` with no choice of where; here they must have their place at once.
std::uint64_t make_set(const Hdf5Handle& file, const std::string& path, const std::vector<hsize_t>& extent) {
  const double not_yet = std::numeric_limits<double>::quiet_NaN();
  const Hdf5Handle creation{H5Pcreate(H5P_DATASET_CREATE), H5Pclose};
  H5Pset_layout(creation.id(), H5D_CONTIGUOUS);
  H5Pset_alloc_time(creation.id(), H5D_ALLOC_TIME_EARLY);
  H5Pset_fill_value(creation.id(), H5T_NATIVE_DOUBLE, &not_yet);
  H5Pset_fill_time(creation.id(), H5D_FILL_TIME_ALLOC);
  const Hdf5Handle links{H5Pcreate(H5P_LINK_CREATE), H5Pclose};
  H5Pset_create_intermediate_group(links.id(), 1);
  const Hdf5Handle space{H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr), H5Sclose};
  const Hdf5Handle set{
      H5Dcreate2(file.id(), path.c_str(), H5T_NATIVE_DOUBLE, space.id(), links.id(), creation.id(), H5P_DEFAULT),
      H5Dclose};
  if (!set) {
    throw Error{ErrorCode::io, fmt::format("cannot make {}: {}; is the disk full?", path, plait::hdf5_reason())};
  }
  return H5Dget_offset(set.id());
}

}  // namespace

DiagnosticsFile::DiagnosticsFile(std::filesystem::path file, Header header)
    : file_{std::move(file)}, header_{std::move(header)} {
  for (const char* const name : {"time",
                                 "step",
                                 "time_step",
                                 "courant",
                                 "seconds",
                                 "energy",
                                 "enstrophy",
                                 "dissipation",
                                 "helicity",
                                 "divergence",
                                 "taylor_scale",
                                 "taylor_reynolds",
                                 "kolmogorov_scale",
                                 "k_max_eta",
                                 "integral_scale",
                                 "turnover_time",
                                 "forcing_power",
                                 "skewness",
                                 "u_max"}) {
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

DiagnosticsFile::~DiagnosticsFile() {
  close();
}

void DiagnosticsFile::take_over(std::uint64_t step) {
  const plait::Hdf5Silence silence;
  std::uint64_t rows = 0;
  try {
    const Hdf5Handle file{H5Fopen(file_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
    const Hdf5Handle set{file ? H5Dopen2(file.id(), "step", H5P_DEFAULT) : -1, H5Dclose};
    const Hdf5Handle space{set ? H5Dget_space(set.id()) : -1, H5Sclose};
    if (!space) {
      return;
    }
    const std::vector<double> steps =
        read(columns_[1], static_cast<std::uint64_t>(H5Sget_simple_extent_npoints(space.id())));
    const std::vector<double> times = read(columns_[0], steps.size());
    while (rows < steps.size() && !std::isnan(times[rows]) && steps[rows] < static_cast<double>(step)) {
      ++rows;
    }
    for (const Column& column : columns_) {
      (void)read(column, rows);  // all there, and of this shape
    }
  } catch (const Error&) {
    return;
  }
  make(std::max(first_capacity, 2 * rows), rows);
}

std::vector<double> DiagnosticsFile::read(const Column& column, std::uint64_t rows) const {
  const Hdf5Handle file{H5Fopen(file_.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose};
  const Hdf5Handle set{file ? H5Dopen2(file.id(), column.path.c_str(), H5P_DEFAULT) : -1, H5Dclose};
  const Hdf5Handle space{set ? H5Dget_space(set.id()) : -1, H5Sclose};
  const int dimensions = column.width == 1 ? 1 : 2;
  std::array<hsize_t, 2> extent{0, 1};
  if (!space || H5Sget_simple_extent_ndims(space.id()) != dimensions ||
      H5Sget_simple_extent_dims(space.id(), extent.data(), nullptr) < 0 || extent[0] < rows ||
      extent[1] != column.width) {
    throw Error{ErrorCode::bad_input, fmt::format("{}: has no {} of this run", file_.string(), column.path)};
  }
  std::vector<double> values(rows * column.width);
  const std::array<hsize_t, 2> first{0, 0};
  const std::array<hsize_t, 2> count{rows, column.width};
  if (rows > 0) {
    const Hdf5Handle memory{H5Screate_simple(dimensions, count.data(), nullptr), H5Sclose};
    H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
    if (H5Dread(set.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, values.data()) < 0) {
      throw Error{ErrorCode::bad_input,
                  fmt::format("{}: cannot read {}: {}", file_.string(), column.path, plait::hdf5_reason())};
    }
  }
  return values;
}

void DiagnosticsFile::make(std::uint64_t capacity, std::uint64_t rows) {
  const plait::Hdf5Silence silence;
  const std::filesystem::path partial = file_.string() + ".partial";
  std::error_code trouble;
  try {
    close();
    Hdf5Handle file{H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose};
    if (!file) {
      throw Error{ErrorCode::io, fmt::format("cannot be created: {}", plait::hdf5_reason())};
    }
    const app::Hdf5Writer out{file.id(), partial.string(), H5P_DEFAULT};
    const Hdf5Handle root = out.open("/");
    out.attribute(root, "program", "plait-dns");
    out.attribute(root, "format", std::uint32_t{1});
    out.attribute(root, "contents", "diagnostics");
    out.attribute(root, "viscosity", header_.viscosity);
    out.attribute(root, "k_max", header_.k_max);
    out.attribute(root, "points", std::span<const std::uint64_t>{header_.points});
    for (Column& column : columns_) {
      const std::vector<double> old = rows > 0 ? read(column, rows) : std::vector<double>{};
      std::vector<hsize_t> extent{capacity};
      if (column.width != 1) {
        extent.push_back(column.width);
      }
      column.offset = make_set(file, column.path, extent);
      if (rows > 0) {
        const Hdf5Handle set{H5Dopen2(file.id(), column.path.c_str(), H5P_DEFAULT), H5Dclose};
        const Hdf5Handle space{H5Dget_space(set.id()), H5Sclose};
        const std::array<hsize_t, 2> first{0, 0};
        const std::array<hsize_t, 2> count{rows, column.width};
        const Hdf5Handle memory{H5Screate_simple(static_cast<int>(extent.size()), count.data(), nullptr), H5Sclose};
        H5Sselect_hyperslab(space.id(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr);
        if (H5Dwrite(set.id(), H5T_NATIVE_DOUBLE, memory.id(), space.id(), H5P_DEFAULT, old.data()) < 0) {
          throw Error{ErrorCode::io, fmt::format("cannot write {}: {}", column.path, plait::hdf5_reason())};
        }
      }
    }
    for (std::size_t i = 0; i < header_.scalars.size(); ++i) {
      out.attribute(out.open("scalars/" + header_.scalars[i]), "schmidt", header_.schmidt[i]);
    }
    if (!file.close()) {
      throw Error{ErrorCode::io, fmt::format("cannot be closed: {}; is the disk full?", plait::hdf5_reason())};
    }
    std::filesystem::rename(partial, file_);
  } catch (const std::exception& error) {
    std::filesystem::remove(partial, trouble);
    throw Error{ErrorCode::io, fmt::format("{}: {}", file_.string(), error.what())};
  }
  capacity_ = capacity;
  rows_ = rows;
  is_made_ = true;
  open();
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
  put("energy", row.energy);
  put("enstrophy", row.enstrophy);
  put("dissipation", row.dissipation);
  put("helicity", row.helicity);
  put("divergence", row.divergence);
  put("taylor_scale", row.taylor_scale);
  put("taylor_reynolds", row.taylor_reynolds);
  put("kolmogorov_scale", row.kolmogorov_scale);
  put("k_max_eta", row.k_max_eta);
  put("integral_scale", row.integral_scale);
  put("turnover_time", row.turnover_time);
  put("forcing_power", row.forcing_power);
  put("skewness", row.skewness);
  put("u_max", row.u_max);
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
    write_row(columns_[i], rows_);  // the time last: it says that the row is whole
  }
  ++rows_;
}

void DiagnosticsFile::finish() {
  if (is_made_ && rows_ > 0 && rows_ < capacity_) {
    make(rows_, rows_);
  }
  close();
}

void DiagnosticsFile::write_row(const Column& column, std::uint64_t row) const {
  const char* from = reinterpret_cast<const char*>(column.row.data());
  std::size_t left = column.width * sizeof(double);
  auto to = static_cast<off_t>(column.offset + row * left);
  while (left > 0) {
    const ssize_t written = pwrite(descriptor_, from, left, to);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      throw Error{ErrorCode::io, fmt::format("{}: cannot be written: {}", file_.string(), std::strerror(errno))};
    }
    from += written;
    to += written;
    left -= static_cast<std::size_t>(written);
  }
}

void DiagnosticsFile::open() {
  descriptor_ = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    throw Error{ErrorCode::io, fmt::format("{}: cannot be opened: {}", file_.string(), std::strerror(errno))};
  }
}

void DiagnosticsFile::close() noexcept {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    descriptor_ = -1;
  }
}

}  // namespace dns
