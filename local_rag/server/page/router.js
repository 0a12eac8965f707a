// Where the page is, as the address's hash says it: #/VIEW/PART/PART?KEY=VALUE, every part URL-encoded. A file,
// #/file/ID, is open in the view of all files.
import { path } from "./api.js";
import { useState, useWindow } from "./html.js";

function parsed(hash) {
  const [place, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view, ...parts] = place.split("/").filter(Boolean).map(decoded);
  const shown = view === "file" ? "index" : view || "ask";
  return { view: shown, parts, query: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The hash of a view: to("file", [id], {page: 3}) is "#/file/ID?page=3".
export const to = (view, parts = [], query = {}) => `#/${path(view, ...parts, query)}`;

export function go(view, parts, query) {
  location.hash = to(view, parts, query);
}

// Changes the address without a new entry in the history, as when a new thread gets its name.
export function replace(view, parts, query) {
  history.replaceState(null, "", to(view, parts, query));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

export function useRoute() {
  const [route, setRoute] = useState(() => parsed(location.hash));
  useWindow("hashchange", () => setRoute(parsed(location.hash)));
  return route;
}
