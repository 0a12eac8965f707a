// Which index a view is about, where there are several.
import { get } from "/page/api.js";
import { html, useEffect, useState } from "/page/html.js";

export function IndexChoice({ value, onChange }) {
  const [{ indexes, defaults }, setChoices] = useState({ indexes: [] });
  useEffect(() => {
    get("choices").then(setChoices, () => {});
  }, []);
  return indexes.length > 1 && html`<label class="choice">in the index <select value=${value || defaults.index[0]} onChange=${(event) => onChange(event.target.value)}>
    ${indexes.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
}
