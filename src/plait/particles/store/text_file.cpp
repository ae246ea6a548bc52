// SPDX-License-Identifier: Apache-2.0
#include "plait/particles/store/text_file.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "plait/files/partial_file.hpp"
#include "plait/particles/store/checks.hpp"

namespace plait::particles {
namespace {

/// Reads numbers from a text and counts lines.
class Numbers {
 public:
  Numbers(std::string name, std::string text) : name_{std::move(name)}, text_{std::move(text)} {}

  template <class T>
  T next(std::string_view what) {
    skip_space();
    T value{};
    const char* const end = text_.data() + text_.size();
    const auto [after, error] = std::from_chars(text_.data() + at_, end, value);
    if (error == std::errc::result_out_of_range) {
      fail(fmt::format("{} is out of range", what));
    }
    if (error != std::errc{}) {
      fail(at_ == text_.size() ? fmt::format("the file ends where {} should be", what)
                               : fmt::format("{} is not a number", what));
    }
    at_ = static_cast<std::size_t>(after - text_.data());
    if (at_ < text_.size() && !is_space(text_[at_])) {
      fail(fmt::format("{} is not a number", what));
    }
    return value;
  }

  void expect_end() {
    skip_space();
    if (at_ != text_.size()) {
      fail("the file has more particles than its second line states");
    }
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error{ErrorCode::bad_input, fmt::format("{}:{}: {}", name_, line_, what)};
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) {
      line_ += text_[at_] == '\n' ? 1 : 0;
      ++at_;
    }
  }

  std::string name_;
  std::string text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

struct Row {
  std::uint64_t id = 0;
  double mass = 0;
  Vector position;
  Vector velocity;
};

Row next_row(Numbers& in) {
  Row row;
  row.id = in.next<std::uint64_t>("an id");
  row.mass = in.next<double>("a mass");
  for (double* component : {&row.position.x, &row.position.y, &row.position.z}) {
    *component = in.next<double>("a position");
  }
  for (double* component : {&row.velocity.x, &row.velocity.y, &row.velocity.z}) {
    *component = in.next<double>("a velocity");
  }
  const Vector& p = row.position;
  const Vector& v = row.velocity;
  if (!std::isfinite(p.x + p.y + p.z + v.x + v.y + v.z)) {
    in.fail(fmt::format("the position or velocity of particle {} is not finite", row.id));
  }
  if (!(row.mass > 0) || !std::isfinite(row.mass)) {
    in.fail(fmt::format("particle {} has mass {}; masses must be positive", row.id, row.mass));
  }
  return row;
}

/// All rows; the time goes to `time`.
std::vector<Row> read_rows(const std::filesystem::path& file, double& time) {
  std::ifstream stream{file, std::ios::binary};
  if (!stream) {
    throw Error{ErrorCode::io, fmt::format("{}: cannot be opened; is the name right?", file.string())};
  }
  Numbers in{file.string(), std::string{std::istreambuf_iterator<char>{stream}, {}}};
  time = in.next<double>("the time");
  const auto n = in.next<std::uint64_t>("the number of particles");
  if (n > std::numeric_limits<std::uint32_t>::max()) {
    in.fail(fmt::format("{} particles exceed the limit of a text file", n));
  }
  std::vector<Row> rows;
  std::vector<std::uint64_t> ids;
  for (std::uint64_t i = 0; i < n; ++i) {
    rows.push_back(next_row(in));
    ids.push_back(rows.back().id);
  }
  in.expect_end();
  refuse_equal_ids(ids, file.string());
  return rows;
}

}  // namespace

bool is_text(const std::filesystem::path& file) {
  return file.extension() == ".txt";
}

Result<double> read_text(const std::filesystem::path& file,
                         const TextColumns& columns,
                         Particles& particles,
                         std::uint32_t rank,
                         std::uint32_t ranks) {
  try {
    double time = 0;
    const std::vector<Row> rows = read_rows(file, time);
    const std::size_t first = rows.size() * rank / ranks;
    const std::size_t last = rows.size() * (rank + 1) / ranks;
    std::size_t at = particles.add(last - first);
    for (std::size_t i = first; i < last; ++i, ++at) {
      particles.ids()[at] = rows[i].id;
      particles.positions()[at] = rows[i].position;
      particles[columns.mass][at] = rows[i].mass;
      particles[columns.velocity][at] = rows[i].velocity;
    }
    return time;
  } catch (const Error& error) {
    return error;
  }
}

Result<std::uint64_t> write_text(const std::filesystem::path& file,
                                 double time,
                                 const TextColumns& columns,
                                 const Particles& particles) {
  std::string text = fmt::format("{}\n{}\n", time, particles.size());
  for (std::size_t i = 0; i < particles.size(); ++i) {
    const Vector& p = particles.positions()[i];
    const Vector& v = particles[columns.velocity][i];
    const double mass = particles[columns.mass][i];
    fmt::format_to(
        std::back_inserter(text), "{} {} {} {} {} {} {} {}\n", particles.ids()[i], mass, p.x, p.y, p.z, v.x, v.y, v.z);
  }
  try {
    files::PartialFile partial{file};
    if (std::ofstream stream{partial.path(), std::ios::binary}; !(stream << text << std::flush)) {
      return Error{ErrorCode::io,
                   fmt::format("{}: cannot be written; does its folder exist, and is it writable?", file.string())};
    }
    return partial.complete();
  } catch (const Error& error) {
    return error;
  }
}

}  // namespace plait::particles
