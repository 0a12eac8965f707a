// Says which indexing the end of a server has cut off, and goes on with it.
import { back, get } from "../api.js";
import { html, useEffect, useState, useWindow } from "../html.js";
import { follow, job } from "../indexing.js";

export function Unfinished() {
  const [left, setLeft] = useState([]);
  const { running } = job.use();
  const times = back.use();
  const load = () => void get("jobs").then(({ unfinished }) => setLeft(unfinished), () => {});
  useEffect(() => {
    setLeft([]); // what was offered is not offered again for the moment until the server says what is left
    load();
  }, [running, times]);
  useWindow("focus", load);
  return !running && left.map(({ index, share }) => html`<div class="notice row" role="status">
    <span class="fill">The server ended while it indexed${" "}
      <strong><bdi>${index}</bdi></strong>${share && `, ${Math.round(share * 100)} % of it done`}.</span>
    <button onClick=${() => follow("index/resume", { index })}>Go on</button></div>`);
}
