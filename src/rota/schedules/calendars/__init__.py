"""Calendars: local dates on which a schedule does not fire, kept by name for each tenant.

A calendar's owner says which (a country's holidays, dates, days of the week); what that comes to is
stored beside it as days, and everything that reads a schedule reads its calendar's days with it. A
change of the days re-arms the schedules that have the calendar, from now on, in batches: each
schedule keeps the version of the days that its timer was armed by, so whoever stops half-way goes
on by asking again.
"""
