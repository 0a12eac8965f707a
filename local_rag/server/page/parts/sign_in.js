// Shown where the server does not know this page (any more): how to open it, and a field where it takes a password.
import { html, useEffect, useState } from "../html.js";
import { Command } from "./copy.js";
import { Problem } from "./problem.js";
import { replace } from "../router.js";

export function SignIn({ api, refused, onDone }) {
  const [takesPassword, setTakesPassword] = useState(false);
  const [password, setPassword] = useState("");
  const [error, setError] = useState(null);
  useEffect(() => {
    api.get("session").then((door) => setTakesPassword(door.password), () => {});
    const look = () => api.get("health").then(onDone, () => {});
    window.addEventListener("focus", look);
    return () => window.removeEventListener("focus", look);
  }, []);
  const submit = (event) => {
    event.preventDefault();
    api.post("session/start", { password }).then(onDone, setError);
  };
  return html`<div class="page"><h1>This page is not signed in</h1>
    <p>Open the address that the server printed when it started: it can be used once. This prints a new one:</p>
    <p><${Command} text="local-rag serve --print-url" /></p>
    ${takesPassword && html`<form class="row" onSubmit=${submit}>
      <label class="field">Password<input type="password" autocomplete="current-password" value=${password} onInput=${(event) => setPassword(event.target.value)} /></label>
      <button class="button primary" disabled=${!password}>Sign in</button></form>`}
    ${(error || refused) && html`<${Problem} error=${error || refused} />`}
  </div>`;
}

// An address with a token opens the page once. The token leaves the address before anything else happens. Whether there
// was one; an error is thrown where it was refused, and the page has no session either.
export async function useToken(api) {
  const [, token] = location.hash.match(/^#token=([\w-]+)$/) || [];
  if (!token) return false;
  replace("ask");
  await api.post("session/start", { token }).catch((error) => api.get("health").catch(() => {
    throw error;
  }));
  return true;
}
