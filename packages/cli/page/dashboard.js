// The dashboard. It draws the events of GET /events, and sends no other request. Every name is set as text, never as markup.

import { make, setText } from "./elements.js";
import { drawFleet } from "./fleets.js";

const REDRAW_MS = 250;
const AGAIN_MS = 2_000;
/** At this share of the lease a renewal counts as late. Leaders renew at a third of the lease. */
const LATE_SHARE = 0.45;
const COLOURS = 6;
/** With more elections than this on the page, those without trouble show only their leader, lease and terms. */
const MANY = 12;
/** The kinds of trouble, the worst first. Elections with worse trouble come first on the page. */
const [FAILS, UNLED, UNKNOWN, FINE] = [0, 1, 2, 3];

const elections = document.querySelector("#elections");
const connection = document.querySelector("#connection");
const news = document.querySelector("#news");
const summary = document.querySelector("#summary");
const outage = document.querySelector("#outage");
const search = document.querySelector("#search");
const filter = document.querySelector("#filter");

/** The cards by election: the last view, its time, and the elements that show it. */
const cards = new Map();
/** The elections on the page, in their order, as one text. */
let order = "";
/** The number of cards that were made. */
let made = 0;
/** The last list of every election of the store. Undefined if the server campaigns itself. */
let listed;

function follow() {
  const source = new EventSource("/events");
  source.addEventListener("open", () => connected(true));
  source.addEventListener("change", ({ data }) => take([JSON.parse(data)]));
  source.addEventListener("look", ({ data }) => take([JSON.parse(data)]));
  source.addEventListener("list", ({ data }) => takeList(JSON.parse(data)));
  source.addEventListener("fleet", ({ data }) => drawFleet(JSON.parse(data)));
  source.addEventListener("error", () => {
    connected(false);
    // A browser reconnects by itself after a broken connection, but not after a refusal.
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, AGAIN_MS);
  });
}

function connected(isLive) {
  connection.textContent = isLive ? "Live" : "The connection is lost; what is shown is old.";
  connection.classList.toggle("lost", !isLive);
}

function takeList(list) {
  listed = list;
  const names = new Set(list.elections.map(({ election }) => election));
  for (const [election, { article }] of cards) {
    if (names.has(election)) continue;
    article.remove();
    cards.delete(election);
  }
  take(list.elections);
}

function take(views) {
  for (const view of views) takeOne(view);
  arrange();
}

function takeOne(view) {
  const known = cards.get(view.election);
  const card = known ?? makeCard(view.election);
  cards.set(view.election, card);
  const before = card.view;
  card.view = view;
  card.atMs = performance.now();
  drawTerms(card);
  draw(card);
  const leader = leaderText(view);
  if (before !== undefined && leader !== leaderText(before)) news.textContent = `${view.election}: ${leader}`;
}

function leaderText({ known, leader, lease, done }) {
  if (lease === "foreign") return "foreign record";
  if (done) return "done";
  if (!known) return "not known here";
  return leader === null ? "nobody leads" : leader.candidateId;
}

function makeCard(election) {
  const id = `election-${(made += 1)}`;
  const article = make("article");
  article.setAttribute("aria-labelledby", id);
  const title = make("h2", { parent: article, text: election });
  title.id = id;
  const leader = make("p", { parent: article, className: "leader" });
  const meter = make("div", { parent: article, className: "meter" });
  meter.setAttribute("role", "meter");
  meter.setAttribute("aria-label", `Age of the lease of ${election}`);
  meter.setAttribute("aria-valuemin", "0");
  const fill = make("div", { parent: meter });
  const list = make("dl", { parent: article });
  const rows = {};
  for (const name of ["State", "Term", "Lease", "Value", "Last change", "This candidate", "Store"]) {
    rows[name] = { term: make("dt", { parent: list, text: name }), text: make("dd", { parent: list }) };
  }
  make("h3", { parent: article, text: "The last terms" });
  const strip = make("ol", { parent: article, className: "strip" });
  const told = make("p", { parent: article, className: "told" });
  elections.append(article);
  return { article, leader, meter, fill, rows, strip, toldElement: told, colours: new Map() };
}

/** Puts the elections with trouble first, hides those that the filter leaves out, and says how all of them are. */
function arrange() {
  const wanted = filter.value.trim().toLowerCase();
  const all = [...cards].map(([election, card]) => ({ election, card, trouble: troubleOf(card) }));
  const shown = all
    .filter(({ election, card }) => `${election}\n${leaderText(card.view)}`.toLowerCase().includes(wanted))
    .toSorted((one, other) => one.trouble - other.trouble || (one.election < other.election ? -1 : 1));
  const shownCards = new Set(shown.map(({ card }) => card));
  for (const { card, trouble } of all) {
    card.article.hidden = !shownCards.has(card);
    card.article.classList.toggle("troubled", trouble !== FINE);
  }
  elections.classList.toggle("many", shown.length > MANY);
  const newOrder = JSON.stringify(shown.map(({ election }) => election));
  if (newOrder !== order) {
    order = newOrder;
    // An element that is moved loses the focus.
    const focused = document.activeElement;
    elections.append(...shown.map(({ card }) => card.article));
    if (elections.contains(focused)) focused.focus({ preventScroll: true });
  }
  search.hidden = all.length < 2;
  setText(summary, all.length < 2 && listed === undefined ? "" : summaryText(all, shown.length));
  setText(outage, outageText(all));
}

/** Returns the worst trouble of an election. */
function troubleOf({ view, atMs }) {
  if (view.store.lastError !== undefined || view.alive === false) return FAILS;
  if (!view.known) return UNKNOWN;
  if (view.done) return FINE;
  const isOver = view.leaseAgeMs + sinceOf(view, atMs) > view.leaseDurationMs;
  return view.leader === null || isOver ? UNLED : FINE;
}

/** Returns the time to add to the ages of a view. The ages of a list are those of its reads, until the next list. */
function sinceOf({ lease }, atMs) {
  return lease === undefined ? performance.now() - atMs : 0;
}

function summaryText(all, shownCount) {
  const count = (matches) => all.filter(({ card }) => matches(card.view)).length;
  const parts = [
    [count(({ known, leader }) => known && leader !== null), "led"],
    [count(({ known, leader, done }) => known && leader === null && !done), "without a leader"],
    [count(({ done }) => done), "done"],
    [count(({ known }) => !known), "not known here"],
  ];
  const states = parts.filter(([number]) => number > 0).map(([number, what]) => `${number} ${what}`);
  const rest = shownCount < all.length ? `; ${shownCount} shown` : "";
  if (all.length === 0) return listed.store.lastContactAgeMs === undefined ? "" : "There is no election in this store.";
  return `${all.length} election${all.length === 1 ? "" : "s"}: ${states.join(", ")}${rest}`;
}

/** Says for how many elections the store fails, and by which error. Empty while it answers for all. */
function outageText(all) {
  if (listed?.store.lastError !== undefined) return `The store fails: ${listed.store.lastError.code}`;
  const failing = all.filter(({ card }) => card.view.store.lastError !== undefined);
  if (failing.length === 0) return "";
  const codes = [...new Set(failing.map(({ card }) => card.view.store.lastError.code))].join(", ");
  return failing.length === all.length ? `The store fails: ${codes}` : `The store fails for ${failing.length} of them: ${codes}`;
}

/** Draws the parts of a card that change with time. */
function draw(card) {
  const { view, leader, meter, fill, rows } = card;
  const { leaseDurationMs = 0 } = view;
  const sinceMs = sinceOf(view, card.atMs);
  setText(leader, leaderText(view));
  leader.className = `leader ${view.known ? (view.leader === null && !view.done ? "nobody" : "") : "unknown"}`;
  const ageMs = view.leaseAgeMs === undefined ? undefined : view.leaseAgeMs + sinceMs;
  const share = ageMs === undefined ? 0 : ageMs / leaseDurationMs;
  meter.hidden = ageMs === undefined;
  meter.setAttribute("aria-valuemax", String(leaseDurationMs / 1_000));
  meter.setAttribute("aria-valuenow", String(Math.round(Math.min(ageMs ?? 0, leaseDurationMs) / 1_000)));
  meter.setAttribute("aria-valuetext", ageMs === undefined ? "nobody leads" : `renewed ${duration(ageMs)} ago`);
  meter.className = `meter ${share > 1 ? "over" : share > LATE_SHARE ? "late" : ""}`;
  fill.style.setProperty("--share", `${Math.min(share, 1) * 100}%`);
  show(rows.State, view.lease === undefined ? undefined : [view.lease, view.note].filter(Boolean).join(", "));
  show(rows.Term, view.leader === null ? undefined : String(view.leader.term));
  show(rows.Lease, ageMs === undefined ? undefined : `renewed ${duration(ageMs)} ago, of ${duration(leaseDurationMs)}`);
  show(rows.Value, view.leader?.value);
  show(rows["Last change"], view.changedMs === undefined ? undefined : `${duration(view.changedMs + sinceMs)} ago`);
  const candidate = view.candidateId === undefined ? undefined : `${view.candidateId}, ${stateText(view)}`;
  show(rows["This candidate"], candidate, view.alive ? undefined : "bad");
  const { lastError, lastContactAgeMs } = view.store;
  if (lastError !== undefined) show(rows.Store, `${lastError.code}: ${lastError.message}`, "bad");
  else if (view.lease !== undefined) show(rows.Store, undefined);
  else if (lastContactAgeMs === undefined) show(rows.Store, "has not answered yet");
  else show(rows.Store, `answered ${duration(lastContactAgeMs + sinceMs)} ago`, "good");
}

function stateText({ state, alive }) {
  const words = { leading: "leads", standby: "stands by", ending: "is giving up", stopped: "has stopped" };
  return `${words[state] ?? state}${alive ? "" : ", and hangs"}`;
}

function drawTerms(card) {
  const { view, strip } = card;
  const parts = partsOf(view.terms);
  const key = parts.map(({ seen }) => (seen === undefined ? "-" : seen.term)).join(" ");
  card.terms = view.terms;
  if (key !== card.termsKey) {
    card.termsKey = key;
    const focused = strip.contains(document.activeElement) ? document.activeElement.dataset.term : undefined;
    strip.replaceChildren(...parts.map(({ seen }) => (seen === undefined ? gapItem() : termItem(card, seen))));
    refocus(strip, focused);
  }
  for (const [at, { seen, lastedMs }] of parts.entries()) {
    const item = strip.children[at];
    // The square root keeps a short term visible beside a long one. A gap may be as short as it was.
    item.style.setProperty("--grow", Math.sqrt(Math.max(lastedMs, seen === undefined ? 0 : 1_000)));
    if (seen !== undefined) continue;
    const text = `Nobody was seen to lead for ${duration(lastedMs)}`;
    item.title = text;
    setText(item.firstChild, text);
  }
}

/** Returns the terms and the gaps between them, each with the time that it lasted. A gap has no `seen`. */
function partsOf(terms) {
  return terms.flatMap((seen, at) => {
    const { sinceMs, endedMs } = seen;
    const term = { seen, lastedMs: sinceMs - (endedMs ?? 0) };
    const gapMs = (endedMs ?? 0) - (terms[at + 1]?.sinceMs ?? 0);
    return gapMs > 0 ? [term, { lastedMs: gapMs }] : [term];
  });
}

function refocus(strip, focused) {
  if (focused !== undefined) strip.querySelector(`[data-term="${CSS.escape(focused)}"]`)?.focus();
}

function termItem(card, { term, candidateId }) {
  const item = make("li");
  const button = make("button", { parent: item, text: String(term), className: `c${colourOf(card, candidateId)}` });
  button.type = "button";
  button.dataset.term = String(term);
  button.setAttribute("aria-label", `Term ${term}: ${candidateId}`);
  for (const event of ["focus", "mouseenter", "click"]) button.addEventListener(event, () => tell(card, term));
  return item;
}

function gapItem() {
  const item = make("li", { className: "gap" });
  make("span", { parent: item, className: "unseen" });
  return item;
}

function tell(card, term) {
  const seen = card.terms.find((each) => each.term === term);
  if (seen === undefined) return;
  const lasted = duration(seen.sinceMs - (seen.endedMs ?? 0));
  const how =
    seen.endedMs === undefined
      ? `for ${lasted} so far`
      : `for ${lasted}, until ${duration(seen.endedMs)} ago${seen.end === undefined ? "" : ` (${seen.end})`}`;
  setText(card.toldElement, `Term ${term}: ${seen.candidateId}, ${how}`);
}

/** Returns the colour of a candidate, which it keeps. Candidates that follow one another have different colours. */
function colourOf({ colours }, candidateId) {
  if (!colours.has(candidateId)) colours.set(candidateId, colours.size % COLOURS);
  return colours.get(candidateId);
}

function show(row, text, className = "") {
  row.term.hidden = text === undefined;
  row.text.hidden = text === undefined;
  setText(row.text, text ?? "");
  row.text.className = className;
}

function duration(ms) {
  const s = ms / 1_000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7_200) return `${Math.round(s / 60)} min`;
  if (s < 172_800) return `${Math.round(s / 3_600)} h`;
  return `${Math.round(s / 86_400)} d`;
}

setInterval(() => {
  for (const card of cards.values()) draw(card);
  arrange();
}, REDRAW_MS);
filter.addEventListener("input", arrange);
follow();
