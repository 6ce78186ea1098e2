// What every page has: the menu on a phone, the theme, times in the viewer's zone, forms that ask first.
import { localTimes } from "/static/times.js";

const THEMES = ["auto", "light", "dark"];

function theme() {
  return document.documentElement.dataset.theme || "auto";
}

function setTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    if (name === "auto") localStorage.removeItem("rota-theme");
    else localStorage.setItem("rota-theme", name);
  } catch { /* then it lasts until the next page */ }
  showTheme();
}

function showTheme() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) button.textContent = `Theme: ${theme()}`;
}

document.addEventListener("click", (event) => {
  const target = event.target.closest("button");
  if (!target) return;
  if (target.matches("[data-theme-toggle]")) setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length]);
  if (target.matches(".menu")) {
    const open = target.closest(".side").classList.toggle("open");
    target.setAttribute("aria-expanded", String(open));
  }
  if (target.dataset.copy !== undefined) copy(target);
});

// <button data-copy="#id"> copies the text of another element.
async function copy(button) {
  const source = document.querySelector(button.dataset.copy);
  await navigator.clipboard.writeText(source.textContent);
  notice("Copied.");
}

// <form data-ask="Delete 3 schedules?"> asks before it is sent.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.ask;
  if (question && !window.confirm(question)) event.preventDefault();
});

export function notice(text) {
  const shown = document.createElement("div");
  shown.textContent = text;
  document.getElementById("notices").append(shown);
  setTimeout(() => shown.remove(), 4000);
}

showTheme();
localTimes(document);
