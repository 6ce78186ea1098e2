// What ends is listed as it ends; the parts around it are fetched again now and then (live.js).
import { onBeat } from "/static/live.js";
import { element } from "/static/elements.js";

const list = document.getElementById("happening");
const MOST = 60;

onBeat((beat) => {
  if (beat.firings.length === 0) return;
  list.querySelector(".soft")?.remove();
  for (const each of [...beat.firings].reverse()) list.prepend(row(each));
  while (list.children.length > MOST) list.lastElementChild.remove();
});

function row(each) {
  const at = new Date(each.finished_at);
  return element("li", {}, [
    element("time", { datetime: each.finished_at, title: at.toString(), class: "soft mono" }, [`${at.toISOString().slice(11, 19)} UTC`]),
    element("span", {}, [element("span", { class: `badge ${each.tone}` }, [each.status])]),
    element("a", { href: `/firings/${each.id}` }, [each.name]),
    element("span", { class: "soft" }, [each.duration_ms === null ? "" : `${each.duration_ms} ms`]),
  ]);
}
