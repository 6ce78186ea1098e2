"""What every page says about itself (S14): nothing inline, nothing from outside, no frames."""

from typing import Final

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

PAGE: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    # A page shows a tenant's things: nobody on the way keeps it, and "back" after signing out
    # shows nothing.
    "Cache-Control": "no-store",
}
