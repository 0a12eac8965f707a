// Light, dark, or as the system is; the choice stays in this browser.
import { html, useEffect, useState } from "../html.js";
import { Icon } from "./icon.js";

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const ICONS = { auto: "auto", light: "sun", dark: "moon" };
const WORDS = { auto: "as the system is", light: "light", dark: "dark" };

function kept() {
  try {
    const theme = localStorage.getItem("theme");
    return theme in NEXT ? theme : "auto";
  } catch {
    return "auto";
  }
}

function keep(theme) {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // A browser that keeps nothing still shows it.
  }
}

export function ThemeButton() {
  const [theme, setTheme] = useState(kept);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    keep(theme);
  }, [theme]);
  const label = `Colours: ${WORDS[theme]}`;
  return html`<button class="button quiet icon" onClick=${() => setTheme(NEXT[theme])} aria-label=${label} title=${label}>
    <${Icon} name=${ICONS[theme]} /></button>`;
}
