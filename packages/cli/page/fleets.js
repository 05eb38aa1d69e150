// The fleets of the dashboard: members as columns, shards as cells.

import { make, setText } from "./elements.js";

/** A cell shows for so long that its shard has moved. */
const MOVED_MS = 10_000;
/** With more shards than this, cells show no names. */
const MANY = 200;

const fleets = document.querySelector("#fleets");
const news = document.querySelector("#news");

/** The cards by fleet: the last view, the holder of each shard, and when it moved. */
const cards = new Map();

/** Draws a fleet as it was read last. */
export function drawFleet(view) {
  const card = cards.get(view.fleet) ?? makeCard(view.fleet);
  cards.set(view.fleet, card);
  if (view.error !== undefined) return setText(card.state, `cannot be read: ${view.error}`);
  const moved = noteMoves(card, view);
  if (moved > 0) news.textContent = `${view.fleet}: ${moved} shards have moved`;
  setText(card.state, stateText(view));
  card.state.classList.toggle("lost", isTroubled(view));
  const columns = columnsOf(card, view);
  const key = JSON.stringify(columns);
  if (key === card.key) return undefined;
  card.key = key;
  card.grid.classList.toggle("crowded", view.shards.length > MANY);
  card.grid.replaceChildren(...columns.map(columnElement));
  return undefined;
}

function isTroubled({ isResetting, shards }) {
  return isResetting ? true : shards.some(({ state }) => state !== "held" && state !== "leaving");
}

function makeCard(fleet) {
  const article = make("article", { parent: fleets, className: "fleet" });
  make("h2", { parent: article, text: fleet });
  const state = make("p", { parent: article });
  return { state, grid: make("div", { parent: article, className: "grid" }), holders: new Map(), movedAtMs: new Map(), key: "" };
}

/** Returns how many shards have another holder than before. A shard that was seen for the first time has not moved. */
function noteMoves({ holders, movedAtMs }, { shards }) {
  let moved = 0;
  for (const { name, memberId } of shards) {
    if (memberId === undefined || memberId === holders.get(name)) continue;
    if (holders.has(name)) {
      movedAtMs.set(name, performance.now());
      moved += 1;
    }
    holders.set(name, memberId);
  }
  return moved;
}

function stateText({ members, shards, coordinator, isResetting }) {
  const held = shards.filter(({ state }) => state === "held").length;
  const parts = [
    `${held} of ${shards.length} shards held by ${members.length} members`,
    `coordinator ${coordinator ?? "nobody"}`,
  ];
  return [...parts, ...(isResetting ? ["a reset is not over"] : [])].join(", ");
}

/** Members that share a label share a column. The last column has the shards without a known holder. */
function columnsOf({ movedAtMs }, { members, shards }) {
  const nowMs = performance.now();
  const columns = new Map(
    members.map(({ memberId, state, isStopping }) => [memberId, { state: isStopping ? "stopping" : state, cells: [] }]),
  );
  const without = { state: "", cells: [] };
  for (const { name, state, memberId, term } of shards) {
    const isMoved = nowMs - (movedAtMs.get(name) ?? -Infinity) < MOVED_MS;
    (columns.get(memberId) ?? without).cells.push({ name, state, term, isMoved });
  }
  const all = [...columns].map(([title, column]) => ({ title, ...column }));
  return without.cells.length > 0 ? [...all, { title: "no member", ...without }] : all;
}

function columnElement({ title, state, cells }) {
  const column = make("section");
  make("h3", { parent: column, text: title });
  make("p", { parent: column, text: [state, `${cells.length} shards`].filter(Boolean).join(", ") });
  const list = make("ul", { parent: column });
  for (const { name, state: shown, term, isMoved } of cells) {
    const cell = make("li", { parent: list, text: name, className: `${shown} ${isMoved ? "moved" : ""}` });
    cell.title = `${name}: ${shown}${term === undefined ? "" : `, term ${term}`}`;
  }
  return column;
}
