# SPDX-License-Identifier: Apache-2.0
"""A program that ends without closing its runtime, or with MPI finalised before it, ends all the
same.
"""

import sys

import numpy as np
from mpi4py import MPI

import plait

rt = plait.Runtime()
if sys.argv[1] == "exit":
    rt.receive(1, 0, 1)
    rt.send(np.zeros(1), (rt.rank + 1) % rt.size, 2)
elif sys.argv[1] == "interrupted":
    rt.all_gather(np.zeros(1)).wait()
    if rt.rank == 0:
        raise SystemExit("stopped") if rt.size == 1 else RuntimeError("uncaught")
    try:
        rt.receive(1, 0, 1).wait()
    except plait.EngineError as error:
        print(error)
else:
    rt.all_gather(np.zeros(1)).wait()
    MPI.Finalize()
print("end")
