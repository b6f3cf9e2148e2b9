"""Hosts in every spelling, and where they lead."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quillback.inspectors.net_targets import Reach, Target, check_address, parse_address, plain_host, split_url


@pytest.mark.parametrize(
    ("host", "reach"),
    [
        ("example.com", Reach.NAME),
        ("8.8.8.8", Reach.PUBLIC),
        ("2606:4700::1111", Reach.PUBLIC),
        ("localhost", Reach.LOOPBACK),
        ("LOCALHOST.", Reach.LOOPBACK),
        ("a.localhost", Reach.LOOPBACK),
        ("localhost.localdomain", Reach.LOOPBACK),
        ("ip6-localhost", Reach.LOOPBACK),
        ("127.0.0.1", Reach.LOOPBACK),
        ("127.1", Reach.LOOPBACK),
        ("127.0.1", Reach.LOOPBACK),
        ("2130706433", Reach.LOOPBACK),
        ("0x7f000001", Reach.LOOPBACK),
        ("0x7f.1", Reach.LOOPBACK),
        ("0177.0.0.1", Reach.LOOPBACK),
        ("017700000001", Reach.LOOPBACK),
        ("127.0.0.1.", Reach.LOOPBACK),
        ("%31%32%37.0.0.1", Reach.LOOPBACK),
        ("１２７.0.0.1", Reach.LOOPBACK),
        ("127。0。0。1", Reach.LOOPBACK),
        ("ⓛocalhost", Reach.LOOPBACK),
        ("0", Reach.LOOPBACK),
        ("0.0.0.0", Reach.LOOPBACK),
        ("0.1.2.3", Reach.LOOPBACK),
        ("[::1]", Reach.LOOPBACK),
        ("::", Reach.LOOPBACK),
        ("::ffff:127.0.0.1", Reach.LOOPBACK),
        ("::ffff:7f00:1", Reach.LOOPBACK),
        ("::127.0.0.1", Reach.LOOPBACK),
        ("64:ff9b::7f00:1", Reach.LOOPBACK),
        ("2002:7f00:1::", Reach.LOOPBACK),
        ("10.1.2.3", Reach.PRIVATE),
        ("172.16.0.1", Reach.PRIVATE),
        ("192.168.1.1", Reach.PRIVATE),
        ("192.168.257", Reach.PRIVATE),
        ("100.64.0.1", Reach.PRIVATE),
        ("fd12::1", Reach.PRIVATE),
        ("::ffff:10.0.0.1", Reach.PRIVATE),
        ("printer", Reach.PRIVATE),
        ("nas.local", Reach.PRIVATE),
        ("db.internal", Reach.PRIVATE),
        ("router.home.arpa", Reach.PRIVATE),
        ("169.254.1.1", Reach.LINK_LOCAL),
        ("fe80::1%eth0", Reach.LINK_LOCAL),
        ("169.254.169.254", Reach.METADATA),
        ("2852039166", Reach.METADATA),
        ("0xa9fea9fe", Reach.METADATA),
        ("::ffff:169.254.169.254", Reach.METADATA),
        ("fd00:ec2::254", Reach.METADATA),
        ("100.100.100.200", Reach.METADATA),
        ("metadata.google.internal.", Reach.METADATA),
        ("224.0.0.1", Reach.MULTICAST),
        ("ff02::1", Reach.MULTICAST),
        ("255.255.255.255", Reach.RESERVED),
        ("240.0.0.1", Reach.RESERVED),
        ("", Reach.INVALID),
        ("a b.com", Reach.INVALID),
        ("1.2.3.4.5", Reach.INVALID),
        ("1.2.3.256", Reach.INVALID),
        ("256.1.1.1", Reach.INVALID),
        ("08.1.1.1", Reach.INVALID),
        ("a..com", Reach.INVALID),
        ("-a.com", Reach.INVALID),
        ("::g", Reach.INVALID),
        ("a" * 64 + ".com", Reach.INVALID),
    ],
)
def test_where_hosts_lead(host, reach):
    assert check_address(host) is reach


def test_address_objects_are_taken_too():
    assert check_address(ipaddress.ip_address("10.0.0.1")) is Reach.PRIVATE
    assert check_address(ipaddress.ip_address("::ffff:127.0.0.1")) is Reach.LOOPBACK


def test_only_public_addresses_and_names_are_not_internal():
    assert {reach for reach in Reach if not reach.internal} == {Reach.PUBLIC, Reach.NAME}


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://Example.com:8443/x", Target("https", "example.com", 8443)),
        ("http://user:pw@example.com/", Target("http", "example.com", None)),
        ("http://example.com@127.1/", Target("http", "127.0.0.1", None)),
        ("http://[::ffff:7f00:1]:80/", Target("http", "::ffff:7f00:1", 80)),
        ("http://0x7f.1", Target("http", "127.0.0.1", None)),
        ("http://bücher.de/", Target("http", "xn--bcher-kva.de", None)),
        ("http://127.0.0.1\\@example.com/", None),
        ("http://a@b@c/", None),
        ("http://exa mple.com", None),
        ("http://a.com\t.b.com", None),
        ("http://a.com\n", None),
        ("http:///x", None),
        ("//a.com/x", None),
        ("http://[::1", None),
        ("http://a.com:99999/", None),
        ("http://a%40b@c/", None),
        ("a.com", None),
    ],
)
def test_urls(url, target):
    assert split_url(url) == target


@given(st.ip_addresses())
def test_every_spelling_of_an_address_leads_to_the_same_place(address):
    reach = check_address(address)
    assert check_address(str(address)) is reach
    if address.version == 4:
        number = int(address)
        octets = address.packed
        spellings = [
            str(number),
            hex(number),
            f"0{number:o}",
            ".".join(hex(o) for o in octets),
            ".".join(f"0{o:o}" for o in octets),
            f"{octets[0]}.{number & 0xFFFFFF}",
            f"{octets[0]}.{octets[1]}.{number & 0xFFFF}",
            f"::ffff:{address}",
            f"{address}.",
        ]
        assert {check_address(text) for text in spellings} == {reach}
        assert {parse_address(text) for text in spellings[:7]} == {address}


@given(st.text(max_size=60))
def test_no_text_is_too_odd(text):
    assert isinstance(check_address(text), Reach)
    assert split_url(text) is None or split_url(text).host
    assert plain_host(text) == plain_host(text).lower()
