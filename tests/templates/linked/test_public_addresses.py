"""Addresses that must never be reached, and connections that only go to the checked address."""

from __future__ import annotations

import ipaddress
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpcore
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blockml.templates.linked import WebSource, public_addresses
from blockml.templates.linked.public_addresses import (
    FetchError,
    checked_url,
    has_credentials,
    host_and_port,
    look_up,
    refusal,
    system_resolver,
)
from tests.templates.linked.webserver import HTML, Site, loopback, page, reason, redirect

# Addresses: none of these tests may open a socket, and pytest-socket checks that none does


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://127.0.0.1/", "loopback"),
        ("http://127.8.9.10/", "loopback"),
        ("https://[::1]/", "loopback"),
        ("http://0.0.0.0/", "this host"),
        ("http://[::]/", "this host"),
        ("http://169.254.169.254/latest/meta-data/", "link-local"),
        ("http://[fe80::1]/", "link-local"),
        ("http://[fd00:ec2::254]/", "private"),
        ("http://10.1.2.3/", "private"),
        ("http://172.31.255.255/", "private"),
        ("http://192.168.1.1/", "private"),
        ("http://100.100.100.200/", "shared"),
        ("http://168.63.129.16/", "service address"),
        ("http://224.0.0.1/", "multicast"),
        ("http://[ff02::1]/", "multicast"),
        ("http://255.255.255.255/", "reserved"),
        ("http://[::ffff:127.0.0.1]/", "IPv4-mapped"),
        ("http://[::ffff:7f00:1]/", "IPv4-mapped"),
        ("http://[::127.0.0.1]/", "not a public address"),
        ("http://[64:ff9b::127.0.0.1]/", "loopback"),
        ("http://[64:ff9b:1::a00:1]/", "local NAT64"),
        ("http://[2002:7f00:1::]/", "6to4"),
        ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "reserved"),
        ("http://[fec0::1]/", "not a public address"),
        ("http://2130706433/", "obfuscated"),
        ("http://0x7f000001/", "obfuscated"),
        ("http://0x7f.0.0.1/", "obfuscated"),
        ("http://0177.0.0.1/", "obfuscated"),
        ("http://127.1/", "obfuscated"),
        ("http://127.0.0.0x1/", "obfuscated"),
        ("http://①②⑦.0.0.1/", "loopback"),
        ("http://127。0。0。1/", "loopback"),
        ("http://127.0.0.1./", "loopback"),
        ("http://%31%32%37.0.0.1/", "loopback"),
        ("http://me@93.184.215.14/", "user name or password"),
        ("http://93.184.215.14@127.0.0.1/", "user name or password"),
        ("http:\\\\me:pw@93.184.215.14/", "user name or password"),
        ("h\tttp://m\ne@93.184.215.14/", "user name or password"),
        ("http://93.184.215.14:22/", "port 22"),
        ("https://93.184.215.14:8443/", "port 8443"),
        ("ftp://93.184.215.14/", "not an http or https URL"),
        ("file:///etc/passwd", "not an http or https URL"),
        ("page.html", "not an http or https URL"),
        ("http://a.example/" + "a" * 9000, "more than 8000 characters"),
    ],
)
def test_addresses_that_are_not_public_are_refused(url: str, why: str) -> None:
    """Addresses that are not public are refused in any notation."""
    with WebSource() as source:
        assert why in reason(source, url)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (["127.0.0.1"], "inside.example has no public address: 127.0.0.1 is a loopback address"),
        (["10.0.0.1", "fd00::1"], "10.0.0.1 is a private address, fd00::1 is a private address"),
        (["fe80::1%eth0"], "link-local"),
        (["nonsense"], "nonsense is not an IP address"),
        ([], "inside.example has no address"),
    ],
)
def test_names_of_private_addresses_are_refused(answer: list[str], why: str) -> None:
    """A name that resolves to a private address is refused."""
    with WebSource(resolver=lambda _host, _port: answer) as source:
        assert why in reason(source, "http://inside.example/")


@pytest.mark.parametrize("error", [socket.gaierror(-2, "unknown"), UnicodeError("label too long")])
def test_names_without_addresses_fail(error: Exception) -> None:
    """A name without an address fails like any page that cannot be loaded."""

    def resolver(_host: str, _port: int) -> Sequence[str]:
        raise error

    with WebSource(resolver=resolver) as source:
        assert "nowhere.example has no address" in reason(source, "http://nowhere.example/")


def test_bugs_of_a_resolver_are_not_hidden() -> None:
    """Errors of a resolver that aren't about names are raised, because they are bugs."""

    def resolver(_host: str, _port: int) -> Sequence[str]:
        raise KeyError("oops")

    with WebSource(resolver=resolver) as source, pytest.raises(KeyError, match="oops"):
        source.get("http://nowhere.example/")


@loopback
def test_the_systems_resolver_answers() -> None:
    """The system's resolver returns an address unchanged without asking a server."""
    assert system_resolver("127.0.0.1", 80) == ["127.0.0.1"]


def test_public_addresses_are_tried_if_others_are_private() -> None:
    """Private addresses of a name are left out, and its public ones are tried."""
    answers = ["10.0.0.1", "93.184.215.14", "127.0.0.1", "2606:4700::1111"]
    found = look_up("a.example", 80, lambda _host, _port: answers, seconds=5, allow_private=False)
    assert found == ["93.184.215.14", "2606:4700::1111"]
    found = look_up("a.example", 80, lambda _host, _port: answers, seconds=5, allow_private=True)
    assert found == answers


@pytest.mark.parametrize("address", ["8.8.8.8", "193.99.144.80", "2a02:2e0:3fe:1001:302::", "64:ff9b::808:808"])
def test_public_addresses_are_allowed(address: str) -> None:
    """Public addresses are allowed in IPv4, IPv6 and IPv4 behind NAT64."""
    assert refusal(address) is None


@given(st.ip_addresses())
def test_no_address_that_python_calls_special_is_allowed(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    """Every address that Python's registry calls special is refused by our stricter one."""
    if address in ipaddress.ip_network("64:ff9b::/96"):
        return  # public if the embedded address is
    special = (
        not address.is_global
        or address.is_multicast
        or address.is_reserved
        or address.is_loopback
        or address.is_link_local
        or address.is_unspecified
    )
    if special:
        assert refusal(str(address)) is not None


@given(st.ip_addresses(v=4))
def test_translated_addresses_are_refused_by_the_embedded_one(address: ipaddress.IPv4Address) -> None:
    """NAT64 addresses, which some networks need, are checked by the embedded address; mapped ones are refused."""
    assert refusal(f"64:ff9b::{address}") == refusal(str(address))
    assert refusal(f"::ffff:{address}") is not None


def test_credentials_are_detected() -> None:
    """Credentials are detected only before the host, and even with an empty name."""
    assert not any(has_credentials(url) for url in ("http://a.example/@b", "mailto.html", "/a@b", "?q=http://me@b"))
    with pytest.raises(FetchError):
        checked_url("https://:@a.example/")


def test_host_and_port() -> None:
    """Without a port in the URL, the scheme's default port is used."""
    assert host_and_port("http://a.example/x:1") == ("a.example", 80)
    assert host_and_port("https://a.example:8443/") == ("a.example", 8443)
    assert host_and_port("https://[::1]/") == ("::1", 443)


# Connections only go to the checked address


@pytest.fixture
def only_loopback_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat 127.0.0.1, where the test's server is, as public, and check other addresses."""
    check = refusal
    monkeypatch.setattr(public_addresses, "refusal", lambda address: None if address == "127.0.0.1" else check(address))


@loopback
@pytest.mark.usefixtures("only_loopback_is_public")
@pytest.mark.parametrize("target", ["http://169.254.169.254/", "http://127.0.0.2/", "http://10.0.0.1/", "//[::1]/"])
def test_redirects_to_private_addresses_are_refused(site: Site, target: str) -> None:
    """Each redirect is checked, and the failure is recorded under the requested URL."""
    site.answers["/a"] = redirect(target)
    with WebSource(ports={80, site.port}) as source:
        assert " address" in reason(source, f"{site.url}/a")
        assert list(source.failures) == [f"{site.url}/a"]
    assert site.paths() == ["/robots.txt", "/a"]


@loopback
@pytest.mark.usefixtures("only_loopback_is_public")
def test_redirects_to_other_ports_are_refused(site: Site) -> None:
    """Ports are checked at each redirect."""
    site.answers["/a"] = redirect("http://127.0.0.1:22/")
    with WebSource(ports={site.port}) as source:
        assert reason(source, f"{site.url}/a") == f"the port 22 is not one of {site.port}"


@loopback
@pytest.mark.usefixtures("only_loopback_is_public")
def test_rebinding_a_name_has_no_effect(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection has one look-up and goes to the address checked, so rebinding a name has no effect."""
    connect: Callable[..., Any] = httpcore.SyncBackend.connect_tcp
    connected: list[str] = []

    def watched(self: httpcore.SyncBackend, host: str, *arguments: Any, **options: Any) -> Any:
        connected.append(host)
        return connect(self, host, *arguments, **options)

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", watched)
    answers = [["127.0.0.1"], ["127.0.0.1"], ["169.254.169.254"]]
    closing = {**HTML, "Connection": "close"}
    site.answers["/robots.txt"] = 404, closing, b""
    site.answers["/a"] = site.answers["/b"] = 200, closing, b"<p>text</p>"
    with WebSource(ports={site.port}, delay=0, resolver=lambda _host, _port: answers.pop(0)) as source:
        assert source.get(f"http://rebinding.example:{site.port}/a") is not None
        assert "169.254.169.254 is a link-local" in reason(source, f"http://rebinding.example:{site.port}/b")
    assert (connected, answers) == (["127.0.0.1"] * 2, [])
    assert {headers["host"] for _, headers in site.asked} == {f"rebinding.example:{site.port}"}


@loopback
def test_the_next_address_is_tried(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one of a host's addresses answers it is reached, and dead ones don't use up the time."""
    connect: Callable[..., Any] = httpcore.SyncBackend.connect_tcp
    tried: list[tuple[str, int]] = []

    def silent_but_one(self: httpcore.SyncBackend, host: str, port: int, timeout: float, **options: Any) -> Any:
        tried.append((host, round(timeout)))
        if host != "127.0.0.1":
            raise httpcore.ConnectTimeout("timed out")
        return connect(self, host, port, timeout, **options)

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", silent_but_one)
    site.answers["/a"] = page("a")
    hosts = ["2001:db8::1", "10.0.0.1", "127.0.0.1"]
    with WebSource(allow_private=True, timeout=30, delay=0, resolver=lambda _host, _port: hosts) as source:
        assert source.get(f"http://three.example:{site.port}/a") is not None
        hosts.pop()
        assert reason(source, "http://two.example/a").startswith("robots.txt can't be loaded")
    assert tried[:3] == [("2001:db8::1", 10), ("10.0.0.1", 15), ("127.0.0.1", 30)]


# https


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the certificate of good.example and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the command openssl")
    folder = tmp_path_factory.mktemp("tls")
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=good.example"]
    command += ["-addext", "subjectAltName=DNS:good.example", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)  # noqa: S603
    return folder / "cert.pem", folder / "key.pem"


@loopback
def test_certificates_are_compared_with_the_host_not_the_address(certificate: tuple[Path, Path]) -> None:
    """Certificates are checked against the host's name, although the connection is to an address."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(*certificate)
    site = Site(server_side)
    try:
        site.answers["/a"] = page("a")
        trusting = ssl.create_default_context(cafile=certificate[0])
        options: dict[str, Any] = {"allow_private": True, "resolver": lambda _host, _port: ["127.0.0.1"]}
        with WebSource(tls=trusting, **options) as source:
            found = source.get(f"https://good.example:{site.port}/a")
            assert found is not None
            assert found.title == "a"
            assert "certificate" in reason(source, f"https://bad.example:{site.port}/a").lower()
        with WebSource(**options) as source:
            assert "certificate" in reason(source, f"https://good.example:{site.port}/a").lower()
        assert site.paths() == ["/robots.txt", "/a"]
    finally:
        site.close()
