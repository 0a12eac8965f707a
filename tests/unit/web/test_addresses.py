"""Only public hosts and addresses are fetched from."""

from __future__ import annotations

import ipaddress

import pytest

from local_rag.web.addresses import refused_address, refused_name

PUBLIC = """93.184.216.34 8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 100.63.255.255
100.128.0.1 223.255.255.254 2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001:81b::200e 64:ff9b::808:808
2002:808:808::1""".split()

REFUSED = {
    "this machine": "127.0.0.1 127.0.0.53 127.255.255.254 0.0.0.0 ::1 ::",
    "private network": "10.0.0.3 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255"
    " 198.18.0.1 198.19.255.255 0.1.2.3 fc00::1 fd12::1",
    "link-local": "169.254.1.1 fe80::1",
    "metadata": "169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254",
    "multicast": "224.0.0.1 239.255.255.250 ff02::1 ff05::1:3",
    "reserved": "192.0.0.8 192.88.99.1 240.0.0.1 255.255.255.255 ::7f00:1 ::a00:3 2001:db8::1 3fff::1 4000::1"
    " 5f00::1 fec0::1",
    "form of IPv6": "::ffff:8.8.8.8",
}

CARRYING = {
    "::ffff:127.0.0.1": "this machine",
    "::ffff:10.0.0.3": "private network",
    "::ffff:169.254.169.254": "metadata",
    "64:ff9b::7f00:1": "this machine",
    "64:ff9b::a9fe:a9fe": "metadata",
    "64:ff9b::a00:3": "private network",
    "64:ff9b:1::808:808": "reserved",
    "2002:7f00:1::1": "this machine",
    "2002:c0a8:101::1": "private network",
    "2002:a9fe:a9fe::": "metadata",
    "::ffff:0.0.0.0": "this machine",
    "::ffff:192.168.1.1": "private network",
    "::ffff:224.0.0.1": "multicast",
    "64:ff9b::6464:64c8": "metadata",
    "64:ff9b::c0a8:101": "private network",
    "2002:e000:1::1": "multicast",
    "2001:0:808:808::f5ff:fffc": "reserved",
    "2001:0:7f00:1::f7f7:f7f7": "reserved",
}


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_fetched_from(address):
    assert refused_address(ipaddress.ip_address(address)) == ""


@pytest.mark.parametrize(
    ("address", "reason"), [(address, reason) for reason, some in REFUSED.items() for address in some.split()]
)
def test_other_addresses_are_refused_with_the_reason(address, reason):
    assert reason in refused_address(ipaddress.ip_address(address)), address


@pytest.mark.parametrize(("address", "reason"), CARRYING.items())
def test_an_address_is_refused_for_the_one_it_carries(address, reason):
    assert reason in refused_address(ipaddress.ip_address(address)), address


def test_an_address_of_one_network_is_refused():
    assert refused_address(ipaddress.ip_address("2606:4700::1%eth0"))
    assert refused_address(ipaddress.ip_address("fe80::1%eth0"))


@pytest.mark.parametrize("name", ["example.org", "www.example.org", "xn--bcher-kva.example", "a_b.example.org", "1.de"])
def test_public_names_are_looked_up(name):
    assert refused_name(name) == ""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (name, reason)
        for reason, some in {
            "unusual form": "2130706433 0x7f.1 0x7f000001 127.1 127.0.1 0177.0.0.1 017700000001 1.2.3.4.5 a.0x 0x",
            "this machine": "localhost a.localhost printer.local metadata.google.internal metadata router.lan"
            " a.home.arpa intranet wiki.corp x.onion x.test",
            "no name": "a..b .a a. -a.org a-.org a%2eb.org a:b.org a/b.org a\\b.org ex!ample.org [::1] bücher.example",
        }.items()
        for name in some.split()
    ],
)
def test_other_names_are_refused_before_they_are_looked_up(name, reason):
    assert reason in refused_name(name)


def test_long_names_are_refused():
    assert refused_name("a" * 64 + ".org")
    assert refused_name(".".join(["a" * 60] * 5))
