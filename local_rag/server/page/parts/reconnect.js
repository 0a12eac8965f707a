// Says that the server is gone, looks for it, and says when it is back.
import { get, isBack, reachable } from "../api.js";
import { html, say, useEffect, useRef } from "../html.js";

const EVERY_MS = 2000;

export function Reconnect() {
  const there = reachable.use();
  const was = useRef(true);
  useEffect(() => {
    if (there === was.current) return;
    was.current = there;
    if (there) {
      say("The server answers again.");
      return isBack();
    }
    const timer = setInterval(() => get("health").catch(() => {}), EVERY_MS);
    return () => clearInterval(timer);
  }, [there]);
  return !there && html`<div class="banner" role="alert">The server does not answer. Start local-rag again, and this
    page goes on.</div>`;
}
