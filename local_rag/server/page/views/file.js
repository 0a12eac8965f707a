// One document, opened at the place that the address names.
import { html } from "../html.js";
import DocumentPane from "../parts/document_pane.js";

export default function File({ route: { parts: [file_id], query } }) {
  return html`<${DocumentPane} key=${location.hash} citation=${{ ...query, file_id }}
    onClose=${() => history.back()} />`;
}
