// The files of an index: its folders as a tree, or all files in an order or with words; some can be chosen.
import { html, useState } from "../html.js";
import { to } from "../router.js";
import { Paged, useFilter } from "./reply.js";
import { dayOf, joined, many, size } from "./texts.js";

const AT_ONCE = 200;
const ORDERS = { "": "Folders", name: "Name", changed: "Last changed", kind: "Kind", size: "Size" };

// By folder whether it was opened or closed last: a look at another view does not lose it.
const opened = new Map();

// `actions(chosen)` draws what can be done with the chosen files, {file_id: label}; `shown` is the ID of the open
// file, and `became` says by ID how files differ on the disk.
export function FileList({ index, about: { roots, kinds }, became, shown, actions, onForget, onSync }) {
  const [filter, field] = useFilter("Filter by name, title or author");
  const [chosen, setChosen] = useState({});
  const [{ type = "", since = "", sort = "" }, setWanted] = useState({});
  const set = (change) => setWanted((before) => ({ ...before, ...change }));
  const choose = ({ file_id, label }) => {
    const { [file_id]: known, ...others } = chosen;
    setChosen(known ? others : { ...chosen, [file_id]: label });
  };
  const folder = !filter && !sort ? "/" : "";
  const query = { index, filter, type, since, sort, folder };
  const emptied = roots.filter(({ files }) => folder && !files); // still walked, and can be taken out
  const head = ({ total, matching }) => html`<p class="row small"><span class="fill" role="status">
    ${matching < total && `${matching.toLocaleString()} of `}${many(total, "file")}</span>${actions(chosen)}</p>`;
  return html`<div class="row end">${field}
      <${Choice} label="Kind" value=${type} onChange=${(type) => set({ type })}
        names=${Object.fromEntries([["", "all"], ...Object.keys(kinds).filter(Boolean).map((kind) => [kind, kind])])} />
      <label class="field">Changed since<input type="date" value=${since}
        onChange=${({ target }) => set({ since: target.value })} /></label>
      <${Choice} label="Order" value=${sort} names=${ORDERS} onChange=${(sort) => set({ sort })} /></div>
    <${Level} query=${query} head=${head} became=${became} shown=${shown} roots=${roots} chosen=${chosen}
      onChoose=${choose} more=${emptied.map(({ file_id, label }) => ({ folder: `/${file_id}`, name: label, files: 0 }))}
      onForget=${onForget} onSync=${onSync} />`;
}

const BECAME = { changed: "changed on disk", gone: "not on disk any more" };

const Choice = ({ label, value, names, onChange }) => html`<label class="field">${label}
  <select value=${value} onChange=${({ target }) => onChange(target.value)}>
    ${Object.entries(names).map(([name, text]) => html`<option value=${name}>${text}</option>`)}</select></label>`;

// The folders of a folder, each with what it holds once it is opened, and its files, so many at a time.
function Level({ query, head, more = [], ...rest }) {
  const asked = { ...query, limit: AT_ONCE };
  return html`<${Paged} at="files" query=${asked}>${({ folders, files, ...page }, isFirst) => html`
    ${isFirst && head?.(page)}
    <ul class="list files">
      ${isFirst && [...folders, ...more].map((folder) => html`<${Folder} key=${folder.folder} of=${folder}
        query=${query} isOnly=${folders.length + files.length + more.length === 1} ...${rest} />`)}
      ${files.map((file) => html`<${File} key=${file.file_id} file=${file} query=${query} ...${rest} />`)}
    </ul>`}<//>`;
}

function Folder({ of: { folder, name, files }, isOnly, query, roots, ...rest }) {
  const [open, setOpen] = useState(opened.get(folder) ?? isOnly);
  const root = roots.find(({ file_id }) => folder === `/${file_id}`);
  const { excludes = [], there = true, not_read } = root || {};
  const about = [
    many(files, "file"),
    excludes.length > 0 && `without ${excludes.join(", ")}`,
    not_read && `of kinds that are not read: ${not_read}`,
  ];
  const toggle = ({ target }) => {
    setOpen(target.open);
    opened.set(folder, target.open);
  };
  return html`<li><details open=${open} onToggle=${toggle}>
    <summary><bdi>${name}</bdi> <span class="small">${joined(about, ", ")}</span>
      ${!there && html` <span class="badge warn">not there now</span>`}</summary>
    ${open && html`${root && html`<${Root} root=${root} ...${rest} />`}
      <${Level} query=${{ ...query, folder }} roots=${roots} ...${rest} />`}</details></li>`;
}

const Root = ({ root: { file_id, label, excludes }, onForget, onSync }) => html`<p class="row">
  ${excludes.map((pattern) => html`<button class="small"
    onClick=${() => onSync({ root: file_id, take_in: [pattern] })}>Take in again: <bdi>${pattern}</bdi></button>`)}
  <button class="quiet small danger" aria-label=${`Remove from search: ${label}`}
    onClick=${() => onForget({ ids: [file_id], label, root: true })}>Remove from search</button></p>`;

function File({ file, query: { index, folder }, became, shown, chosen, onChoose }) {
  const { file_id, label, title, author, date, chunks, modified, warnings } = file;
  return html`<li class="row">
    <input type="checkbox" aria-label=${`Choose ${label}`} checked=${file_id in chosen}
      onChange=${() => onChoose(file)} />
    <span class="fill"><a href=${to("file", [file_id], { index })} aria-current=${file_id === shown ? "true" : null}>
        <bdi>${folder.length > 1 ? label.split("/").at(-1) : label}</bdi></a>${" "}
      <bdi class="small">${joined([title, author])} <time>${date.slice(0, 10)}</time></bdi>
      ${became[file_id] && html` <span class="badge warn">${BECAME[became[file_id]]}</span>`}
      ${warnings.map((warning) => html` <span class="badge warn"><bdi>${warning}</bdi></span>`)}</span>
    <span class="small">${joined([size(file.size), many(chunks, "passage")])}
      ${modified > 0 && html` · <time>${dayOf(modified * 1000)}</time>`}</span></li>`;
}
