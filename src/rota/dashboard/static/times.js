// Every <time datetime> says in its title what the viewer's own clock shows, and whose clock that is.
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const FORMAT = new Intl.DateTimeFormat(undefined, {
  weekday: "short", day: "numeric", month: "short", year: "numeric",
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});

export function localTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const instant = new Date(element.getAttribute("datetime"));
    if (!Number.isNaN(instant.getTime())) element.title = `${FORMAT.format(instant)} ${ZONE} (your clock)`;
  }
}

export function here(instant) {
  return `${FORMAT.format(instant)} ${ZONE}`;
}
