// A graph as the server lays it out, with the path that a question took; the node that works is lit.
import { get, path as to } from "../api.js";
import { html, useEffect, useState } from "../html.js";
import { Facts } from "./reply.js";
import { plain, sentence } from "./verdicts.js";

const HEIGHT = 30;
const ENDS = { __start__: "question", __end__: "answer" };

const graphs = new Map();

// The drawing of the graph of a name, which is fetched once. `path` are the ids of the nodes in the order of their
// work, `running` that of the last while it works, else null.
export function Graph({ name, ...way }) {
  const [graph, setGraph] = useState(null);
  useEffect(() => {
    if (!graphs.has(name)) graphs.set(name, get(to("graphs", name)));
    graphs.get(name).then(setGraph, () => graphs.delete(name));
  }, [name]);
  if (!graph) return null;
  const steps = graph.nodes.filter(({ about }) => about).map(({ label, about }) => [sentence(label), about]);
  return html`<div class="stack-tight"><${Drawing} graph=${graph} ...${way} />
    ${graph.about && html`<${Facts} title="What the steps do" facts=${[[graph.name, graph.about], ...steps]} />`}
  </div>`;
}

function Drawing({ graph, path, running, ended }) {
  const nodes = graph.nodes.map((node) => {
    const text = ENDS[node.id] || sentence(node.label || node.id);
    return { ...node, text, width: Math.max(64, text.length * 6.8 + 24) };
  });
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const known = path.filter((id) => byId.has(id));
  const way = ["__start__", ...known, ...(ended ? ["__end__"] : [])];
  const edges = drawnEdges(graph.edges, byId, nodes, known.length ? way : []);
  const box = frame(nodes, edges);
  const spoken = `${known.map(sentence).join(", then ") || "not begun"}${running ? "; working" : ""}`;
  const kindOf = ({ id }) => (id === running ? "running" : way.includes(id) && known.length ? "taken" : "");
  return html`<div class="scroll" tabindex="0" role="group" aria-label="The way through the graph">
    <svg class="graph" viewBox=${box.join(" ")} width=${box[2]} role="img" aria-label=${spoken}>
      <defs>${["", "taken"].map((kind) => html`<marker id=${`arrow${kind}`} class=${kind} viewBox="0 0 8 8"
        refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
        <path d="M0 0 8 4 0 8z" /></marker>`)}</defs>
      ${edges.map((edge) => html`<path d=${edge.d} class=${edge.taken ? "taken" : ""}
        stroke-dasharray=${edge.conditional && !edge.taken ? "4 4" : null}
        marker-end=${`url(#arrow${edge.taken ? "taken" : ""})`} />`)}
      ${edges.filter((edge) => edge.label).map((edge) => html`
        <text class="label" x=${edge.x} y=${edge.y}>${plain(edge.label)}</text>`)}
      ${nodes.map((node) => html`<g class=${kindOf(node)}><${Box} node=${node} /></g>`)}
    </svg></div>`;
}

function Box({ node: { id, x, y, width, text } }) {
  return html`<rect x=${x - width / 2} y=${y - HEIGHT / 2} width=${width} height=${HEIGHT} rx=${id in ENDS ? 15 : 8} />
    <text x=${x} y=${y}>${text}</text>`;
}

// The edges with their curves; those of the way are taken, and drawn last.
function drawnEdges(edges, byId, nodes, way) {
  const taken = new Set(way.slice(1).map((id, at) => `${way[at]} ${id}`));
  return edges
    .filter(({ from, to }) => byId.has(from) && byId.has(to))
    .map((edge, at) => {
      const isTaken = taken.has(`${edge.from} ${edge.to}`);
      return { ...edge, ...curve(byId.get(edge.from), byId.get(edge.to), nodes, at), taken: isTaken };
    })
    .sort((a, b) => a.taken - b.taken);
}

// An edge downwards is a curve from box to box; one that leads up, or would cross a box, goes around at the side.
function curve(a, b, nodes, at) {
  const [high, low] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
  const between = nodes.filter((node) => node !== a && node !== b && node.y > high && node.y < low);
  const blocked = between.some((node) => Math.abs(node.x - (a.x + b.x) / 2) < node.width / 2 + 8);
  const top = (node) => node.y - HEIGHT / 2;
  const bottom = (node) => node.y + HEIGHT / 2;
  const beside = (node, side) => node.x + (side * node.width) / 2;
  const label = { x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 };
  if (b.y > a.y && !blocked) {
    const middle = (bottom(a) + top(b)) / 2;
    return { d: `M${a.x} ${bottom(a)}C${a.x} ${middle} ${b.x} ${middle} ${b.x} ${top(b)}`, x: label.x, y: middle };
  }
  if (b.y < a.y && b.x < a.x - 60) {
    return { d: `M${beside(a, -1)} ${a.y}Q${b.x} ${a.y} ${b.x} ${bottom(b)}`, x: b.x + 6, y: a.y - 4 };
  }
  if (b.y < a.y && b.x > a.x + 60) {
    return { d: `M${a.x} ${top(a)}Q${a.x} ${b.y} ${beside(b, -1)} ${b.y}`, ...label, x: a.x };
  }
  const side = b.y > a.y && b.x <= a.x ? -1 : 1;
  const furthest = Math.max(...[a, b, ...between].map((node) => side * beside(node, side)));
  const out = side * (furthest + 26 + (at % 3) * 12);
  const d = `M${beside(a, side)} ${a.y}C${out} ${a.y} ${out} ${b.y} ${beside(b, side)} ${b.y}`;
  return { d, x: out, y: label.y, out };
}

function frame(nodes, edges) {
  const labels = edges.flatMap(({ x, label, out = x }) => {
    const half = plain(label).length * 3;
    return [Math.min(out, x - half), Math.max(out, x + half)];
  });
  const left = Math.min(...nodes.map((node) => node.x - node.width / 2), ...labels) - 8;
  const right = Math.max(...nodes.map((node) => node.x + node.width / 2), ...labels) + 8;
  const top = Math.min(...nodes.map((node) => node.y)) - HEIGHT / 2 - 6;
  const bottom = Math.max(...nodes.map((node) => node.y)) + HEIGHT / 2 + 6;
  return [left, top, right - left, bottom - top].map(Math.round);
}
