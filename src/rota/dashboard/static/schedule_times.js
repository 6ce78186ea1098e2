// Beside a slot, in <span data-here="instant">, what the viewer's own clock will show.
const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const FORMAT = new Intl.DateTimeFormat("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

export function onViewersClock(root) {
  for (const each of root.querySelectorAll("[data-here]:empty")) {
    const text = FORMAT.format(new Date(each.dataset.here)).replace(/:00$/, "").replace(",", "");
    const before = each.parentElement.textContent.trim() ? " · " : "";
    each.textContent = `${before}${text} your clock (${ZONE.split("/").pop().replaceAll("_", " ")})`;
  }
}
