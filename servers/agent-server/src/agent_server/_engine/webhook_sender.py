"""The sender, which notifies a webhook of runs that wait or have ended.

It follows Standard Webhooks 1.0, https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md.
"""

import asyncio
import base64
import hmac
import logging
import random
import ssl
import time
from collections.abc import Mapping

import httpcore
import httpx

from agent_server._store import webhook_messages
from agent_server._store.fault_log import FaultLog, OnceAMinute
from agent_server._store.webhook_messages import Message
from agent_server.settings import Webhook

from .parts import Parts
from .short_answers import ShortAnswers


_logger = logging.getLogger("agent_server")

_AT_ONCE = 8
_ANSWER_SECONDS = 10.0
_FAULTS: Mapping[type[Exception], str] = {
    TimeoutError: f"no answer within {_ANSWER_SECONDS:g} s",
    httpcore.RemoteProtocolError: "no answer in HTTP",
}
_FIRST_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 3600.0
_MOST_DOUBLINGS = 10


class WebhookSender:
    """The messages that this server sends to the webhook."""

    def __init__(self, parts: Parts, webhook: Webhook) -> None:
        """Start with no message.

        Args:
            parts: The engine's parts, which store the messages.
            webhook: Where to send them.
        """
        self._writer = parts.writer
        self._executor = parts.server.executor
        self._webhook = webhook
        self._tasks = set[asyncio.Task[None]]()
        self._wake = asyncio.Event()
        self._complaints = OnceAMinute()

    def wake(self) -> None:
        """Have messages looked for soon."""
        self._wake.set()

    async def work(self) -> None:
        """Send what is due, until it is cancelled."""
        faults = FaultLog("the messages for the webhook could not be read")
        tls = await asyncio.to_thread(httpx.create_ssl_context)
        while True:
            self._wake.clear()
            free = _AT_ONCE - len(self._tasks)
            if free > 0:
                with faults.suppressing():
                    await self._claim(free, tls)
            await self._wake.wait()  # The next heartbeat wakes it at the latest.

    async def stop(self, *, seconds: float) -> None:
        """Wait for the tries under way, then end the rest: they are made again later."""
        if tasks := list(self._tasks):
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _claim(self, free: int, tls: ssl.SSLContext) -> None:
        claimed = await self._writer.submit(
            webhook_messages.claim_messages, self._executor, limit=free
        )
        for message in claimed:
            task = asyncio.create_task(self._send(message, tls), name=f"webhook {message.id}")
            self._tasks.add(task)
            task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[None]) -> None:
        self._tasks.remove(task)
        self.wake()

    async def _send(self, message: Message, tls: ssl.SSLContext) -> None:
        try:
            async with asyncio.timeout(_ANSWER_SECONDS):
                answer = await self._post(message, tls)
            fault = None if httpx.codes.is_success(answer) else f"it answered {answer}"
        except Exception as error:  # noqa: BLE001 - whatever it is, a later try may succeed
            fault = _tell(error)
        if fault is None:
            self._writer.submit(webhook_messages.delete_message, message)
        else:
            self._writer.submit(
                webhook_messages.put_off, message, seconds=_pause_seconds(message.tries)
            )
            self._complain(fault)

    async def _post(self, message: Message, tls: ssl.SSLContext) -> int:
        """Send a message, and return the status of the answer, whose body is not read."""
        headers = _sign(message, self._webhook.key) | {
            "content-type": "application/json",
            "user-agent": "gpt5-agent-server",
        }
        asked = httpx.Request("POST", self._webhook.url, content=message.body, headers=headers)
        to = asked.url
        url = httpcore.URL(scheme=to.raw_scheme, host=to.raw_host, port=to.port, target=to.raw_path)
        request = httpcore.Request("POST", url, headers=asked.headers.raw, content=message.body)
        # httpx would log the URL, ask the environment for proxies and passwords, and read whatever comes before an answer.
        network = ShortAnswers()
        async with httpcore.AsyncConnectionPool(tls, network_backend=network) as connections:
            response = await connections.handle_async_request(request)
            await response.aclose()
        return response.status

    def _complain(self, fault: str) -> None:
        if self._complaints.is_due():
            # Its path and its query may be secrets.
            to = f"{self._webhook.url.scheme}://{self._webhook.url.netloc.decode()}"
            _logger.warning(
                "webhook: %s did not accept a message, which is sent again: %s", to, fault
            )


def _tell(error: Exception) -> str:
    """Return what went wrong, without the text of errors that may quote the URL, or what the webhook has sent."""
    names = {type(one).__name__ for one in getattr(error, "exceptions", [error])}
    text = str(error) if isinstance(error, httpcore.NetworkError) else _FAULTS.get(type(error), "")
    return f"{', '.join(sorted(names))}: {text}".removesuffix(": ")


def _sign(message: Message, key: bytes) -> dict[str, str]:
    timestamp = str(int(time.time()))
    signed = b".".join((message.id.encode(), timestamp.encode(), message.body))
    signature = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    return {
        "webhook-id": message.id,
        "webhook-timestamp": timestamp,
        "webhook-signature": f"v1,{signature}",
    }


def _pause_seconds(tries: int) -> float:
    pause = _FIRST_PAUSE_SECONDS * 2.0 ** min(tries - 1, _MOST_DOUBLINGS)
    # Not all at the same time, after an outage.
    return min(pause, _LONGEST_PAUSE_SECONDS) * random.uniform(0.8, 1.2)  # noqa: S311
