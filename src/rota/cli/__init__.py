"""The command line: `rota …`. One file per command or group; `app.py` puts them together."""

import signal


def quiet_interrupts() -> None:
    """Let Ctrl-C end the process as it ends other programs: at once, and without a traceback.

    For when there is nothing to tidy up: while modules are imported, until the event loop of a
    server hears signals itself, and while the interpreter ends.
    """
    # Where it is ignored, as in the background of a script, it stays so.
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> None:
    """Run the command line."""
    quiet_interrupts()
    from rota.cli.app import main as run  # noqa: PLC0415 - what takes long comes after

    try:
        run()
    finally:
        quiet_interrupts()
