"""How large the histories of long runs become."""

import sys
from collections import Counter

from long_agents import engine, finish, histories, searcher, start, stored_beside


async def test_a_thousand_model_calls_fit_into_20_mb(tmp_path, engine_url):
    agent = searcher(calls=1000, size=5000)

    async with engine(tmp_path, engine_url, {"long": agent}) as runs:
        run_id = await start(runs, "long")
        run = await finish(runs, run_id)
    found = await histories(engine_url, run_id)

    assert run.status == "succeeded", run
    assert run.result.usage.model_requests == 1000
    sizes = [one.ByteSize() for history in found for one in history]
    _tell(found, sizes, tmp_path)
    assert sum(sizes) < 20_000_000
    assert max(len(one) for one in found) < 10_000
    assert max(sizes) < 100_000


async def test_a_conversation_that_ends_elsewhere_at_call_53_reaches_call_100(tmp_path, engine_url):
    # 209,000 tokens of about 4 characters in 100 calls: results of 8.4 kB.
    heard = Counter()
    agent = searcher(calls=100, size=8_400, heard=heard)

    async with engine(tmp_path, engine_url, {"long": agent}) as runs:
        run_id = await start(runs, "long")
        run = await finish(runs, run_id)
    found = await histories(engine_url, run_id)

    assert run.status == "succeeded", run
    assert heard["calls"] == 100
    assert heard["most"] > 209_000 * 4 * 0.98
    sizes = [one.ByteSize() for history in found for one in history]
    _tell(found, sizes, tmp_path)
    assert sum(sizes) < 20_000_000
    assert max(sizes) < 100_000


def _tell(found, sizes, folder):
    lengths = [len(one) for one in found]
    sys.stdout.write(
        f"executions of {lengths} events, {sum(sizes)} bytes, the largest {max(sizes)}, and {stored_beside(folder)} beside them\n"
    )
