"""Run the plugins that are `async def` on one event loop of the process, while the thread that needs their answer waits.

Unlike the others, they can be stopped: at the end of their time they are cancelled. What an interceptor wraps still runs on the
thread of the worker, which alone may write the journal of its invocation.
"""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

type Proceed = Callable[[Any], Any]


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="plugins", daemon=True).start()
    return loop


def wait(answer: Awaitable[Any], seconds: float) -> Any:
    """Return what a plugin answers. Raises what it raises, and `TimeoutError` when it takes longer."""

    async def limited() -> Any:
        async with asyncio.timeout(seconds):
            return await answer

    return asyncio.run_coroutine_threadsafe(limited(), _loop()).result()


def around(act: Callable[[Any, Any], Awaitable[Any]], subject: Any, proceed: Proceed, seconds: float) -> Any:
    """Return the outcome of an interceptor. Raises what it raises, and `TimeoutError`.

    What it wraps takes the time that it takes, which does not count. `proceed` is called on this thread, each time that the
    interceptor awaits it.
    """
    wanted: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
    loop = _loop()

    async def limited() -> Any:
        async with asyncio.timeout(seconds) as own_time:

            async def passed(changed: Any = None) -> Any:
                left, answer = own_time.when(), loop.create_future()
                own_time.reschedule(None)
                asked_at = loop.time()
                wanted.put(lambda: _answer(loop, answer, proceed, changed))
                try:
                    return await answer
                finally:
                    own_time.reschedule((left or asked_at) + loop.time() - asked_at)

            return await act(subject, passed)

    running = asyncio.run_coroutine_threadsafe(limited(), loop)
    running.add_done_callback(lambda _: wanted.put(None))
    try:
        while serve := wanted.get():
            serve()
    except BaseException:
        running.cancel()  # Nobody would ever answer it.
        raise
    return running.result()


def _answer(
    loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], proceed: Proceed, changed: Any
) -> None:
    def settle(put: Callable[[Any], None], value: Any) -> None:
        with contextlib.suppress(asyncio.InvalidStateError):  # The plugin was cancelled meanwhile.
            put(value)

    try:
        outcome = proceed(changed)
    except Exception as stopped:  # noqa: BLE001  (it goes on to whoever awaits it)
        loop.call_soon_threadsafe(settle, answer.set_exception, stopped)
    else:
        loop.call_soon_threadsafe(settle, answer.set_result, outcome)
