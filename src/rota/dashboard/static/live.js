// One stream of beats for the page, shared by whatever listens. It comes back by itself, and says whether it is on.
import { localTimes } from "/static/times.js";

const listeners = new Set();
let source = null;

export function onBeat(listener) {
  listeners.add(listener);
  open();
}

function open() {
  if (source) return;
  source = new EventSource("/live");
  source.onopen = () => show(true);
  source.onmessage = (message) => {
    show(true);
    const beat = JSON.parse(message.data);
    for (const listener of listeners) listener(beat);
  };
  source.onerror = () => {
    show(false);
    // Signed out, or stopped for good: EventSource gives up then, and so do we, gently.
    if (source.readyState === EventSource.CLOSED) {
      source = null;
      setTimeout(open, 5000);
    }
  };
}

function show(on) {
  for (const element of document.querySelectorAll(".live")) {
    element.classList.toggle("on", on);
    element.classList.toggle("off", !on);
    element.textContent = on ? "Live" : "Not connected, trying again";
  }
}

// <div data-part="/a/piece/of/a/page" data-every="5"> is fetched again while beats come. The server escapes what it
// sends, and the page's policy runs no script in it. A part that somebody is using (its focus) is left alone.
function parts() {
  const found = document.querySelectorAll("[data-part]");
  if (found.length === 0) return;
  const fetched = new Map();
  onBeat(() => {
    for (const part of found) {
      const now = performance.now();
      const last = fetched.get(part) ?? now;
      fetched.set(part, last);
      if (now - last < Number(part.dataset.every) * 1000 || part.contains(document.activeElement)) continue;
      fetched.set(part, now);
      refresh(part);
    }
  });
}

async function refresh(part) {
  const answer = await fetch(part.dataset.part, { headers: { accept: "text/html" } });
  if (!answer.ok || answer.redirected) return;
  const read = new DOMParser().parseFromString(await answer.text(), "text/html");
  part.replaceChildren(...read.body.childNodes);
  localTimes(part);
}

parts();
