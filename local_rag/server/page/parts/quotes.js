// The document beside a view: which quotes can be stepped through, and which of them is open.
import { html, say, useCallback, useEffect, useRef, useState, useWindow } from "../html.js";
import { lazy } from "./lazy.js";
import { placeOf } from "./passages.js";

// Alt + arrows step from wherever the focus is; closing gives the focus back to what opened it.
export function useQuotes() {
  const [state, setState] = useState({ list: [], at: 0, opener: null });
  const pane = useRef(null);
  const latest = useRef(state);
  latest.current = state;
  const step = useCallback((by) => setState((now) => (now.list.length ? { ...now, at: (now.at + by + now.list.length) % now.list.length } : now)), []);
  const close = useCallback(() => {
    const { opener } = latest.current;
    setState({ list: [], at: 0, opener: null });
    if (opener?.isConnected) opener.focus();
  }, []);
  const open = useCallback((list, quote, opener) => setState({ list, at: list.indexOf(quote), opener }), []);
  const active = state.list[state.at] || null;
  const position = state.list.length > 1 ? `${state.at + 1} of ${state.list.length}` : "";
  useEffect(() => {
    if (!active) return;
    say(`${placeOf(active)}${position && `, quote ${position}`}`);
    if (getComputedStyle(pane.current).position === "fixed") pane.current.focus();
  }, [active]);
  useWindow("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !event.altKey || !active) return;
    event.preventDefault();
    step(by);
  });
  return { active, position, pane, open, close, next: () => step(1), previous: () => step(-1) };
}

// Escape closes the document, else does what is given.
export function useEscape(quotes, otherwise) {
  useWindow("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
    if (quotes.active) quotes.close();
    else otherwise?.();
  });
}

const DocumentPane = lazy("/page/parts/document_pane.js");

// A view, and beside it the document of the quote that is open.
export function Beside({ quotes: { active, position, pane, close, previous, next }, scroller, children }) {
  return html`<div class=${active ? "ask beside" : "ask"}><div class="conversation" ref=${scroller}>${children}</div>
    ${active && html`<aside class="doc" ref=${pane} tabindex="-1" aria-label="Document">
      <${DocumentPane} citation=${active} position=${position} onClose=${close} onPrevious=${previous} onNext=${next} /></aside>`}</div>`;
}
