// Light, dark, or as the system is; the choice stays in this browser.
import { html, useEffect, useState } from "../html.js";
import { IconButton } from "./icon.js";

// The theme -> how it is called, its icon, the next one.
const THEMES = {
  auto: ["as the system is", "auto", "light"],
  light: ["light", "sun", "dark"],
  dark: ["dark", "moon", "auto"],
};

// A browser that keeps nothing refuses to be asked.
function stored(use) {
  try {
    return use(localStorage);
  } catch {
    return null;
  }
}

export function ThemeButton() {
  const [theme, setTheme] = useState(() => stored((kept) => kept.getItem("theme")) || "auto");
  const [name, icon, next] = THEMES[theme] || THEMES.auto;
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    stored((kept) => kept.setItem("theme", theme));
  }, [theme]);
  return html`<${IconButton} icon=${icon} label=${`Colours: ${name}`} onClick=${() => setTheme(next)} />`;
}
