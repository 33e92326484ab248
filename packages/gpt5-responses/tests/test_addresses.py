"""Where no request may go, however it is written and wherever a name leads."""

import socket
from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest
from wire import DONE, REQUEST, Wire, stream

from gpt5_responses import (
    AsyncResponsesClient,
    Connection,
    ModelConfig,
    Request,
    SettingsError,
    Transport,
    create,
)


REFUSED = [
    "169.254.169.254",
    "169。254。169。254",
    "".join(chr(ord(sign) + 0xFEE0) for sign in "169.254.169.254"),  # in full width
    "169\uff0e254\uff0e169\uff0e254",
    "①⑥⑨.254.169.254",
    "0xA9.0xFE.0xA9.0xFE",
    "169.254.43518",
    "169.254.169.254.",
    "100.100.100.200",
    "100。100。100。200",
    "168.63.129.16",
    "192.0.0.192",
    "169.254.0.23",
    "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]",
    "[::169.254.169.254]",
    "[::ffff:0:a9fe:a9fe]",
    "[64:ff9b::169.254.169.254]",
    "[64:ff9b:1::a9fe:a9fe]",
    "[2001:db8:64::6464:64c8]",
    "[64:ff9b:1:a9fe:a9:fe00::]",  # a local translator, with a prefix of 48 bits
    "[64:ff9b:1:64a9:fe:a9fe::]",  # of 56
    "[64:ff9b:1:64:a9:fea9:fe00:0]",  # of 64
    "[64:ff9b:1:a9fe:12:3400::]",  # another link-local address
    "[2001:db8:a9fe:a9fe::]",  # a translator of one's own, with a prefix of 32 bits
    "[2001:db8:12a8:3f81:10::]",  # of 40
    "[2001:db8:1234:6464:64:c800::]",  # of 48
    "[2001:db8:1234:12c0:0:c0::]",  # of 56
    "[2001:db8:1234:1234:a8:3f81:1000:0]",  # of 64
    "[2001:db8:1234:1234:0:5efe:a9fe:aa02]",
    "[fe80::200:5efe:6464:64c8]",
    "[2002:6464:64c8::]",
    "[2001:0:1234:5678:0:0:5601:5601]",  # the client's address is inverted
    "[2002:a9fe:a9fe::1]",
    "[2001:0:a9fe:a9fe::1]",
    "[fd00:ec2::254]",
    "[fd00:42::42]",
    "[FD20:CE::254]",
    "[fd00:c1::a9fe:a9fe]",
    "[fe80::1%25eth0]",
    "metadata.google.internal",
    "Metadata。Google。Internal",
    "metadata.tencentyun.com",
    "instance-data",
]


@pytest.mark.parametrize("host", REFUSED)
@pytest.mark.parametrize(
    "connect",
    [
        lambda url: Connection(api_key="key", base_url=url),
        lambda url: Connection.from_credentials(
            {"openai_api_key": "key", "openai_api_base": url}, environ={}
        ),
    ],
    ids=["direct", "credentials"],
)
def test_no_way_of_writing_a_metadata_address_passes(
    connect: Callable[[str], Connection], host: str
) -> None:
    with pytest.raises(SettingsError, match="host is not allowed"):
        connect(f"http://{host}/v1")


@pytest.mark.parametrize(
    "host",
    [
        "[2001:db8::a9fe:1]",
        "[2001:db8:a9fe:a9fe::1]",
        "[64:ff9b::8.8.8.8]",
        "[64:ff9b:1:808:8:800::]",
        "100.100.100.201",
        "[::1]",
        "my_service",
        "bücher.example",
    ],
)
def test_ordinary_hosts_pass(host: str) -> None:
    assert Connection(api_key="key", base_url=f"http://{host}/v1").host


@pytest.mark.parametrize(
    "host",
    [
        *("api..openai.com", "a" * 64 + ".example", ".example..x", "api%2eexample", "a%00b"),
        *("metadata%2egoogle%2einternal", "169%2e254.169.254", "a%", "a,b", "a!b"),
    ],
)
def test_a_host_that_nobody_can_look_up_is_refused_by_the_form_s_field(host: str) -> None:
    with pytest.raises(SettingsError, match=r"not a name.*API Base URL"):
        Connection.from_credentials(
            {"openai_api_key": "key", "openai_api_base": f"https://{host}"}, environ={}
        )


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"api_key": ""}, "api_key"),
        ({"api_key": "a\nb"}, "api_key"),
        ({"organization": "ö"}, "organization"),
        ({"base_url": ""}, "base_url"),
    ],
)
def test_a_connection_made_directly_is_looked_at_too(settings: dict[str, str], field: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Connection(**{"api_key": "key", **settings})

    assert caught.value.field == field


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire(stream(DONE)) as running:
        yield running


def leading_to(address: str) -> Callable[..., list[tuple[object, ...]]]:
    """Return a resolver that knows one address for every name."""
    return lambda _host, port, *_, **__: [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port or 0))
    ]


@pytest.mark.parametrize("address", ["169.254.169.254", "100.100.100.200", "168.63.129.16"])
def test_a_name_that_leads_to_a_metadata_service_is_not_connected_to(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", leading_to(address))
    monkeypatch.setattr(socket.socket, "connect", pytest.fail)
    rebound = Connection(api_key="key", base_url="http://innocent.example/v1", max_retries=2)

    with pytest.raises(SettingsError, match="host is not allowed: it leads to the metadata"):
        create(rebound, REQUEST, transport=transport)


def test_what_the_socket_is_connected_to_decides_before_anything_is_sent(
    wire: Wire, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name's address changes between the look at it and the connection."""
    monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("169.254.169.254", 80))
    with pytest.raises(SettingsError, match="host is not allowed"):
        create(wire.connection(), REQUEST, transport=transport)

    assert wire.requests == []


async def ask(wire: Wire, base_url: str | None = None) -> str:
    config = ModelConfig(model_id="m", api_key="k", base_url=base_url or wire.base_url)
    async with AsyncResponsesClient(config) as client:
        return (await client.complete(Request(items=[]))).status


async def test_an_asynchronous_client_looks_twice_as_well(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await ask(wire) == "completed"
    with monkeypatch.context() as rebound:
        rebound.setattr("gpt5_responses._http.addresses.is_metadata_address", _seen_twice())
        with pytest.raises(SettingsError, match="host is not allowed"):
            await ask(wire)
    monkeypatch.setattr(socket, "getaddrinfo", leading_to("169.254.169.254"))
    with pytest.raises(SettingsError, match="host is not allowed"):
        await ask(wire, "http://innocent.example/v1")

    assert len(wire.requests) == 1


def _seen_twice() -> Callable[[str], bool]:
    """Return a look that finds nothing in the names, and then everything."""
    looks = chain((False,), repeat(True))
    return lambda _: next(looks)


async def test_behind_a_proxy_the_proxy_connects(
    wire: Wire, transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy's own address is the operator's business, and where it leads only the proxy knows."""
    monkeypatch.setenv("HTTP_PROXY", wire.base_url.removesuffix("/v1"))
    monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("169.254.1.1", 80))
    behind = Connection(api_key="key", base_url="http://innocent.example/v1", max_retries=0)

    assert create(behind, REQUEST, transport=transport).status == "completed"
    assert await ask(wire, "http://innocent.example/v1") == "completed"
