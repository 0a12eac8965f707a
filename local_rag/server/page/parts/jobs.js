// What the server works on now, in every tab: questions and indexing, each with Stop.
import { back, get, stopJob } from "../api.js";
import { html, useEffect, useLater, useState, useWindow } from "../html.js";
import { to } from "../router.js";
import { IconButton } from "./icon.js";
import { changes } from "./thread_list.js";

const EVERY = 3000; // milliseconds

export function Jobs() {
  const [jobs, setJobs] = useState([]);
  const [looked, setLooked] = useState(0);
  const load = () => void get("jobs").then(({ jobs }) => setJobs(jobs), () => {});
  useEffect(load, [looked, back.use(), changes.use()]);
  useLater(EVERY, () => document.hidden || setLooked(looked + 1), [looked, document.hidden]);
  useWindow("focus", () => setLooked(looked + 1));
  if (!jobs.length) return null;
  return html`<section class="threads jobs" aria-label="At work"><h2 class="small">At work</h2>
    <ul>${jobs.map((job) => html`<li key=${job.id}><${Job} job=${job} onStop=${load} /></li>`)}</ul></section>`;
}

function Job({ job: { id, kind, state, about }, onStop }) {
  const isQuestion = kind === "question";
  const name = isQuestion ? about.question : `Indexing ${about.index}`;
  const place = isQuestion ? to("ask", about.thread ? [about.thread] : []) : to("index", [], { index: about.index });
  return html`<a href=${place} title=${name}><bdi>${state === "waiting" ? `Waits: ${name}` : name}</bdi></a>
    <${IconButton} icon="stop" label=${`Stop: ${name}`} onClick=${() => stopJob(id).then(onStop)} />`;
}
