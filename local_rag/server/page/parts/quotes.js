// The document beside a view: which quotes can be stepped through, and which of them is open.
import { useCallback, useEffect, useRef, useState } from "../html.js";
import { placeOf } from "./passages.js";
import { say } from "./say.js";

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
  useEffect(() => {
    const key = (event) => {
      const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (!by || !event.altKey || !latest.current.list.length) return;
      event.preventDefault();
      step(by);
    };
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, []);
  return { active, position, pane, open, close, next: () => step(1), previous: () => step(-1) };
}

export function useEscape(quotes, otherwise) {
  const latest = useRef(null);
  latest.current = () => (quotes.active ? quotes.close() : otherwise());
  useEffect(() => {
    const key = (event) => event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]") && latest.current();
    window.addEventListener("keydown", key);
    return () => window.removeEventListener("keydown", key);
  }, []);
}
