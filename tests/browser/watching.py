"""An eye on a browser: nothing may come from outside, pop up, or break the page's policy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Request

# Violations of the policy are told to the console by a listener of the tests' own, in every frame.
_LISTENER = """
addEventListener("securitypolicyviolation", (event) => {
  console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
});
"""


_NETWORK_CHANGED = "net::ERR_NETWORK_CHANGED"
"""An interface of the machine came, went or got another address while something was being loaded,
as when a virtual machine is moved. The page has no part in it."""


@dataclass
class Watch:
    """What happened in a browser that should not have."""

    origin: str
    faults: list[str] = field(default_factory=list[str])
    asks: int = 0
    """So many questions ("Delete it?") are expected, and are answered with yes."""
    refusals: bool = False
    """Whether answers of 4xx are part of the test; a browser notes them on its console."""

    async def over(self, context: BrowserContext) -> None:
        """Watch all its pages, from now on."""
        await context.add_init_script(_LISTENER)
        context.on("request", self._requested)
        context.on("console", self._told)
        context.on("dialog", self._asked)
        context.on("weberror", lambda error: self.faults.append(f"script: {error.error}"))

    def nothing_happened(self) -> None:
        assert self.faults == []
        assert self.asks == 0, f"{self.asks} questions were expected and not asked"

    def _requested(self, request: Request) -> None:
        if not request.url.startswith((f"{self.origin}/", "data:")):
            self.faults.append(f"outside: {request.url}")

    def _told(self, message: ConsoleMessage) -> None:
        refused = "Failed to load resource" in message.text
        if refused and message.text.endswith(_NETWORK_CHANGED):
            return
        if message.type == "error" and not (refused and self.refusals):
            self.faults.append(f"console: {message.text}")

    async def _asked(self, dialog: Dialog) -> None:
        if dialog.type == "confirm" and self.asks:
            self.asks -= 1
            await dialog.accept()
        else:
            self.faults.append(f"dialog: {dialog.type} {dialog.message}")
            await dialog.dismiss()
