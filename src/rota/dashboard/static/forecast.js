// The viewer's own zone, which the browser alone knows, is one click away.
const mine = document.getElementById("mine");
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;

if (mine && zone && zone !== document.getElementById("tz").value) {
  mine.textContent = `Your clock (${zone})`;
  mine.href = `/forecast?tz=${encodeURIComponent(zone)}#heat`;
  mine.hidden = false;
}
