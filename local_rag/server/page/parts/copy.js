// Buttons that copy a text, and commands that have one.
import { html, useEffect, useState } from "../html.js";
import { Icon } from "./icon.js";
import { say } from "./say.js";

export function CopyButton({ text, label = "Copy", quiet = true }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    say("Copied");
  };
  return html`<button type="button" class=${quiet ? "button quiet small" : "button small"} onClick=${copy}>
    <${Icon} name=${copied ? "check" : "copy"} />${copied ? "Copied" : label}</button>`;
}

export function Command({ text }) {
  return html`<span class="command"><code>${text}</code><${CopyButton} text=${text} /></span>`;
}

// The clipboard of browsers is for secure origins, which an address on the local network is not.
async function copyText(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
