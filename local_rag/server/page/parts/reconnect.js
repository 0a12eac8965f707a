// Says that the server is gone, looks for it, and says when it is back.
import { html, useEffect, useState } from "../html.js";
import { Command } from "./copy.js";
import { say } from "./say.js";

const EVERY_MS = 2000;

export function Reconnect({ api }) {
  const [reachable, setReachable] = useState(true);
  useEffect(() => api.watchServer((now) => {
    setReachable(now);
    say(now ? "The server answers again." : "The server does not answer.");
    if (now) window.dispatchEvent(new Event("server-back"));
  }), []);
  useEffect(() => {
    if (reachable) return;
    const timer = setInterval(() => api.get("health").catch(() => {}), EVERY_MS);
    return () => clearInterval(timer);
  }, [reachable]);
  if (reachable) return null;
  return html`<div class="banner" role="alert"><span>The server does not answer. It may have been stopped; this starts it again:</span>
    <${Command} text="local-rag serve" /></div>`;
}
