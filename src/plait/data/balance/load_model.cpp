// SPDX-License-Identifier: Apache-2.0
#include "plait/data/balance/load_model.hpp"

#include <algorithm>
#include <utility>

#include "plait/base/error.hpp"

namespace plait::data {
namespace {

double median_of(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/// The value at n of the least-squares line through the points at 0, 1, ... n - 1.
double trend_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double middle = (count - 1) / 2;
  double mean = 0;
  double slope = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    mean += values[i] / count;
    slope += (static_cast<double>(i) - middle) * values[i];
  }
  slope /= count * (count * count - 1) / 12;  // The sum of squared distances from the middle.
  return std::max(0.0, mean + slope * (count - middle));
}

}  // namespace

double forecast_of(std::span<const double> values, Forecast forecast) {
  if (values.empty()) {
    return 0;
  }
  if (values.size() == 1 || forecast == Forecast::last) {
    return values.back();
  }
  return forecast == Forecast::median ? median_of(values) : trend_of(values);
}

LoadModel::LoadModel(const LoadModelOptions& options) : options_{options} {
  if (options.window == 0) {
    throw Error{ErrorCode::bad_argument, "the window of a load model must have one phase or more"};
  }
}

void LoadModel::observe(std::span<const Load> loads, double background) {
  ++observations_;
  for (const Load& load : loads) {
    History& history = histories_[load.id];
    push(history.values, load.seconds);
    history.seen = observations_;
  }
  if (histories_.size() > loads.size()) {
    std::erase_if(histories_, [&](const auto& entry) { return entry.second.seen != observations_; });
  }
  push(background_, background);
}

double LoadModel::load(ElementId id) const {
  const auto found = histories_.find(id);
  return found == histories_.end() ? 0 : forecast_of(found->second.values, options_.forecast);
}

double LoadModel::background() const {
  return forecast_of(background_, options_.forecast);
}

std::vector<double> LoadModel::take(ElementId id) {
  const auto found = histories_.find(id);
  if (found == histories_.end()) {
    return {};
  }
  std::vector<double> values = std::move(found->second.values);
  histories_.erase(found);
  return values;
}

void LoadModel::give(ElementId id, std::span<const double> values) {
  History& history = histories_[id];
  history.seen = observations_;
  for (const double value : values) {
    push(history.values, value);
  }
}

void LoadModel::push(std::vector<double>& values, double value) const {
  values.push_back(value);
  if (values.size() > options_.window) {
    values.erase(values.begin());
  }
}

}  // namespace plait::data
