// The dashboard. It draws the events of GET /events, and sends no other request. Every name is set as text, never as markup.

const REDRAW_MS = 250;
const AGAIN_MS = 2_000;
/** At this share of the lease a renewal counts as late. Leaders renew at a third of the lease. */
const LATE_SHARE = 0.45;
const COLOURS = 6;

const elections = document.querySelector("#elections");
const connection = document.querySelector("#connection");
const news = document.querySelector("#news");

/** The cards by election: the last view, its time, and the elements that show it. */
const cards = new Map();

function follow() {
  const source = new EventSource("/events");
  source.addEventListener("open", () => connected(true));
  source.addEventListener("change", ({ data }) => take(JSON.parse(data)));
  source.addEventListener("look", ({ data }) => take(JSON.parse(data)));
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

function take(view) {
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

function leaderText({ known, leader }) {
  if (!known) return "not known here";
  return leader === null ? "nobody leads" : leader.candidateId;
}

function makeCard(election) {
  const id = `election-${cards.size}`;
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
  for (const name of ["Term", "Lease", "Value", "Last change", "This candidate", "Store"]) {
    rows[name] = { term: make("dt", { parent: list, text: name }), text: make("dd", { parent: list }) };
  }
  make("h3", { parent: article, text: "Terms seen since this process started" });
  const strip = make("ol", { parent: article, className: "strip" });
  const told = make("p", { parent: article, className: "told" });
  elections.append(article);
  return { leader, meter, fill, rows, strip, toldElement: told, colours: new Map() };
}

function make(tag, { parent, text, className } = {}) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className !== undefined) element.className = className;
  parent?.append(element);
  return element;
}

/** Draws the parts of a card that change with time. */
function draw(card) {
  const { view, leader, meter, fill, rows } = card;
  const sinceMs = performance.now() - card.atMs;
  setText(leader, leaderText(view));
  leader.className = `leader ${view.known ? (view.leader === null ? "nobody" : "") : "unknown"}`;
  const ageMs = view.leaseAgeMs === undefined ? undefined : view.leaseAgeMs + sinceMs;
  const share = ageMs === undefined ? 0 : ageMs / view.leaseDurationMs;
  meter.hidden = ageMs === undefined;
  meter.setAttribute("aria-valuemax", String(view.leaseDurationMs / 1_000));
  meter.setAttribute("aria-valuenow", String(Math.round(Math.min(ageMs ?? 0, view.leaseDurationMs) / 1_000)));
  meter.setAttribute("aria-valuetext", ageMs === undefined ? "nobody leads" : `renewed ${duration(ageMs)} ago`);
  meter.className = `meter ${share > 1 ? "over" : share > LATE_SHARE ? "late" : ""}`;
  fill.style.setProperty("--share", `${Math.min(share, 1) * 100}%`);
  show(rows.Term, view.leader === null ? undefined : String(view.leader.term));
  show(rows.Lease, ageMs === undefined ? undefined : `renewed ${duration(ageMs)} ago, of ${duration(view.leaseDurationMs)}`);
  show(rows.Value, view.leader?.value);
  show(rows["Last change"], view.changedMs === undefined ? undefined : `${duration(view.changedMs + sinceMs)} ago`);
  show(rows["This candidate"], `${view.candidateId}, ${stateText(view)}`, view.alive ? undefined : "bad");
  const { lastError, lastContactAgeMs } = view.store;
  if (lastError !== undefined) show(rows.Store, `${lastError.code}: ${lastError.message}`, "bad");
  else if (lastContactAgeMs === undefined) show(rows.Store, "has not answered yet");
  else show(rows.Store, `answered ${duration(lastContactAgeMs + sinceMs)} ago`, "good");
}

function stateText({ state, alive }) {
  const words = { leading: "leads", standby: "stands by", ending: "is giving up", stopped: "has stopped" };
  return `${words[state] ?? state}${alive ? "" : ", and hangs"}`;
}

function drawTerms(card) {
  const { view, strip } = card;
  const key = view.terms.map(({ term, endedMs }) => `${term}${endedMs === undefined ? "" : "."}`).join(" ");
  card.terms = view.terms;
  if (key === card.termsKey) {
    for (const [at, { sinceMs, endedMs }] of view.terms.entries()) {
      strip.children[at].style.setProperty("--grow", grow(sinceMs - (endedMs ?? 0)));
    }
    return;
  }
  card.termsKey = key;
  const focused = strip.contains(document.activeElement) ? document.activeElement.dataset.term : undefined;
  strip.replaceChildren(...view.terms.map((seen) => termItem(card, seen)));
  if (focused !== undefined) strip.querySelector(`[data-term="${CSS.escape(focused)}"]`)?.focus();
}

function termItem(card, { term, candidateId, sinceMs, endedMs }) {
  const item = make("li");
  item.style.setProperty("--grow", grow(sinceMs - (endedMs ?? 0)));
  const button = make("button", { parent: item, text: String(term), className: `c${colourOf(card, candidateId)}` });
  button.type = "button";
  button.dataset.term = String(term);
  button.setAttribute("aria-label", `Term ${term}: ${candidateId}`);
  for (const event of ["focus", "mouseenter", "click"]) button.addEventListener(event, () => tell(card, term));
  return item;
}

/** Returns the relative width of a term. The square root keeps short terms visible beside a long one. */
function grow(ms) {
  return String(Math.sqrt(Math.max(ms, 1_000)));
}

function tell(card, term) {
  const seen = card.terms.find((each) => each.term === term);
  if (seen === undefined) return;
  const lasted = duration(seen.sinceMs - (seen.endedMs ?? 0));
  const how = seen.endedMs === undefined ? `for ${lasted} so far` : `for ${lasted}, until ${duration(seen.endedMs)} ago`;
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

/** Changes an element only if the text differs. So a selection stays, and a screen reader reads no text again. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
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
}, REDRAW_MS);
follow();
