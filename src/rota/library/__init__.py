"""Rota inside a Python program: `Rota`, its decorators, and what they make.

`app` has `Rota`, the object that a program makes once. Its decorators (`decorating`) make a `Task`
of each function and note what it declares (`declaration`); `declaring` turns that into schedules
when the program starts. `lifecycle` starts and stops the engine inside the program; `running` is
what there is meanwhile. `enqueueing` and `handles` are for those who ask a task for something.
"""
