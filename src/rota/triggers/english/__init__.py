"""English: text to trigger (`read`) and trigger to text (`explain`), each the other's inverse.

A grammar, not a guess: what has two meanings is refused with both spelled out.
"""

from rota.triggers.english.explain import explain
from rota.triggers.english.read import read

__all__ = ["explain", "read"]
