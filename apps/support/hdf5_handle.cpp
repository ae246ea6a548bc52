// SPDX-License-Identifier: Apache-2.0
#include "support/hdf5_handle.hpp"

namespace app {

namespace {

herr_t keep_innermost(unsigned, const H5E_error2_t* error, void* text) {
  *static_cast<std::string*>(text) = error->desc != nullptr ? error->desc : "";
  return 1;  // stop: the walk begins where the trouble was
}

}  // namespace

std::string hdf5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

}  // namespace app
