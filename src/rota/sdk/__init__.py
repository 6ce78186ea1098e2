"""The Python face of Rota: what programs import."""
