"""What all benchmarks share: timing (`measure`), results as values (`results`) and on disk
(`store`), and their looks (`markdown`, `plot`).
"""
