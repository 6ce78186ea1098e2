// The tone of a status, as in shown.py.
const TONES = {
  succeeded: "good", running: "busy", retrying: "warn", dead: "bad", missed: "bad", skipped: "mute", cancelled: "mute",
};

export function tone(status) {
  return TONES[status] ?? "calm";
}
