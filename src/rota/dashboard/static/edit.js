// What is typed for "when" is looked at as it is typed; what may have been meant can be clicked.
import { onViewersClock } from "/static/schedule_times.js";
import { localTimes } from "/static/times.js";

const DELAY = 200;
const form = document.getElementById("edit");
const preview = document.getElementById("preview");
const box = preview.closest(".preview");
let timer = null;
let asking = null;

function chosen() {
  return form.elements.firing.value === "pings" ? form.elements.expect : form.elements.when;
}

function address() {
  const query = new URLSearchParams({
    when: chosen().value, timezone: form.elements.timezone.value, calendar: form.elements.calendar.value,
  });
  return `/schedules/preview?${query}`;
}

// The last question wins: the answer to an earlier one is never shown over a later one's.
async function look() {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  try {
    const answer = await fetch(address(), { headers: { accept: "text/html" }, signal: mine.signal });
    if (!answer.ok || answer.redirected || asking !== mine) return;
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (asking !== mine) return;
    preview.replaceChildren(...read.body.childNodes);
    onThisClock();
    say();
    box.classList.remove("waiting");
  } catch (error) {
    if (error.name !== "AbortError") box.classList.remove("waiting");
  }
}

function soon() {
  clearTimeout(timer);
  box.classList.add("waiting");
  timer = setTimeout(look, DELAY);
}

function onThisClock() {
  localTimes(preview);
  onViewersClock(preview);
}

// A screen reader hears what it means, not all the runs after every letter.
function say() {
  const said = preview.querySelector(".meaning, .wrong");
  document.getElementById("said").textContent = said ? said.textContent : "";
}

function offerOwnZone() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const button = form.querySelector("[data-zone]");
  const known = [...document.getElementById("zones").options].some((each) => each.value === zone);
  if (!known || zone === "UTC") return;
  button.textContent = `Use yours: ${zone}`;
  button.closest(".yours").hidden = false;
  button.addEventListener("click", () => {
    form.elements.timezone.value = zone;
    soon();
  });
}

form.addEventListener("input", (event) => {
  if (["when", "expect", "timezone", "calendar", "firing"].includes(event.target.name)) soon();
});

preview.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fill]");
  if (!button) return;
  const field = button.dataset.fill === "timezone" ? form.elements.timezone : chosen();
  field.value = button.dataset.text;
  field.focus();
  soon();
});

// A line is one line: Enter sends the form as it does in any field, Shift and Enter breaks it (an RRULE may have several).
for (const field of form.querySelectorAll("textarea.grow")) {
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector(".bar button.main"));
  });
}

onThisClock();
offerOwnZone();
document.getElementById("refused")?.focus();
