# SPDX-License-Identifier: Apache-2.0
"""A region, and messages, in the trace of a runtime."""

import numpy as np

import plait

with plait.Runtime() as rt, plait.region("exchange"):
    rt.all_to_all(np.zeros(1000 * rt.size)).wait()
print("ok")
