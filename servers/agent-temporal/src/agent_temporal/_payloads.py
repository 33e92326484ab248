"""What stands in Temporal's histories: encrypted with the server's keys, where it has any, and only references to what is large."""

import json
from collections.abc import Sequence
from typing import Any, Final, override

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    AdvancedJSONEncoder,
    BinaryNullPayloadConverter,
    BinaryPlainPayloadConverter,
    CompositePayloadConverter,
    DataConverter,
    ExternalStorage,
    JSONPlainPayloadConverter,
    PayloadCodec,
    StorageDriver,
    StorageDriverClaim,
    StorageDriverRetrieveContext,
    StorageDriverStoreContext,
    StorageDriverWorkflowInfo,
)

from agent_server.store import RunStore

from ._database import wait_for_database


_LARGEST_BYTES: Final = 16 * 1024
_ENCRYPTED: Final = b"binary/agent-server-encrypted"


def build_converter(store: RunStore, *, encrypts: bool) -> DataConverter:
    """Return how values travel to and from Temporal.

    Args:
        store: Keeps what is large, and has the keys.
        encrypts: Whether there are keys.
    """
    return DataConverter(
        payload_converter_class=OrderedConverter,
        payload_codec=EncryptionCodec(store) if encrypts else None,
        external_storage=ExternalStorage(
            drivers=[RunStorage(store)], payload_size_threshold=_LARGEST_BYTES
        ),
    )


class _OrderedJson(JSONPlainPayloadConverter):
    """JSON whose members keep their order, as they do in the server's database."""

    @override
    def to_payload(self, value: Any) -> Payload:
        text = json.dumps(value, cls=AdvancedJSONEncoder, separators=(",", ":"))
        return Payload(metadata={"encoding": self.encoding.encode()}, data=text.encode())


class OrderedConverter(CompositePayloadConverter):
    """Converter of nothing, bytes and JSON."""

    def __init__(self) -> None:
        super().__init__(
            BinaryNullPayloadConverter(), BinaryPlainPayloadConverter(), _OrderedJson()
        )


class EncryptionCodec(PayloadCodec):
    """Encryption of payloads, the same as of what the server stores."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Encrypt payloads."""
        return [
            Payload(
                metadata={"encoding": _ENCRYPTED},
                data=self._store.encrypt(one.SerializeToString()),
            )
            for one in payloads
        ]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Decrypt payloads; one that was written before there were keys is returned as it is."""
        return [
            Payload.FromString(self._store.decrypt(one.data))
            if one.metadata.get("encoding") == _ENCRYPTED
            else one
            for one in payloads
        ]


class RunStorage(StorageDriver):
    """Storage of large payloads beside their runs, in the server's database."""

    def __init__(self, store: RunStore) -> None:
        self._store = store

    def name(self) -> str:
        """Return the name, which stands in histories."""
        return "agent-server"

    async def store(
        self, context: StorageDriverStoreContext, payloads: Sequence[Payload]
    ) -> list[StorageDriverClaim]:
        """Store payloads, which are deleted with their run."""
        target = context.target
        if not isinstance(target, StorageDriverWorkflowInfo) or target.id is None:
            raise ValueError("target: expected a workflow")
        return [
            StorageDriverClaim(
                claim_data={
                    "run": target.id,
                    "id": await self._store.put_payload(target.id, one.SerializeToString()),
                }
            )
            for one in payloads
        ]

    async def retrieve(
        self,
        context: StorageDriverRetrieveContext,  # noqa: ARG002 - the interface's
        claims: Sequence[StorageDriverClaim],
    ) -> list[Payload]:
        """Return stored payloads."""
        return [await self._read(**claim.claim_data) for claim in claims]

    async def _read(self, *, run: str, id: str) -> Payload:  # noqa: A002 - what claims are made of
        # Before an activity begins nobody else waits for the database.
        stored = await wait_for_database(lambda: self._store.get_payload(run, id))
        return Payload.FromString(stored)
