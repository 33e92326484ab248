import asyncio
import os
import signal

import pytest

from stream_text.signals import cancelled_by_signals


async def _end_by(number):
    with cancelled_by_signals():
        os.kill(os.getpid(), number)
        await asyncio.Event().wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_the_task(number):
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(_end_by(number))


def test_afterwards_signals_do_what_they_did():
    async def act():
        before = signal.getsignal(signal.SIGTERM)
        with cancelled_by_signals():
            assert signal.getsignal(signal.SIGTERM) != before
        assert signal.getsignal(signal.SIGTERM) == before

    asyncio.run(act())
