// Before the first paint, and so no module: a page must not flash in the other theme.
try {
  const chosen = localStorage.getItem("rota-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage may be off; then the system's theme is used */ }
