"""Hosts of metadata services, however they are written."""

import pytest

from stream_text.addresses import is_host, is_metadata_address, is_metadata_host, plain_host


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169。254。169。254.",
        "①⑥⑨.254.169.254",
        "0xA9.0xFE.0xA9.0xFE",
        "2852039166",
        "100.100.100.200",
        "::ffff:169.254.169.254",
        "64:ff9b:1:64:a9:fea9:fe00:0",  # a local translator, with a prefix of 64 bits
        "2001:db8:a9fe:a9fe::",  # a translator of one's own
        "2001:db8:1234:1234:0:5efe:a9fe:aa02",
        "2002:a9fe:a9fe::1",
        "FD00:EC2::254",
        "fd00:42::42",
        "fd00:0042:0:0::0042%eb0",
        "metadata%2egoogle%2einternal",
        "METADATA%2EGoogle%2einternal.",
        "metadata%252egoogle%25252einternal",
        "metadata\uff052egoogle%E3%80%82internal",
        "%6detadata",
        "169%2e254%2e169%2e254",
        "%31%36%39.254.169.254",
        "0251.0376.0251.0376",
        "169.254.43518",
        "::ffff:a9fe:a9fe",
        "fd00:42::42%25eth0",
        "fe80::1%eth0",
        "Metadata。Google。Internal",
        "instance-data",
    ],
)
def test_no_way_of_writing_a_metadata_host_passes(host):
    assert is_metadata_host(plain_host(host))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "10.0.0.7",
        "2001:db8::a9fe:1",
        "2001:db8:a9fe:a9fe::1",
        "64:ff9b::8.8.8.8",
        "nginx",
        "bücher.example",
        "my_service",
        "my%2eservice",
        "%",
        "a%2e%2eb",
        "fd00:42::43",
    ],
)
def test_hosts_of_a_company_s_own_network_pass(host):
    assert not is_metadata_host(plain_host(host))


def test_a_name_is_no_address():
    assert not is_metadata_address("metadata")


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        *dict.fromkeys(
            (
                "a",
                "a_b.test",
                "xn--bcher-kva.example",
                "1.example",
                "a" * 63,
                "127.1",
                "::1",
                "fe80::1%eth0",
            ),
            True,
        ).items(),
        *dict.fromkeys(
            ("", ".", "a..b", "-", "a-", "a.-b", "a" * 64, "a." * 127 + "a", "a b", "a%00b"), False
        ).items(),
        *dict.fromkeys(("999.1.1.1", "1.2.3.4.5", "a:b", "a/b", "a@b", "a\nb"), False).items(),
    ],
)
def test_a_host_is_an_address_or_a_name_that_can_be_looked_up(host, is_one):
    assert is_host(host) is is_one


@pytest.mark.parametrize("host", ["a..b", ".a", "a..", "."])
def test_a_host_that_nobody_can_look_up_is_refused(host):
    with pytest.raises(UnicodeError):
        plain_host(host)
