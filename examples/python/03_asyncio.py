# SPDX-License-Identifier: Apache-2.0
# ranks: 2
"""A client and a server: futures are awaited beside whatever else asyncio runs."""

import asyncio

import numpy as np

import plait

REQUESTS, ANSWERS = 1, 2


async def serve(rt: plait.Runtime, count: int) -> None:
    for _ in range(count):
        question = rt.receive(1, tag=REQUESTS)
        (number,) = await question
        source = question.status.source
        await rt.send(np.array([number**2]), source, ANSWERS)


async def ask(rt: plait.Runtime, number: float) -> float:
    sent = rt.send(np.array([number]), 0, REQUESTS)
    answer = await rt.receive(1, 0, ANSWERS)
    await sent
    return float(answer[0])


async def main(rt: plait.Runtime) -> None:
    if rt.rank == 0:
        await serve(rt, count=3)
    else:
        print("squares:", await asyncio.gather(*(ask(rt, number) for number in (2.0, 3.0, 4.0))))


with plait.Runtime() as rt:
    asyncio.run(main(rt))
