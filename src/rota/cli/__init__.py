"""The command line: `rota …`."""
