// SPDX-License-Identifier: Apache-2.0
#include "plait/data/work.hpp"

namespace plait::data {

Work::~Work() {
  const bool has_ended = engine_->is_quiet();
  engine_->abandon();
  if (!has_ended) {
    endpoint_.keep(std::move(engine_));  // the endpoint may still know its buffers
  }
}

}  // namespace plait::data
