"""Use Dify's own client of its agent backend: with a request from stdin, and with what it reads on stdout, line by line.

Arguments: where the server is, and what to do: `stream`, `wait`, `page` or `cancel`.
"""

import asyncio
import json
import sys

from dify_agent.client import Client

from dify_agent.protocol import CancelRunRequest, CreateRunRequest


def tell(value):
    """Write a model of the client's, or any JSON, on a line."""
    text = json.dumps(value if isinstance(value, dict) else value.model_dump(mode="json"))
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def main(url, what, body):
    """Do one thing."""
    async with Client(base_url=url) as client:
        run = await client.create_run(CreateRunRequest.model_validate(body))
        tell(run)
        if what == "stream":
            async for event in client.stream_events(run.run_id):
                tell(event)
        elif what == "wait":
            tell(await client.wait_run(run.run_id))
        elif what == "page":
            await client.wait_run(run.run_id)
            cursor = None
            while (
                page := await client.get_events(run.run_id, after=cursor or "0-0", limit=2)
            ).next_cursor != cursor:
                tell(page)
                cursor = page.next_cursor
        elif what == "cancel":
            async for event in client.stream_events(run.run_id):
                if event.type == "run_started":
                    asked = CancelRunRequest(reason="enough", message="It was enough.")
                    tell(await client.cancel_run(run.run_id, asked))
                tell(event)


asyncio.run(main(sys.argv[1], sys.argv[2], json.loads(sys.stdin.readline())))
