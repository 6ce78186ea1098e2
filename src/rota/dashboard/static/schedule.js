// The status filter needs no button; runs to come say what the viewer's clock will show, also after a part was fetched anew.
import { onViewersClock } from "/static/schedule_times.js";

const status = document.getElementById("status");
status?.addEventListener("change", () => status.form.requestSubmit());

// What can be done depends on the status: when that has changed, the page is read again, unless somebody is typing.
function freshen() {
  onViewersClock(document);
  const head = document.querySelector(".head[data-status]");
  const now = document.querySelector("span[data-status]");
  const typing = document.activeElement?.matches("input, textarea, select");
  if (now && now.dataset.status !== head.dataset.status && !typing) location.reload();
}

freshen();
new MutationObserver(freshen).observe(document.getElementById("main"), { childList: true, subtree: true });
