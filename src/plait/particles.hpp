// SPDX-License-Identifier: Apache-2.0
#pragma once

// The public headers of plait::particles, for programs: no other header of plait includes this one. Snapshots, which
// need HDF5, are in plait/particles/hdf5/.

#include "plait/particles/domains/decompose.hpp"
#include "plait/particles/domains/domain.hpp"
#include "plait/particles/domains/exchange.hpp"
#include "plait/particles/interaction.hpp"
#include "plait/particles/neighbours/block.hpp"
#include "plait/particles/neighbours/cells.hpp"
#include "plait/particles/neighbours/contact.hpp"
#include "plait/particles/neighbours/halo.hpp"
#include "plait/particles/neighbours/short_range.hpp"
#include "plait/particles/steps/cell_steps.hpp"
#include "plait/particles/steps/conserved.hpp"
#include "plait/particles/steps/leapfrog.hpp"
#include "plait/particles/steps/step_record.hpp"
#include "plait/particles/steps/system.hpp"
#include "plait/particles/store/box.hpp"
#include "plait/particles/store/checks.hpp"
#include "plait/particles/store/kinds.hpp"
#include "plait/particles/store/particles.hpp"
#include "plait/particles/store/sort.hpp"
#include "plait/particles/store/space.hpp"
#include "plait/particles/store/text_file.hpp"
#include "plait/particles/store/vector.hpp"
#include "plait/particles/times.hpp"
#include "plait/particles/trees/force_error.hpp"
#include "plait/particles/trees/long_range.hpp"
#include "plait/particles/trees/tree.hpp"
#include "plait/particles/trees/tuning.hpp"
#include "plait/particles/trees/walk.hpp"
