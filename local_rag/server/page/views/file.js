// One document, opened at the place that the address names.
import { html } from "../html.js";
import DocumentPane from "../parts/document_pane.js";
import { Outline } from "../parts/outline.js";
import { choose } from "../parts/settings.js";
import { go } from "../router.js";

export default function File({ route: { parts: [file_id], query } }) {
  const ask = (label) => {
    choose("", { ...(query.index && { index: query.index }), files: [{ file_id, label }] });
    go("ask");
  };
  return html`<${Outline} file_id=${file_id} index=${query.index} />
    <${DocumentPane} key=${location.hash} citation=${{ ...query, file_id }}
    onAsk=${ask} onClose=${() => history.back()} />`;
}
