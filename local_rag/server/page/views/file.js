// One document, opened at the place that the address names.
import { html } from "../html.js";
import { lazy } from "../parts/lazy.js";

const DocumentPane = lazy("/page/parts/document_pane.js");

export default function File({ route, api }) {
  const [file_id] = route.parts;
  const number = (name) => (route.query[name] ? Number(route.query[name]) : null);
  const citation = { ...route.query, file_id, page: number("page"), start: number("start"), end: number("end") };
  return html`<${DocumentPane} key=${location.hash} api=${api} citation=${citation} position="" onClose=${() => history.back()} />`;
}
