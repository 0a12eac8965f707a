// Preact and htm, what is missing there, and what is said to a screen reader.
import { Component, h, html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
export { h, html, render, useState, useEffect, useLayoutEffect, useRef, useCallback } from "./vendor/preact.js";

// A component that is drawn anew only when a property changes.
export function memo(inner) {
  return class extends Component {
    shouldComponentUpdate(next) {
      return Object.keys(next).some((key) => this.props[key] !== next[key]);
    }
    render(props) {
      return h(inner, props);
    }
  };
}

// A value that lives outside of the views: read it, set() it, and use() it in a component, which is drawn anew with it.
export function shared(value) {
  const watchers = new Set();
  const cell = {
    value,
    set(next) {
      cell.value = next;
      watchers.forEach((watcher) => watcher(next));
    },
    watch: (watcher) => watchers.add(watcher),
    use() {
      const [seen, setSeen] = useState(cell.value);
      useEffect(() => {
        setSeen(cell.value);
        watchers.add(setSeen);
        return () => watchers.delete(setSeen);
      }, []);
      return seen;
    },
  };
  return cell;
}

// Calls the handler of the last drawing at these events of the window ("focus keydown"), while the component is shown.
export function useWindow(names, handler) {
  const latest = useRef(null);
  latest.current = handler;
  useLayoutEffect(() => { // before anything is seen: what a person does at once is not lost
    const call = (event) => latest.current(event);
    const all = names.split(" ");
    all.forEach((name) => window.addEventListener(name, call));
    return () => all.forEach((name) => window.removeEventListener(name, call));
  }, []);
}

// Calls what is given, unless it is false, once that many milliseconds have passed without a change of `inputs`.
export function useLater(ms, call, inputs) {
  useEffect(() => {
    if (!call) return;
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  }, inputs);
}

// What a form does in place of leaving the page.
export const submitted = (act) => (event) => (event.preventDefault(), act());

export const bound = (value, set) => ({ value, onInput: (event) => set(event.target.value) });

// The live region: what a screen reader says while nothing that has the focus changes.
const spoken = shared("");

export const say = spoken.set;

export const LiveRegion = () => html`<div class="unseen" role="status" aria-live="polite">${spoken.use()}</div>`;
