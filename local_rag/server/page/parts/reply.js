// What the server replies to a GET, asked for when it is shown; lists, tables and facts of it.
import { get, path as to } from "../api.js";
import { html, useEffect, useLater, useState } from "../html.js";
import { Problem } from "./problem.js";

// [{value, error, busy}, load]: what was there stays until the new value comes. Asked anew when `again` changes; not at
// all without a path.
export function useReply(path, again) {
  const [state, setState] = useState({ busy: true });
  const load = () => {
    if (!path) return setState({});
    const leaving = new AbortController();
    const failed = (error) => leaving.signal.aborted || setState({ error });
    setState(({ value }) => ({ value, busy: true }));
    get(path, leaving.signal).then((value) => setState({ value }), failed);
    return () => leaving.abort();
  };
  useEffect(load, [path, again]);
  return [state, () => void load()];
}

// A whole view of a reply: children(value), or what went wrong.
export function Reply({ path, children }) {
  const [{ value, error }, load] = useReply(path);
  return html`<div class="page" aria-busy=${!value && !error}>
    ${error && html`<${Problem} error=${error} retry=${load} />`}
    ${!error && (value ? children(value) : html`<p class="muted" role="status">One moment…</p>`)}</div>`;
}

// A field that filters a list as one types: [filter, field], the filter once the typing pauses.
export function useFilter(label) {
  const [typed, setTyped] = useState("");
  const [filter, setFilter] = useState("");
  useLater(120, typed !== filter && (() => setFilter(typed)), [typed]);
  return [filter, html`<input class="fill" type="search" aria-label=${label} placeholder=${label} value=${typed}
    onInput=${(event) => setTyped(event.target.value)} />`];
}

// A long list: children(value, isFirst) draws what the server gives from a cursor on; the next ones come when wanted.
export function Paged({ at, query, children }) {
  const path = to(at, query);
  const [wanted, setWanted] = useState("");
  const [{ value, error }, load] = useReply(path);
  const cursor = value?.next ?? value?.cursor;
  const isWanted = cursor && wanted === path;
  return html`<${Problem} error=${error} retry=${load} />${value && children(value, !query.cursor)}
    ${isWanted && html`<${Paged} at=${at} query=${{ ...query, cursor }}>${children}<//>`}
    ${cursor && !isWanted && html`<p><button onClick=${() => setWanted(path)}>Show more</button></p>`}`;
}

// Rows of texts; the columns from `numbers` on hold numbers.
export function Table({ title, head, rows, over, numbers = 1 }) {
  const kind = (at) => (at < numbers ? null : "num");
  return html`<section class="stack-tight"><h2>${title}</h2>
    <div class="scroll" tabindex="0" role="group" aria-label=${title}><table class="table">
      <thead><tr>${head.map((name, at) => html`<th class=${kind(at)}>${name}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`
        <tr>${row.map((cell, at) => html`<td class=${kind(at)}>${cell}</td>`)}</tr>`)}</tbody></table></div>
    ${over && html`<p class="small">${over}</p>`}</section>`;
}

export const Facts = ({ title, facts, ...rest }) => html`<details ...${rest}><summary>${title}</summary>
  <dl class="facts">${facts.map(([name, text]) => html`<dt>${name}</dt><dd><bdi>${text}</bdi></dd>`)}</dl></details>`;
