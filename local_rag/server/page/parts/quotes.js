// The document beside a view: which quotes can be stepped through, and which of them is open.
import { html, say, useEffect, useRef, useState, useWindow } from "../html.js";
import { lazy } from "./lazy.js";
import { placeOf } from "./passages.js";

const NONE = { list: [], at: 0, opener: null };

// Alt + arrows step from wherever the focus is; closing gives the focus back to what opened it. Where the document
// covers the view, as on a phone, it is a step of the history, so that Back closes it.
export function useQuotes() {
  const [{ list, at, opener }, setState] = useState(NONE);
  const pane = useRef(null);
  const step = (by) => setState({ list, at: (at + by + list.length) % list.length, opener });
  const open = (list, quote, opener) => setState({ list, at: list.indexOf(quote), opener });
  const active = list[at] || null;
  const leave = () => {
    setState(NONE);
    if (opener?.isConnected) opener.focus();
  };
  const close = () => (active && history.state?.document ? history.back() : leave());
  const position = list.length > 1 ? `${at + 1} of ${list.length}` : "";
  useEffect(() => {
    if (!active) return;
    say(`${placeOf(active)}${position && `, quote ${position}`}`);
    if (!covers(pane)) return;
    pane.current.focus();
    if (!history.state?.document) history.pushState({ document: true }, "");
  }, [active]);
  useWindow("popstate", () => active && leave());
  useWindow("keydown", (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by || !event.altKey || !position) return;
    event.preventDefault();
    step(by);
  });
  return { active, position, pane, open, close, next: () => step(1), previous: () => step(-1) };
}

// Whether the document lies over the view.
export const covers = (pane) => getComputedStyle(pane.current).position === "fixed";

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
  const beside = active && html`<${DocumentPane} citation=${active} position=${position}
    onClose=${close} onPrevious=${previous} onNext=${next} />`;
  return html`<${TwoPanes} pane=${pane} scroller=${scroller} beside=${beside}>${children}<//>`;
}

export function TwoPanes({ pane, scroller, beside, children }) {
  return html`<div class=${beside ? "ask beside" : "ask"}>
    <div class="conversation" ref=${scroller}>${children}</div>
    ${beside && html`<aside class="doc" ref=${pane} tabindex="-1" aria-label="Document">${beside}</aside>`}</div>`;
}
