"""English: what people say, and the one trigger that it means (NL1, TR1, TR2, TR3).

Every text that is understood is explained in words that are understood as the same trigger. What
has several meanings is refused, and every choice offered is understood itself.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from rota.errors import InvalidText, InvalidTimezone
from rota.triggers.english import explain, read
from rota.triggers.limits import Limited
from rota.triggers.parse import parse
from rota.triggers.recurrence import Recurrence

# A Wednesday.
NOW = datetime(2026, 7, 29, 14, 20, 30, tzinfo=UTC)

#: The examples of the rules of time, in the same order.
EXAMPLES = {
    "every 5 minutes": "every:300000",
    "every weekday at 9am": "cron:0 9 * * 1-5:UTC",
    "every monday and thursday at 17:30": "cron:30 17 * * 1,4:UTC",
    "daily at midnight": "cron:0 0 * * *:UTC",
    "on the last friday of the month at 6pm": "cron:0 18 * * 5L:UTC",
    "first of every month at noon": "cron:0 12 1 * *:UTC",
    "every 2 hours between 8am and 6pm on weekdays": "cron:0 8-18/2 * * 1-5:UTC",
    "in 20 minutes": "at:2026-07-29T14:40:30Z",
    "tomorrow at 5pm": "at:2026-07-30T17:00:00Z",
    "at 2027-01-01 00:00": "at:2027-01-01T00:00:00Z",
    "every quarter": "cron:0 0 1 1-10/3 *:UTC",
}

#: Signature (of cron in UTC, without the zone) <- text.
PHRASES = """
    cron:* * * * * * <- every second
    cron:* * * * * <- every minute
    cron:* * * * 0 <- every minute on sundays
    cron:*/10 0-5,22,23 * * * <- every 10 minutes between 22:00 and 06:00
    cron:*/15 * * * * <- every hour at minutes 0, 15, 30 and 45
    cron:*/15 * * * * <- at 0, 15, 30 and 45 minutes past the hour
    cron:*/15 * * * 1-5 <- every 15 minutes on weekdays
    cron:*/15 * * * 1-5 <- every 15 mins on weekdays
    cron:*/15 9-16 * * * <- every 15 minutes between 9:00 and 17:00
    cron:*/15 9-16 * * 1-5 <- every 15 minutes from 9am to 5pm on weekdays
    cron:*/15 9-16 * * 1-5 <- every 15 minutes from 9am until 5pm monday to friday
    cron:*/15 9-16 * * 1-5 <- every 15 minutes 9:00-17:00 mon-fri
    cron:*/30 * * * * 1-5 <- every 30 seconds on weekdays
    cron:*/30 9-16 * * 1-5 <- every 30 minutes 9am to 5pm weekdays
    cron:0 * * * * <- every hour on the hour
    cron:0 * * * * <- every hour
    cron:0 * * * * <- hourly
    cron:0 * * * * <- once an hour
    cron:0 * * * * <- each hour
    cron:0 * * * 1-5 <- every hour during weekdays
    cron:0 * * * 1-5 <- hourly on weekdays
    cron:0 */2 * * * <- every second hour
    cron:0 */3 * * * <- every 3rd hour
    cron:0 */4 * * 1-5 <- every 4 hours on weekdays
    cron:0 0 * * * <- daily at midnight
    cron:0 0 * * * <- at midnight every day
    cron:0 0 * * * <- daily
    cron:0 0 * * * <- every day
    cron:0 0 * * * <- once a day
    cron:0 0 * * * <- every day at 12am
    cron:0 0 * * * <- every day at 0:00
    cron:0 0 * * * <- every day at 12 at night
    cron:0 0 * * 0,6 <- every weekend
    cron:0 0 * * 0 <- weekly
    cron:0 0 * * 0 <- every week
    cron:0 0 * * 0 <- once a week
    cron:0 0 * * 0 <- sundays
    cron:0 0 * * 0 <- midnight on sundays
    cron:0 0 * * 1#1 <- every 1st monday of the month
    cron:0 0 * * 1-5 <- every weekday
    cron:0 0 * * 1 <- once a week on monday
    cron:0 0 * * 2#2 <- every second tuesday of the month
    cron:0 0 * * 5 <- every friday at midnight
    cron:0 0 * 1 1#1 <- every year on the first monday
    cron:0 0 * 1-10/3 1#1 <- first monday of the quarter
    cron:0 0 * 3 1 <- every monday in march
    cron:0 0 1 * * <- monthly
    cron:0 0 1 * * <- every month
    cron:0 0 1 * * <- once a month
    cron:0 0 1 * * <- start of every month
    cron:0 0 1 * * <- every 1 month
    cron:0 0 1 1 * <- yearly
    cron:0 0 1 1 * <- annually
    cron:0 0 1 1 * <- every year
    cron:0 0 1 1 * <- every january 1st
    cron:0 0 1 1 * <- every january 1st at midnight
    cron:0 0 1 1 * <- first day of the year
    cron:0 0 1 1,7 * <- every 6 months
    cron:0 0 1 1-10/3 *:Asia/Tokyo <- every quarter Asia/Tokyo
    cron:0 0 1 1-10/3 * <- every quarter
    cron:0 0 1 1-10/3 * <- quarterly
    cron:0 0 1 1-10/3 * <- first day of every quarter
    cron:0 0 1 1-10/3 * <- first day of the quarter
    cron:0 0 1 1-10/3 * <- every 3 months
    cron:0 0 1 1-11/2 * <- every 2 months
    cron:0 0 1 3,9 * <- every 1st of march and september
    cron:0 0 15 * * <- the 15th of each month
    cron:0 0 15 1-10/3 * <- 15th of every quarter
    cron:0 0 15 3 * <- the 15th of march every year
    cron:0 0 1W * * <- first weekday of the month
    cron:0 0 25 12 * <- every december 25
    cron:0 0 4 * * <- every 4th of the month
    cron:0 0 4 7 * <- every 4th of july
    cron:0 0 L * * <- last day of the month
    cron:0 0 L * * <- every last day of the month
    cron:0 0,12 * * * <- every day at noon and midnight
    cron:0 10 * * 0,6 <- saturdays and sundays at 10am
    cron:0 10 * * 0,6 <- on weekends at 10am
    cron:0 10 * * 0,6 <- every weekend at 10am
    cron:0 10 * * 1#1 <- first monday of each month at 10am
    cron:0 10 * * 1#1 <- the first monday of each month at 10am
    cron:0 10 * * 2#2 <- the 2nd tuesday of every month at 10:00
    cron:0 10 * * 2#2 <- second tuesday of the month at 10am
    cron:0 12 * * * <- every day at 12pm
    cron:0 12 * * 1-5 <- every monday through friday at noon
    cron:0 12 * * 1-5 <- every day except weekends at noon
    cron:0 12 * * 1-5 <- noon every weekday
    cron:0 12 * * 5#2,5#4 <- every 2nd and 4th friday at noon
    cron:0 12 * 11 4#3 <- every year on the third thursday of november at noon
    cron:0 12 * 11 4#3 <- every third thursday of november at noon
    cron:0 12 1 * * <- first of every month at noon
    cron:0 12 4 7 * <- every july 4 at noon
    cron:0 14 * * * <- every afternoon at 2pm
    cron:0 15 15 * * <- once a month on the 15th at 3pm
    cron:0 16 * * 5 <- every friday afternoon at 4
    cron:0 17 * * 5#3 <- every 3rd friday of the month at 5pm
    cron:0 17 LW * * <- last weekday of the month at 5pm
    cron:0 18 * * * <- at 6 every evening
    cron:0 18 * * 1,3 <- mondays and wednesdays at 6pm
    cron:0 18 * * 5L <- on the last friday of the month at 6pm
    cron:0 18 * 3-12/3 5L <- last friday of every quarter at 6pm
    cron:0 18 1 * * <- at 6pm on the 1st of every month
    cron:0 18 L 3-12/3 * <- every quarter on the last day at 6pm
    cron:0 18 L 3-12/3 * <- last day of the quarter at 6pm
    cron:0 2 * * * <- nightly at 2am
    cron:0 2 * * * <- every night at 2
    cron:0 20 * * 5 <- 8pm every friday
    cron:0 23 * * * <- every night at 11pm
    cron:0 23 * * * <- nightly at 11pm
    cron:0 23 L * * <- last day of every month at 23:00
    cron:0 23 L * * <- on the last day of each month at 11pm
    cron:0 23 L 12 * <- last day of the year at 11pm
    cron:0 6 1 * * <- first day of the month at 6am
    cron:0 7 * * * <- every morning at 7am
    cron:0 8 * * * <- every day at 8 in the morning
    cron:0 8 * * * <- every morning at 8
    cron:0 8 * * * <- at 8 every morning
    cron:0 8 * * 1-5 <- monday to friday at 08:00
    cron:0 8 * * 1-5 <- monday - friday at 8am
    cron:0 8 1 * * <- beginning of the month at 8am
    cron:0 8 1,10,20 * * <- on the 1st, 10th and 20th of each month at 8am
    cron:0 8 25 12 * <- on december 25 at 8am every year
    cron:0 8 25 12 * <- every year on december 25 at 8am
    cron:0 8,18 * * * <- every day at 8 in the morning and 6 in the evening
    cron:0 8-18/2 * * 1-5 <- every 2 hours between 8am and 6pm on weekdays
    cron:0 8-20/2 * * * <- every 2 hours from 8am until 8pm
    cron:0 9 * * *:+05:30 <- every day at 9am +05:30
    cron:0 9 * * *:America/New_York <- every day at 9am America/New_York
    cron:0 9 * * *:America/New_York <- every day at 9am (America/New_York)
    cron:0 9 * * *:America/New_York <- every day at 9am in America/New_York
    cron:0 9 * * *:Europe/Berlin <- at 9am every day Europe/Berlin
    cron:0 9 * * *:Europe/Berlin <- at 9am every day, Europe/Berlin
    cron:0 9 * * *:Europe/Berlin <- at 9am every day in Europe/Berlin
    cron:0 9 * * * <- 9am daily
    cron:0 9 * * * <- once a day at 9am
    cron:0 9 * * * <- every day at 9am until 2027-02-01
    cron:0 9 * * * <- every day at 9am UTC
    cron:0 9 * * * <- every day at 9am utc
    cron:0 9 * * * <- every day at 9am Z
    cron:0 9 * * * <- Every Day At 9AM.
    cron:0 9 * * * <- once daily at 9am
    cron:0 9 * * * <- once every day at 9am
    cron:0 9 * * 1#1 <- every first monday at 9am
    cron:0 9 * * 1#1 <- every month on the first monday at 9am
    cron:0 9 * * 1,3,5 <- every mon/wed/fri at 9am
    cron:0 9 * * 1-4 <- every weekday except friday at 9am
    cron:0 9 * * 1-5 <- every weekday at 9am
    cron:0 9 * * 1-5 <- weekdays at 9 am
    cron:0 9 * * 1-5 <- weekdays at 9 a.m.
    cron:0 9 * * 1-5 <- mon-fri at 9am
    cron:0 9 * * 1-5 <- 9am on weekdays
    cron:0 9 * * 1-5 <- weekdays @ 9am
    cron:0 9 * * 1-5 <- every week day at 9am
    cron:0 9 * * 1-5 <- every mon-fri 9am
    cron:0 9 * * 1-6 <- every day except sunday at 9am
    cron:0 9 * * 1-6 <- every day but sunday at 9am
    cron:0 9 * * 1 <- every monday at 9am, at most 3 times
    cron:0 9 * * 1 <- monday mornings at 9am
    cron:0 9 * * 1 <- mondays in the morning at 9
    cron:0 9 * * 1 <- EVERY MONDAY AT 9AM
    cron:0 9 * * 1 <- each monday at 9am
    cron:0 9 * 1-7,9-12 * <- daily except in august at 9am
    cron:0 9 * 6 * <- in june every day at 9am
    cron:0 9 * 6 * <- every day in june at 9am
    cron:0 9 */31,1 * 1-6 <- 1st of the month except on sundays at 9am
    cron:0 9 1 1,4 * <- every jan 1, apr 1 at 9am
    cron:0 9 1,15 * * <- every 1st and 15th at 9am
    cron:0 9 1,15 * * <- on days 1 and 15 of the month at 9am
    cron:0 9 15 * * <- 15th of every month at 9am
    cron:0 9 15 * * <- every 15th day of the month at 9am
    cron:0 9 15 * * <- day 15 of the month at 9am
    cron:0 9 1W * * <- first weekday of the month at 9am
    cron:0 9,12,17 * * * <- every day at 9am, noon and 5pm
    cron:0 9,13,17 * * * <- every day at 9am, 1pm, and 5pm
    cron:0 9,17 * * * <- every day at 9am and 5pm
    cron:0 9,17 * * 1-5 <- 9am and 5pm on weekdays
    cron:0 9-17 * * * <- hourly between 9am and 5pm
    cron:0 9-17 * * 1-5 <- every hour 9am-5pm on weekdays
    cron:0 9-17 * * 1-5 <- every hour from 9am to 5pm, monday to friday
    cron:10 * * * * <- at 10 past every hour
    cron:15 * * * * <- at 15 minutes past every hour
    cron:15 * * * * <- 15 minutes past the hour
    cron:15 * * * * <- at minute 15 of every hour
    cron:15 * * * * <- every hour at quarter past
    cron:15 * * * * <- at quarter past every hour
    cron:15 8 * * 1,3,5 <- every mon, wed and fri at 8:15
    cron:30 * * * * <- every hour at :30
    cron:30 * * * * <- every hour at half past
    cron:30 * * * * <- every hour on the half hour
    cron:30 17 * * 1,4 <- every monday and thursday at 17:30
    cron:30 17 * * 1,4 <- mondays & thursdays at 17:30
    cron:30 17 * * 1 <- 17:30 on mondays
    cron:30 18 * * * <- every evening at 6:30pm
    cron:30 21 * * * <- every day at 9:30 in the evening
    cron:30 8 * * 1-5 <- every weekday morning at 8:30
    cron:30 8 * * 1-5 <- weekday mornings at 8:30am
    cron:30 9 * * * <- every day at 9.30am
    cron:30 9 * * 1-5 <- weekdays at 9:30am
    cron:5 * * * * <- at 5 past the hour
    cron:59 23 * * 0 <- every sunday at 23:59
    every:10000 <- every 10 seconds
    every:10800000 <- every three hours
    every:10800000 <- every 3 hours
    every:1209600000 <- every 2 weeks
    every:14400000 <- every 4 hours
    every:172800000 <- every 2 days
    every:1800000 <- every half hour
    every:1800000 <- every half an hour
    every:1800000 <- half hourly
    every:2000 <- every 2 seconds
    every:21600000 <- every 6 hours starting 2027-01-01
    every:21600000 <- every 6 hours starting at 2027-01-01 08:00
    every:2700000 <- every 45 minutes
    every:2700000 <- every forty-five minutes
    every:300000 <- every 5 minutes
    every:300000 <- every 5 minutes, starting 2027-01-01 08:00, until 2027-02-01
    every:300000 <- once every 5 minutes
    every:300000 <- every 5 minutes UTC
    every:300000 <- every 5 minutes Asia/Tokyo
    every:3024000000 <- every 5 weeks
    every:3600000 <- every one hour
    every:43200000 <- every twelve hours
    every:5400000 <- every 90 minutes
    every:5400000 <- every 1h30m
    every:5400000 <- every 1 hour and 30 minutes
    every:5400000 <- every hour and a half
    every:604800000 <- every 1 week
    every:7200000 <- every couple of hours
    every:86400000 <- every 24 hours
    every:86400000 <- every 1 day
    every:90000 <- every ninety seconds
    every:900000 <- every 15 min
    every:900000 <- every quarter hour
    every:900000 <- every quarter of an hour
    at:2026-07-29T14:21:30Z <- in a minute
    at:2026-07-29T14:40:30Z <- in 20 minutes
    at:2026-07-29T14:40:30Z <- 20 minutes from now
    at:2026-07-29T14:40:30Z <- in 20 minutes Europe/Madrid
    at:2026-07-29T14:50:30Z <- in half an hour
    at:2026-07-29T15:20:30Z <- in an hour
    at:2026-07-29T15:20:30Z <- an hour from now
    at:2026-07-29T15:50:30Z <- in an hour and a half
    at:2026-07-29T15:50:30Z <- in 1.5 hours
    at:2026-07-29T17:00:00Z <- at 5pm today
    at:2026-07-29T17:00:00Z <- today at 5pm
    at:2026-07-29T20:00:00Z <- tonight at 8
    at:2026-07-29T21:00:00Z <- tonight at 9pm
    at:2026-07-30T09:00:00Z <- tomorrow morning at 9am
    at:2026-07-30T09:00:00Z <- tomorrow 9am
    at:2026-07-30T11:30:00Z <- tomorrow at 5pm (Asia/Kolkata)
    at:2026-07-30T12:00:00Z <- at noon tomorrow
    at:2026-07-30T12:00:00Z <- noon tomorrow
    at:2026-07-30T12:00:00Z <- tomorrow at noon
    at:2026-07-30T17:00:00Z <- tomorrow at 5pm
    at:2026-07-30T17:00:00Z <- at 5pm tomorrow
    at:2026-07-30T21:00:00Z <- tomorrow at 5pm America/New_York
    at:2026-07-31T09:00:00Z <- the day after tomorrow at 9am
    at:2026-07-31T14:20:30Z <- in 2 days
    at:2026-07-31T17:00:00Z <- this friday at 5pm
    at:2026-07-31T17:00:00Z <- on this friday at 5pm
    at:2026-08-01T09:00:00Z <- in 3 days at 9am
    at:2026-08-05T12:00:00Z <- in a week at noon
    at:2026-08-05T14:20:30Z <- in a week
    at:2026-08-12T14:20:30Z <- in 2 weeks
    at:2026-12-31T23:00:00Z <- at 2027-01-01 00:00 Europe/Madrid
    at:2027-01-01T00:00:00Z <- 2027-01-01
    at:2027-01-01T00:00:00Z <- on 2027-01-01
    at:2027-01-01T00:00:00Z <- once on 2027-01-01
    at:2027-01-01T09:00:00Z <- 2027-01-01 9am
    at:2027-01-01T09:00:00Z <- on 2027-01-01 at 9am
    at:2027-01-01T09:00:00Z <- january 1 2027 at 9am
    at:2027-01-01T09:00:00Z <- on january 1st 2027 at 9am
    at:2027-01-01T09:00:00Z <- at 9am on january 1st, 2027
    at:2027-01-01T09:00:00Z <- once at 2027-01-01 09:00
    at:2027-01-05T09:00:00Z <- jan 5, 2027 at 9am
"""


def _understood() -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for line in PHRASES.strip().splitlines():
        signature, text = (part.strip() for part in line.split(" <- "))
        in_utc = signature.startswith("cron") and signature.count(":") == 1
        pairs.append((text, f"{signature}:UTC" if in_utc else signature))
    return pairs


UNDERSTOOD = _understood()

#: More than one meaning: refused with choices.
AMBIGUOUS = """
    every other week
    12/1 at 5
    twice a day
    twice daily
    nightly
    every other day
    biweekly
    fortnightly
    bimonthly
    next friday
    next friday at 9am
    tomorrow
    december 25
    every day at 9
    every morning
    tonight
    three times a day
    on the 15th at 9am
    on the 4th of july at noon
    july 4
    every june
    sunday
    every two weeks on monday
    every 2 days at 9am
    every 12 months
    every 2 years
    every other month
    every other monday
    at 9am
    9am
    17:00
    on friday
    friday at 5pm
    at 5
    tonight at 2am
    midnight tonight
    in 3 months
    in a year
    every fortnight
    every twenty five minutes on weekdays
    every 7 minutes on weekdays
    every 3rd friday at 5pm
    every third day
    every third day at 9am
    every other weekend
    every other weekday
    every other hour
    every second week on friday at 9am
    every 15th day
    every other friday at 17:00 Europe/Madrid
    every other friday at 17:00, starting 2027-01-01
    every day at 5, until 2027-01-01
    15th of every month except on sundays at 9am
    every month on monday
    every year on the 15th
    every quarter on monday
    end of the month
    at the end of every month
    at the end of every month at 6pm
    every 15 minutes between 9 and 5 on weekdays
    every 15 minutes between 9 and 17 on weekdays
    next week
    next month
    next monday at 10am
    friday
    sat and sun at 10am
    12/31 at 5pm
    12/31/2027 at 5pm
    1/2/2027
    5 january 2027
    every day at 9 o'clock
    at 5 o'clock
    twice a week
    four times an hour
    5 times a week
    twice a month
    three times a day at 9am
    the 1st of jan, apr, jul and oct at 9am
    every 2 quarters
    every 3 quarters
    biannually
    semi-annually
    bi-weekly
    fortnightly on friday at 9am
    biennially
    every other week on monday and thursday at 8am and 6pm
    every other month on the 15th at noon
    every february at noon
    every year on the 2nd friday
    tonight (Asia/Tokyo)
""".strip()

#: No meaning, or none that one schedule can hold: refused, with an example to go by.
NOT_UNDERSTOOD = """
    christmas
    every day at 9:00 and 17:30
    every 15 minutes during business hours
    every 6 hours starting at midnight
    every day at 25:00
    every day at 13pm
    every day at 24:00
    every friday at 17h
    at 17
    every day at 17
    every day at 1730
    every day at 9am New York time
    every -5 minutes
    every day at 09:30 in the evening
    every morning at 8pm
    every monday except monday
    every 5 minutes every month
    hourly weekly
    between 9 and 5
    m-f at 9am
    every minute of the day
    every 10 minutes between 22:00 and 06:00 on weekdays
    9 o'clock every day
    per day
    first weekday and 15th of the month at 9am
    second weekday of the month at 9am
    every day at 9am and every day at 5pm
    every 500 ms
    every 1 ms
    every day at 9am sharp
    run every day at 9am
    please every day at 9am
    every blue moon
    whenever
    never
    now
    immediately
    every leap year
    every day at sunrise
    every jan 1 and apr 15 at 9am
    every 1st of march and 15th of april
    every first monday of march and last friday of june
    daily weekly
    every 5 minutes every 10 minutes
    every 0th minute
    every 61st minute
    every hour among 24
    every minute among
    today and tomorrow at 9am
    every hour between 8am and 9am between 1pm and 2pm
    every 0 hours on weekdays
    on the 32nd of the month
    in 0 minutes
    every day at 9am at 10am
    in 200 years
    every day but every day
    on the weekday nearest to the 1st and the weekday nearest to the 15th of the month
""".strip()

#: Zones that are no zones, or several.
WITH_A_BAD_ZONE = """
    every day 9am america/new_york
    every day at 9am EST
    every day at 9am gmt
    at 9am every day Europe/Nowhere
    every day at 9am PST
    every day at 9am pst
    every day at 9am ET
""".strip()


def lines(block: str) -> list[str]:
    return [line.strip() for line in block.splitlines()]


def refusal(text: str) -> InvalidText:
    with pytest.raises(InvalidText) as raised:
        parse(text, now=NOW)
    return raised.value


@pytest.mark.parametrize(("text", "signature"), EXAMPLES.items())
def test_the_examples_mean_what_they_say(text: str, signature: str) -> None:
    assert parse(text, now=NOW).signature == signature
    assert read(text, now=NOW).signature == signature


@pytest.mark.parametrize("text", EXAMPLES)
@pytest.mark.parametrize("zone", ["Europe/Madrid", "America/New_York", "+05:30", "UTC"])
@pytest.mark.parametrize("form", ["{} {}", "{} ({})", "{} in {}", "{}, {}"])
def test_a_zone_in_the_text_is_the_same_as_one_beside_it(text: str, zone: str, form: str) -> None:
    within = parse(form.format(text, zone), now=NOW)
    beside = parse(text, zone, now=NOW)
    assert within == beside
    assert within.signature == beside.signature
    assert within.timezone == beside.timezone == zone
    assert parse(form.format(text, zone), zone, now=NOW) == beside


@pytest.mark.parametrize("text", EXAMPLES)
def test_two_zones_are_refused(text: str) -> None:
    with pytest.raises(InvalidTimezone, match="expected one, got Asia/Tokyo beside Europe/Madrid"):
        parse(f"{text} Europe/Madrid", "Asia/Tokyo", now=NOW)


@pytest.mark.parametrize(("text", "signature"), UNDERSTOOD)
def test_natural_phrasings_have_one_meaning(text: str, signature: str) -> None:
    trigger = parse(text, now=NOW)
    assert trigger.signature == signature
    assert parse(text.upper() if "/" not in text else text, now=NOW) == trigger
    assert parse(f"  {text.replace(' ', '   ')} ", now=NOW) == trigger


@pytest.mark.parametrize(("text", "signature"), UNDERSTOOD)
def test_what_is_explained_is_understood_again(text: str, signature: str) -> None:
    trigger = parse(text, now=NOW)
    said = explain(trigger)
    again = parse(said, now=NOW + timedelta(days=400))
    assert again == trigger
    assert again.signature == signature
    assert explain(again) == said


@pytest.mark.parametrize("text", [*lines(AMBIGUOUS), *lines(NOT_UNDERSTOOD)])
def test_every_choice_of_a_refusal_is_understood(text: str) -> None:
    try:
        parse(text, now=NOW)
    except InvalidText as refused:
        for choice in refused.choices:
            parse(choice, now=NOW)
        # Without a present instant there may be fewer choices, and they hold as well.
        try:
            parse(text)
        except InvalidText as timeless:
            for choice in timeless.choices:
                parse(choice, now=NOW)
        return
    except ValueError:
        return
    pytest.fail(f"understood: {text}")


@pytest.mark.parametrize("text", lines(AMBIGUOUS))
def test_what_is_ambiguous_is_refused_with_choices(text: str) -> None:
    refused = refusal(text)
    assert refused.choices
    assert "has more than one meaning" in str(refused)
    for choice in refused.choices:
        assert f'"{choice}"' in str(refused)


@pytest.mark.parametrize("text", lines(NOT_UNDERSTOOD))
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"Not understood|Expected|[Ee]xpected|more than one|leaves|runs over midnight",
    ):
        parse(text, now=NOW)


@pytest.mark.parametrize("text", lines(WITH_A_BAD_ZONE))
def test_a_bad_zone_in_the_text_is_refused_as_a_zone(text: str) -> None:
    with pytest.raises(
        InvalidTimezone, match=r"^Invalid timezone: \S+\. Use IANA format \(e\.g\., "
    ):
        parse(text, now=NOW)


def test_choices_keep_the_zone_and_the_limits_that_were_said() -> None:
    refused = refusal("every day at 5, until 2027-01-01 Europe/Madrid")
    assert refused.choices == (
        "every day at 05:00, until 2027-01-01 (Europe/Madrid)",
        "every day at 17:00, until 2027-01-01 (Europe/Madrid)",
    )
    trigger = parse(refused.choices[0], now=NOW)
    assert isinstance(trigger, Limited)
    assert trigger.timezone == "Europe/Madrid"
    rules = refusal("every other friday at 17:00, until 2027-01-01 Europe/Madrid").choices
    assert all(isinstance(parse(rule, now=NOW), Limited) for rule in rules)


def test_every_other_monday_is_offered_from_either_monday_on() -> None:
    first, second = refusal("every other monday at 9am").choices
    slots = [parse(rule).next_after(NOW) for rule in (first, second)]
    assert slots == [datetime(2026, 8, day, 9, tzinfo=UTC) for day in (3, 10)]
    rule = parse(first)
    assert isinstance(rule, Recurrence)
    assert rule.next_after(datetime(2026, 8, 3, 9, tzinfo=UTC)) == datetime(
        2026, 8, 17, 9, tzinfo=UTC
    )


MONTHLY_AT_NOON = "RRULE:FREQ=MONTHLY;INTERVAL=2;BYMONTHDAY=15;BYHOUR=12;BYMINUTE=0"


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        (
            "every other month on the 15th at noon",
            tuple(f"DTSTART:{start}T000000 {MONTHLY_AT_NOON}" for start in (20260801, 20260901)),
        ),
        ("every other month on the last day", ()),
        ("every other day on mondays at 9am", ()),
        ("every other week in june", ()),
    ],
)
def test_no_choice_leaves_out_what_was_said(text: str, choices: tuple[str, ...]) -> None:
    assert refusal(text).choices == choices


def test_next_friday_is_offered_as_dates() -> None:
    assert refusal("next friday at 9am").choices == ("at 2026-07-31 09:00", "at 2026-08-07 09:00")


def test_a_bare_hour_alone_is_offered_once_and_always() -> None:
    assert refusal("at 5").choices == (
        "every day at 05:00",
        "at 2026-07-30 05:00",
        "every day at 17:00",
        "at 2026-07-29 17:00",
    )


def test_today_is_the_day_of_the_zone() -> None:
    late = datetime(2026, 7, 29, 23, 30, tzinfo=UTC)
    assert parse("today at 9am", "Asia/Tokyo", now=late).signature == "at:2026-07-30T00:00:00Z"
    early = datetime(2026, 7, 29, 1, 30, tzinfo=UTC)
    assert parse("tomorrow at 9am America/New_York", now=early).signature == (
        "at:2026-07-29T13:00:00Z"
    )


@pytest.mark.parametrize("text", ["in 20 minutes", "tomorrow at 5pm", "this friday at 5pm"])
def test_what_counts_from_now_needs_a_present(text: str) -> None:
    with pytest.raises(InvalidText, match="counts from now, and no present instant was given"):
        parse(text)


@pytest.mark.parametrize("text", ["every hour between 09:00 and 17:00", "every 2 hours on mondays"])
def test_a_text_needs_no_present_otherwise(text: str) -> None:
    assert parse(text).signature == parse(text, now=NOW).signature


def test_a_time_in_a_gap_stands_for_its_end() -> None:
    # TZ5: 02:30 does not exist on that day.
    trigger = parse("at 2027-03-14 02:30 America/New_York", now=NOW)
    assert trigger.signature == "at:2027-03-14T07:00:00Z"


@pytest.mark.parametrize(
    ("text", "start_at", "end_at", "max_firings"),
    [
        ("every day at 9am, starting 2027-01-01", "2027-01-01T00:00", None, None),
        ("every day at 9am starting on 2027-01-01", "2027-01-01T00:00", None, None),
        ("every day at 9am beginning 2027-01-01 08:00", "2027-01-01T08:00", None, None),
        ("every day at 9am until 2027-02-01", None, "2027-02-01T23:59:59", None),
        ("every day at 9am until 2027-02-01 09:00", None, "2027-02-01T09:00", None),
        ("every day at 9am, at most 3 times", None, None, 3),
        ("every day at 9am, up to 1 time", None, None, 1),
        (
            "every day at 9am, starting 2027-01-01, until 2027-02-01, at most 7 times (UTC)",
            *("2027-01-01T00:00", "2027-02-01T23:59:59", 7),
        ),
    ],
)
def test_limits_are_said_beside_it(
    text: str, start_at: str | None, end_at: str | None, max_firings: int | None
) -> None:
    trigger = parse(text, now=NOW)
    assert isinstance(trigger, Limited)
    assert trigger.signature == "cron:0 9 * * *:UTC"
    start, end = (at and datetime.fromisoformat(at + "+00:00") for at in (start_at, end_at))
    assert (trigger.start_at, trigger.end_at, trigger.max_firings) == (start, end, max_firings)


def test_a_limit_said_twice_is_refused() -> None:
    with pytest.raises(InvalidText, match='Expected "until" once'):
        parse("every day at 9am until 2027-01-01 until 2028-01-01")


def test_only_an_interval_counts_from_an_instant() -> None:
    with pytest.raises(InvalidText, match='Expected "counted from" with an interval'):
        parse("every day at 9am, counted from 2027-01-01")


def test_a_long_text_is_not_repeated_in_full() -> None:
    refused = refusal("every day at nine thirty " + "and on " * 60)
    assert len(str(refused)) < 600
