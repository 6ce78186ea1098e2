"""Certificates of a small authority, good and bad, and servers that show them."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.hostile.raw import OK

from rota.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Signed:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def write(self, path: Path) -> Path:
        key = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM) + key)
        return path


def sign(name: str, by: Signed | None = None, *, days: int = 10, authority: bool = False) -> Signed:
    """A certificate for this name, signed by another or by itself; a past end for negative days."""
    now = SystemClock().now()
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    public = key.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by else subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 20 * _DAY)
        .not_valid_after(now + days * _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )
    if not authority:
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        builder = builder.add_extension(names, critical=False)
    if by is not None:
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(by.key.public_key())
        builder = builder.add_extension(signer, critical=False)
    return Signed(builder.sign(by.key if by else key, hashes.SHA256()), key)


def trusting(authority: Signed) -> ssl.SSLContext:
    """What a client has that knows this authority and no other."""
    text = authority.certificate.public_bytes(serialization.Encoding.PEM).decode()
    return ssl.create_default_context(cadata=text)


@asynccontextmanager
async def serving_tls(shown: Path) -> AsyncGenerator[tuple[int, list[str]]]:
    """A server that shows this certificate; its port, and the names that callers asked for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown)
    asked: list[str] = []

    def seen(_: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        asked.append(name or "")

    context.sni_callback = seen  # pyright: ignore[reportAttributeAccessIssue] - typed for sockets

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(OK)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    try:
        yield server.sockets[0].getsockname()[1], asked
    finally:
        server.close()
