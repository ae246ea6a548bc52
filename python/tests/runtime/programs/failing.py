# SPDX-License-Identifier: Apache-2.0
"""One rank fails; the others, which wait in several ways, get its sentence and do not hang."""

import asyncio
import sys

import numpy as np

import plait

try:
    with plait.Runtime() as rt:
        rt.all_gather(np.zeros(1)).wait()
        if rt.rank == rt.size - 1:
            raise KeyError("a mistake")
        received = rt.receive(1, rt.size - 1, 1)
        if sys.argv[1] == "await":

            async def wait() -> None:
                await received

            asyncio.run(wait())
        elif sys.argv[1] == "fft":
            plan = plait.fft.Plan(rt, (8, 8, 8))
            plan.forward(plan.empty())
        else:
            received.wait()
    raise AssertionError("it went on")
except KeyError:
    print("own")
except plait.EngineError as error:
    assert "has ended with KeyError: 'a mistake'" in str(error), error
    print("peer:", error.code)
