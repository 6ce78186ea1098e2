// A firing that has not ended: when something ends, this page may be out of date.
import { onBeat } from "/static/live.js";

const id = location.pathname.split("/")[2];

onBeat((beat) => {
  if (beat.firings.some((each) => each.id === id)) location.reload();
});
