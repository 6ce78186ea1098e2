"""Measurements of Rota beside its peers, in the same run on the same machine.

`python -m bench` runs all, `python -m bench triggers` one; what they found is in `RESULTS.md`. The
package `frame` times, keeps and shows; every other module or package here is a benchmark, which
says so by having a `BENCHMARK`.
"""
