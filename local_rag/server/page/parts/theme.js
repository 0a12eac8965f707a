// Light, dark, or as the system is; the choice stays in this browser.
import { html, useEffect, useState } from "../html.js";
import { keep, kept } from "../kept.js";
import { IconButton } from "./icon.js";

// The theme -> how it is called, its icon, the next one.
const THEMES = {
  auto: ["as the system is", "auto", "light"],
  light: ["light", "sun", "dark"],
  dark: ["dark", "moon", "auto"],
};

export function ThemeButton() {
  const [theme, setTheme] = useState(() => kept("theme") || "auto");
  const [name, icon, next] = THEMES[theme] || THEMES.auto;
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    keep("theme", theme);
  }, [theme]);
  return html`<${IconButton} icon=${icon} label=${`Colours: ${name}`} onClick=${() => setTheme(next)} />`;
}
