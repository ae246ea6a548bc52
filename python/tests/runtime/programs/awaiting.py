# SPDX-License-Identifier: Apache-2.0
"""Futures in asyncio: with and without threads in the background, in one event loop and in two."""

import asyncio
import threading

import numpy as np

import plait


async def exchange(rt: plait.Runtime, tag: int) -> None:
    after, before = (rt.rank + 1) % rt.size, (rt.rank - 1) % rt.size
    others = 0

    async def count() -> None:
        nonlocal others
        while True:
            others += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    for size in (1, 300_000):
        received = rt.receive(size, before, tag)
        await asyncio.sleep(0)
        sent = rt.send(np.full(size, float(rt.rank)), after, tag)
        got, nothing = await asyncio.gather(received, sent)
        assert nothing is None and (got == before).all()
        assert (await received) is got  # complete already
    counting.cancel()
    assert others > 0
    alone = rt.receive(1, rt.rank, tag)
    asyncio.get_running_loop().call_later(0.01, lambda: rt.send(np.ones(1), rt.rank, tag))
    assert (await asyncio.wait_for(alone, 60))[0] == 1
    gathered = await rt.all_gather(np.full(2, rt.rank))
    assert gathered[:, 0].tolist() == list(range(rt.size))


async def given_up(rt: plait.Runtime) -> None:
    received = rt.receive(1, rt.rank, 99)
    try:
        await asyncio.wait_for(received, 0.02)
        raise AssertionError("it ended")
    except TimeoutError:
        pass
    rt.send(np.full(1, 3.0), rt.rank, 99)
    assert (await received)[0] == 3  # the message had not been given up


for progress in (True, False):
    with plait.Runtime(progress=progress) as rt:
        asyncio.run(exchange(rt, 5))
        asyncio.run(given_up(rt))
with plait.Runtime() as rt:
    failed: list[BaseException] = []

    async def own(tag: int) -> None:
        for _ in range(20):
            received = rt.receive(1, rt.rank, tag)
            asyncio.get_running_loop().call_soon(lambda: rt.send(np.ones(1), rt.rank, tag))
            await received

    def run(tag: int) -> None:
        try:
            asyncio.run(own(tag))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(tag,)) for tag in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed
print("ok")
