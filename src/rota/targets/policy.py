"""Which targets may be called: the operator's word, asked at create time and again at every call.

The first is a courtesy: a mistake shows where it is made. The second is the wall: only there is
known which addresses a name has, and every one of them must pass. Pure.

The operator's tenant may have rules of its own, and is told why a target is refused. All other
tenants hear one sentence, whether the name has no address, a private one or a denied one: told
apart, these answers would map the network that the server is in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from rota.targets import addresses
from rota.targets.errors import TargetRefused, show
from rota.targets.rules import NOTHING, Rules, plain
from rota.targets.special import special

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from rota.targets.special import Address

_LOCAL_NAMES: Final = frozenset(
    {"localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "broadcasthost"}
)
_LOCAL_SUFFIXES: Final = (".localhost", ".localdomain", ".localdomain4", ".localdomain6")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_HOW_TO_OPEN: Final = "ROTA_ALLOW_PRIVATE_TARGETS=1 or allow_targets lets targets be private"
HIDDEN: Final = "the target was not found, or may not be called here"
"""All that a tenant other than the operator's hears of a host."""
_HOW_TO_OPEN_METADATA: Final = "only its own address in allow_targets lets it be called"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetPolicy:
    """What the operator allows. `deny` wins over `allow`, which opens what is closed otherwise."""

    allow_private: bool = False
    https_only: bool = False
    allow: Rules = NOTHING
    deny: Rules = NOTHING
    ports: frozenset[int] = frozenset()
    """Empty for any."""
    is_discreet: bool = False
    """Whether all that concerns a host is told in one and the same sentence."""
    operator: UUID | None = None
    tenants: TargetPolicy | None = None
    """What holds for every tenant but `operator`; None when the same holds for all."""

    @staticmethod
    def of(
        *,
        allow_private: bool = False,
        https_only: bool = False,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        ports: Iterable[int] = (),
    ) -> TargetPolicy:
        """The policy that the configuration's texts describe; ValueError for a bad list."""
        return TargetPolicy(
            allow_private=allow_private,
            https_only=https_only,
            allow=Rules.read(allow),
            deny=Rules.read(deny),
            ports=frozenset(ports),
        )

    def of_tenant(self, tenant: UUID) -> TargetPolicy:
        """What holds for this tenant."""
        return self if self.tenants is None or tenant == self.operator else self.tenants

    def for_others(self, operator: UUID, *, allow_private: bool) -> TargetPolicy:
        """This policy for the operator's tenant alone, with another for all others."""
        others = replace(self, allow_private=allow_private, is_discreet=True)
        return replace(self, operator=operator, tenants=others)

    def wrong_with_url(self, url: str) -> str | None:
        """Why a URL is refused, as far as it can be told without a look-up; None when it is not."""
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            return f"{error}, got {show(url)}"
        return self.wrong_with_place(parts.scheme, parts.hostname or "", port)

    def wrong_with_place(self, scheme: str, host: str, port: int | None) -> str | None:
        """The same, of a URL's parts."""
        port = port or _DEFAULT_PORTS.get(scheme, 0)
        if self.https_only and scheme != "https":
            return f"expected https://, as https_only is on here, got {scheme}://"
        if self.ports and port not in self.ports:
            allowed = ", ".join(map(str, sorted(self.ports)))
            return f"the port {port} may not be called here; target_ports has {allowed}"
        wrong = self._wrong_with_host(host)
        return HIDDEN if wrong is not None and self.is_discreet else wrong

    def wrong_with_addresses(self, host: str, found: Iterable[str]) -> str | None:
        """Why a host is refused for one of the addresses it has; None when all of them pass.

        One that fails spoils all: which of them is connected to is nobody's promise.
        """
        count = 0
        for text in found:
            count += 1
            try:
                address = addresses.resolved(text)
            except ValueError:
                return f"expected addresses of {host}, got {show(text)}"
            if wrong := self._wrong_with_address(host, address):
                return wrong
        return None if count else f"{host} has no address"

    def require(self, host: str, found: Iterable[str]) -> None:
        """`TargetRefused` unless every address that the host has may be called."""
        wrong = self.wrong_with_addresses(host, found)
        if wrong is not None:
            raise self.refusal(wrong)

    def refusal(self, wrong: str) -> TargetRefused:
        """The error for a host that is refused, or not found, with as much as may be told."""
        return TargetRefused(HIDDEN, detail=wrong) if self.is_discreet else TargetRefused(wrong)

    def _wrong_with_host(self, host: str) -> str | None:
        if self.deny.name(host):
            return f"{plain(host)} may not be called here; deny_targets has it"
        address = addresses.literal(host)
        if address is not None:
            return self._wrong_with_address(host, address)
        if addresses.looks_numeric(host):
            return f"expected a host or an address, got {show(host)}"
        if _is_local(plain(host)) and not self.allow_private and not self.allow.name(host):
            return f"{plain(host)} is this machine; {_HOW_TO_OPEN}"
        return None

    def _wrong_with_address(self, host: str, address: Address) -> str | None:
        for reading in addresses.readings(address):
            if self.deny.hold(reading):
                return f"{_named(host, address)} may not be called here; deny_targets has it"
            if wrong := self._wrong_with_reading(host, address, reading):
                return wrong
        return None

    def _wrong_with_reading(self, host: str, address: Address, reading: Address) -> str | None:
        found = special(reading)
        if found is None or self.allow.hold(reading):
            return None
        inner = "" if reading == address else f" (it leads to {reading})"
        if found.metadata:
            how = _HOW_TO_OPEN_METADATA
        elif self.allow_private or self.allow.name(host):
            return None
        else:
            how = _HOW_TO_OPEN
        return f"{_named(host, address)} is {found.is_}{inner}; {how}"


OPEN: Final = TargetPolicy(allow_private=True)
"""Private targets too, as the embedded server has it. Metadata services stay closed."""


def _is_local(name: str) -> bool:
    return name in _LOCAL_NAMES or name.endswith(_LOCAL_SUFFIXES)


def _named(host: str, address: Address) -> str:
    """ "the address 10.0.0.5 of internal.example"; just the address where the host is one."""
    return (
        f"the address {address}"
        if addresses.literal(host)
        else f"the address {address} of {plain(host)}"
    )
