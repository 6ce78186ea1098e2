// Ticking rows shows what can be done to them.
const form = document.getElementById("together");
const bar = form?.querySelector(".chosen");
const all = document.getElementById("all");

function boxes() {
  return [...form.querySelectorAll('input[name="id"]')];
}

function show() {
  const ticked = boxes().filter((box) => box.checked).length;
  bar.hidden = ticked === 0;
  const count = document.getElementById("count");
  count.textContent = ticked === 1 ? (count.dataset.one ?? "1 schedule") : `${ticked} ${count.dataset.many ?? "schedules"}`;
  all.checked = ticked > 0 && ticked === boxes().length;
  all.indeterminate = ticked > 0 && !all.checked;
}

if (bar) {
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    show();
  });
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => {
    const question = event.submitter?.dataset.asks;
    if (question && !window.confirm(question)) event.preventDefault();
  });
  show();
}
