"""History: what became of every slot a schedule ever had.

`firing` has the values, `queries` reads firings (live and ended alike) and their attempts, `why`
says what happened at an instant and why. `retention` makes the partitions of the days to come and
drops those of days that are over and done with.
"""
