"""Schedules that are declared in files: `rota plan`, `rota apply` and `rota export`.

text → `documents` (what the files say) → `wanted` (checked, field by field) → `plan` (what to do,
beside what `standing` there is) → `carry_out` (the only part that changes anything).

A file owns what it declares: the schedule carries the tag `applied:<owner>`, so that ownership is
kept where the schedule is, survives another machine, and shows in every list. Pruning removes only
what carries the file's own tag.
"""
