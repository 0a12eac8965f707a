// What the server replies to a GET, asked for when it is shown; and tables.
import { get } from "/page/api.js";
import { html, useEffect, useState } from "/page/html.js";
import { Problem } from "/page/parts/problem.js";
import { go } from "/page/router.js";

// [{value, error, busy}, load]: what was there stays until the new value comes.
export function useReply(path) {
  const [state, setState] = useState({ busy: true });
  const load = () => {
    const leaving = new AbortController();
    setState(({ value }) => ({ value, busy: true }));
    get(path, leaving.signal).then((value) => setState({ value }), (error) => error.name === "AbortError" || setState({ error }));
    return () => leaving.abort();
  };
  useEffect(load, [path]);
  return [state, load];
}

// A whole view of a reply: children(value), or what went wrong.
export function Reply({ path, children }) {
  const [{ value, error }, load] = useReply(path);
  return html`<div class="page" aria-busy=${!value && !error}>${error ? html`<${Problem} error=${error} retry=${load} />`
    : value ? children(value) : html`<p class="muted" role="status">One moment…</p>`}</div>`;
}

// Rows of texts; the columns from `numbers` on hold numbers, `meanings` explain those behind the first.
export function Table({ title, head, rows, over, meanings = [], numbers = 1 }) {
  const kind = (at) => (at < numbers ? null : "num");
  return html`<section class="stack-tight"><h2>${title}</h2>
    <div class="scroll" tabindex="0" role="group" aria-label=${title}><table class="table">
      <thead><tr>${head.map((name, at) => html`<th class=${kind(at)} title=${meanings[at - 1]}>${name}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${row.map((cell, at) => html`<td class=${kind(at)} dir="auto">${cell}</td>`)}</tr>`)}</tbody></table></div>
    ${over && html`<p class="small muted">${over}</p>`}</section>`;
}

export const bound = (value, set) => ({ value, onInput: (event) => set(event.target.value) });

// Two of a list are chosen to be compared: [check(id, label), button].
export function useTwo(view) {
  const [two, setTwo] = useState([]), others = (id) => two.filter((each) => each !== id);
  const choose = (id) => setTwo(two.includes(id) ? others(id) : [...two, id].slice(-2));
  return [(id, label) => html`<input type="checkbox" aria-label=${`Choose ${label}`} checked=${two.includes(id)} onChange=${() => choose(id)} />`,
    html`<button class="button" disabled=${two.length < 2} onClick=${() => go(view, [two[0]], { with: two[1] })}>Compare</button>`];
}

export const Facts = ({ title, facts }) => html`<details><summary>${title}</summary><dl class="facts">${facts.map(([name, text]) => html`<dt>${name}</dt><dd><bdi>${text}</bdi></dd>`)}</dl></details>`;
