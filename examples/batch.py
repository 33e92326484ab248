"""A file of questions, one a line, answered eight at a time; each answer is a line of JSON, in the order in which they come.

`OPENAI_API_KEY=... python batch.py questions.txt > answers.jsonl`, with `gpt5-responses` installed. `OPENAI_BASE_URL` may name another server.
"""

import asyncio
import json
import sys
from dataclasses import replace
from pathlib import Path

from gpt5_responses import AsyncResponsesClient, ModelConfig, Request, ResponsesError


async def ask(client: AsyncResponsesClient, question: str, room: asyncio.Semaphore) -> None:
    """Print the answer to a question, or why there is none."""
    line: dict[str, object] = {"question": question}
    async with room:
        try:
            request = Request(messages=[{"role": "user", "content": question}], effort="low")
            completion = await client.complete(request)
            used = completion.usage.total_tokens if completion.usage else None
            line |= {"answer": completion.text, "tokens": used}
        except ResponsesError as error:
            line["error"] = str(error)
    print(json.dumps(line, ensure_ascii=False), flush=True)


async def main(questions: list[str]) -> None:
    """Ask all questions."""
    config = replace(ModelConfig.from_env(), max_retries=5)
    room = asyncio.Semaphore(8)
    async with AsyncResponsesClient(config) as client, asyncio.TaskGroup() as group:
        for question in questions:
            group.create_task(ask(client, question, room))


asyncio.run(main(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
