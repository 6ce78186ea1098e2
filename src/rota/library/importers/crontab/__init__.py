"""A crontab, line by line, as schedules: `rota import crontab`.

`lines` says what each line is, `shell` and `calls` read a command that only calls a URL, `entries`
makes schedules of them all. Pure: a text in, entries and reports out.
"""
