"""Tasks: functions of the user's that a worker runs.

`registry` knows them by name. `signature` is what a function takes and gives; `arguments` turns a
payload into arguments and back; `results` a return value into a reply, `failures` an exception into
one. `caller` makes the call of a claim, on the loop (`on_loop`), in threads (`threads`) or in child
processes (`processes`). `context` is what a function may ask about its run, and `progress` carries
what it says to the database.
"""
