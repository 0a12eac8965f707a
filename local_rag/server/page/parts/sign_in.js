// Shown where the server does not know this page: how to open it, and a field where it takes a password.
import { get, post } from "../api.js";
import { bound, html, submitted, useState, useWindow } from "../html.js";
import { Command, Problem } from "./problem.js";
import { useReply } from "./reply.js";
import { replace } from "../router.js";

export function SignIn({ refused, onDone }) {
  const [{ value: way }] = useReply("session"), [password, setPassword] = useState(""), [error, setError] = useState(null);
  useWindow("focus", () => get("health").then(onDone, () => {}));
  const submit = submitted(() => post("session/start", { password }).then(onDone, setError));
  return html`<div class="page"><h1>This page is not signed in</h1>
    <p>Open the address that the server printed when it started: it can be used once. This prints a new one:</p>
    <p><${Command} text="local-rag serve --print-url" /></p>
    ${way?.password && html`<form class="row" onSubmit=${submit}>
      <label class="field">Password<input type="password" autocomplete="current-password" ...${bound(password, setPassword)} /></label>
      <button class="primary" disabled=${!password}>Sign in</button></form>`}
    <${Problem} error=${error || refused} />
  </div>`;
}

// An address with a token opens the page once. The token leaves the address before anything else happens. Whether there
// was one; an error is thrown where it was refused, and the page has no session either.
export async function useToken() {
  const [, token] = location.hash.match(/^#token=([\w-]+)$/) || [];
  if (!token) return false;
  replace("ask");
  await post("session/start", { token }).catch((error) => get("health").catch(() => {
    throw error;
  }));
  return true;
}
