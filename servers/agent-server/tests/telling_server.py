"""A server process to be killed: `python telling_server.py DATABASE WEBHOOK_URL SECRET`.

It ends a run and sends the webhook its message.
"""

import asyncio
import sys

from agents import engine, finish, start

from agent_server._engine import webhook_sender  # noqa: PLC2701 - whose patience is short


# It is killed while it sends, however late its test is.
webhook_sender._ANSWER_SECONDS = 600


async def serve(database, url, secret):
    async with engine(database, webhook_url=url, webhook_secret=secret) as runs:
        await finish(runs, await start(runs))
        await asyncio.sleep(600)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
