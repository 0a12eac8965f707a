"""Only public hosts and addresses are fetched from."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest

from local_rag.core.errors import FileSkipped
from local_rag.web import addresses
from local_rag.web.addresses import public_addresses, refused_address, refused_name

PUBLIC = """93.184.216.34 8.8.8.8 172.15.255.255 172.32.0.1 192.167.255.255 192.169.0.1 100.63.255.255 100.128.0.1
223.255.255.254 2606:4700:4700::1111 2001:4860:4860::8888 2a00:1450:4001:81b::200e 64:ff9b::808:808""".split()

REFUSED = """127.0.0.1 127.255.255.254 0.0.0.0 ::1 :: 10.0.0.3 10.255.255.255 172.16.0.1 172.31.255.255 192.168.1.1
100.64.0.1 100.127.255.255 198.18.0.1 198.19.255.255 0.1.2.3 fc00::1 fd12::1 169.254.1.1 fe80::1 169.254.169.254
169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 fd00:ec2::254 224.0.0.1 239.255.255.250 ff02::1 ff05::1:3
192.0.0.8 192.88.99.1 240.0.0.1 255.255.255.255 2001:db8::1 3fff::1 4000::1 5f00::1 fec0::1 ::7f00:1 ::a00:3
::ffff:8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.3 ::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b::a00:3 64:ff9b::6464:64c8 64:ff9b:1::808:808 2002:7f00:1::1 2002:c0a8:101::1 2002:808:808::1
2001:0:808:808::f5ff:fffc 2606:4700::1%eth0 fe80::1%eth0""".split()

NAMES = {
    "": "example.org www.example.org xn--bcher-kva.example a_b.example.org 1.de",
    "unusual form": "2130706433 0x7f.1 0x7f000001 127.1 0177.0.0.1 017700000001 1.2.3.4.5 a.0x",
    "this machine": "localhost a.localhost printer.local metadata.google.internal router.lan a.home.arpa x.onion",
    "no name": f"a..b .a a. -a.org a-.org a%2eb.org a:b.org a\\b.org ex!ample.org [::1] bücher.example {'a' * 64}.org",
}


@pytest.mark.parametrize(
    ("address", "is_public"), [*((one, True) for one in PUBLIC), *((one, False) for one in REFUSED)]
)
def test_only_public_addresses_are_fetched_from(address, is_public):
    assert bool(refused_address(ip_address(address))) is not is_public


@pytest.mark.parametrize(("name", "reason"), [(name, why) for why, names in NAMES.items() for name in names.split()])
def test_local_names_are_not_looked_up(name, reason):
    assert reason in refused_name(name) and bool(reason) is bool(refused_name(name))


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (["10.0.0.3"], "refused: example.org is 10.0.0.3, not a public address"),
        (["93.184.216.34", "192.168.1.1"], "refused: example.org is 192.168.1.1, not a public address"),
        (["2606:4700::1", "fe80::1%lo"], "refused: example.org is fe80::1%lo, not a public address"),
        (["nonsense"], "example.org has no address"),
        (["93.184.216.34", "2606:4700::1", "93.184.216.34"], "93.184.216.34 2606:4700::1"),
    ],
)
def test_every_address_of_a_name_must_be_public(monkeypatch, found, line):
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(0, 0, 0, "", (text, 443)) for text in found])
    monkeypatch.setattr(addresses, "refused_neighbour", lambda _: "")
    try:
        assert " ".join(map(str, public_addresses("example.org", 443))) == line
    except FileSkipped as skipped:
        assert str(skipped) == line
