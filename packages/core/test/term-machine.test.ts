/** The machine of a term alone: a table of what each state makes of each event, and every order of events. */
import { describe, expect, test } from "vitest";
import { mayRenew } from "../src/election/renewal-timing.ts";
import { beginTerm, isOverdue, nextTickMs, step } from "../src/election/term-machine.ts";
import type { TermEvent, TermState } from "../src/election/term-state.ts";
import { decideTiming } from "../src/election/timing.ts";
import type { RenewOutcome } from "../src/store/lease-store.ts";
import type { Instant } from "../src/time/clock.ts";

const timing = decideTiming({ leaseDurationMs: 15_000, stallTimeoutMs: 8_000, drainTimeoutMs: 6_000 });
const at = (ms: number): Instant => ({ monotonicMs: 1_000 + ms, wallMs: 1_000 + ms });
const lease = { election: "e", candidateId: "c", term: 1, termId: "t", leaseDurationMs: 15_000, grantedAt: at(0) };
const plan = { lease, timing, renewal: "scheduled", releaseOnStop: true, minimumHoldMs: 0 } as const;

const RESIGNED = new Error("resigned");
const LOST_REPLY = new Error("no reply");
const HELD: RenewOutcome = { held: true };
const TRANSFERRED: RenewOutcome = { held: true, transferTo: "d" };
const BROKEN: RenewOutcome = { held: false, reason: "broken", barredUntilExpiry: true, explanation: "it was broken" };
const TAKEN: RenewOutcome = { held: false, reason: "taken", barredUntilExpiry: false, explanation: "another has it" };
const RENEWED: RenewOutcome = { held: true, extendedAt: at(1_500) };

/** The events that lead to each state, at 1 s. */
const STATES: Readonly<Record<string, readonly TermEvent[]>> = {
  leading: [],
  ending: [{ type: "end", reason: RESIGNED }],
  "ending, closed": [{ type: "renewed", outcome: BROKEN }],
  over: [{ type: "renewed", outcome: TAKEN }],
  "over, completing": [{ type: "completing" }],
  "over, completed": [{ type: "completing" }, { type: "completed" }],
  settled: [{ type: "work-settled", isFailed: false }],
};

const EVENTS: Readonly<Record<string, readonly [TermEvent, number]>> = {
  check: [{ type: "check" }, 2_000],
  "renew deadline": [{ type: "check" }, 10_000],
  "valid until": [{ type: "check" }, 13_500],
  "tick too early": [{ type: "tick" }, 4_999],
  "renewal due": [{ type: "tick" }, 5_000],
  "drain up": [{ type: "tick" }, 7_000],
  stalled: [{ type: "tick" }, 8_000],
  checkpoint: [{ type: "checkpoint" }, 5_000],
  woken: [{ type: "woken" }, 2_000],
  "asked too early": [{ type: "renew-requested" }, 4_999],
  asked: [{ type: "renew-requested" }, 5_000],
  renewed: [{ type: "renewed", outcome: RENEWED }, 2_000],
  "renewed, by an old send": [{ type: "renewed", outcome: { held: true, extendedAt: at(0) } }, 2_000],
  "renewed, late": [{ type: "renewed", outcome: RENEWED }, 14_000],
  published: [{ type: "published", outcome: RENEWED }, 2_000],
  transferred: [{ type: "renewed", outcome: TRANSFERRED }, 2_000],
  broken: [{ type: "renewed", outcome: BROKEN }, 2_000],
  taken: [{ type: "renewed", outcome: TAKEN }, 2_000],
  failed: [{ type: "renewal-failed", error: LOST_REPLY }, 2_000],
  "failed, late": [{ type: "renewal-failed", error: LOST_REPLY }, 14_000],
  resign: [{ type: "end", reason: RESIGNED }, 2_000],
  stop: [{ type: "end", reason: RESIGNED, stops: true }, 2_000],
  completing: [{ type: "completing" }, 2_000],
  "work settled": [{ type: "work-settled", isFailed: false }, 2_000],
  "settled, late": [{ type: "work-settled", isFailed: false }, 14_000],
};

/** The state, the event, then the phase with whether renewals are closed, and the effects. An event that is left out changes none of these. */
const TABLE = `
leading           renew deadline   ending           abort
leading           valid until      over, closed     abort
leading           renewal due      leading          renew
leading           drain up         leading          renew
leading           stalled          ending           abort renew
leading           asked            leading          renew
leading           renewed          leading          announce-renewed
leading           renewed, late    over, closed     abort
leading           published        leading          announce-renewed
leading           transferred      ending           abort
leading           broken           ending, closed   abort
leading           taken            over, closed     abort
leading           failed           leading          announce-renew-failed
leading           failed, late     over, closed     abort announce-renew-failed
leading           resign           ending           abort
leading           stop             ending           abort
leading           completing       over, closed
leading           work settled     settled, closed  abort release
leading           settled, late    settled, closed  abort finish
ending            valid until      over, closed
ending            renewal due      ending           renew
ending            drain up         ending, closed   announce-overrun
ending            stalled          ending, closed   announce-overrun
ending            asked            ending           renew
ending            renewed          ending           announce-renewed
ending            renewed, late    over, closed
ending            published        ending           announce-renewed
ending            broken           ending, closed
ending            taken            over, closed
ending            failed           ending           announce-renew-failed
ending            failed, late     over, closed     announce-renew-failed
ending            completing       over, closed
ending            work settled     settled, closed  release
ending            settled, late    settled, closed  finish
ending, closed    valid until      over, closed
ending, closed    drain up         ending, closed   announce-overrun
ending, closed    stalled          ending, closed   announce-overrun
ending, closed    renewed          ending, closed   announce-renewed
ending, closed    renewed, late    over, closed
ending, closed    published        ending, closed   announce-renewed
ending, closed    taken            over, closed
ending, closed    failed           ending, closed   announce-renew-failed
ending, closed    failed, late     over, closed     announce-renew-failed
ending, closed    completing       over, closed
ending, closed    work settled     settled, closed  release
ending, closed    settled, late    settled, closed  finish
over              tick too early   over, closed     announce-overrun
over              renewal due      over, closed     announce-overrun
over              drain up         over, closed     announce-overrun
over              stalled          over, closed     announce-overrun
over              failed           over, closed     announce-renew-failed
over              failed, late     over, closed     announce-renew-failed
over              work settled     settled, closed  finish
over              settled, late    settled, closed  finish
over, completing  stalled          over, closed     abort
over, completing  failed           over, closed     announce-renew-failed
over, completing  failed, late     over, closed     announce-renew-failed
over, completing  resign           over, closed     abort
over, completing  stop             over, closed     abort
over, completing  work settled     settled, closed  abort release
over, completing  settled, late    settled, closed  abort release
over, completed   stalled          over, closed     abort
over, completed   failed           over, closed     announce-renew-failed
over, completed   failed, late     over, closed     announce-renew-failed
over, completed   resign           over, closed     abort
over, completed   stop             over, closed     abort
over, completed   work settled     settled, closed  abort finish
over, completed   settled, late    settled, closed  abort finish
settled           failed           settled, closed  announce-renew-failed
settled           failed, late     settled, closed  announce-renew-failed
`;

const ROWS = new Map(
  TABLE.trim()
    .split("\n")
    .map((row) => row.split(/ {2,}/))
    .map(([state, event, phase, effects = ""]) => [`${state}: ${event}`, { phase, effects }]),
);

/** The driver waits for the work once, so it cannot settle again. */
const IMPOSSIBLE = ["settled: work settled", "settled: settled, late"];

const PAIRS = Object.keys(STATES)
  .flatMap((state) => Object.keys(EVENTS).map((event) => ({ name: `${state}: ${event}`, state, event })))
  .filter(({ name }) => !IMPOSSIBLE.includes(name));

function reach(term: TermState, events: readonly TermEvent[], ms: number): TermState {
  return events.reduce((now, event) => step(now, event, at(ms)).term, term);
}

function phaseOf({ phase, renewal }: TermState): string {
  return renewal.is === "closed" ? `${phase}, closed` : phase;
}

test("a term begins with a valid leadership, an intact signal and a renewal on the grid", () => {
  expect(beginTerm(plan, at(100))).toEqual({
    plan,
    phase: "leading",
    grantedAt: at(0),
    renewal: { is: "due", atMs: at(5_000).monotonicMs },
    failures: 0,
    checkpointMs: at(100).monotonicMs,
    drain: undefined,
    over: undefined,
    isStopping: false,
    completion: "not-sent",
  });
});

describe("the table", () => {
  test("has no row for a pair that there is not", () => {
    expect(PAIRS.map(({ name }) => name)).toEqual(expect.arrayContaining([...ROWS.keys()]));
  });

  test.for(PAIRS)("$name", ({ name, state, event }) => {
    const before = reach(beginTerm(plan, at(0)), STATES[state]!, 1_000);
    const [taken, ms] = EVENTS[event]!;
    const { term, effects } = step(before, taken, at(ms));

    expect({ phase: phaseOf(term), effects: effects.map(({ type }) => type).join(" ") }).toEqual(
      ROWS.get(name) ?? { phase: phaseOf(before), effects: "" },
    );
  });
});

test.each([
  ["is lost at the renew deadline", 10_000, 2_500, ["abort", "announce-blocked"]],
  ["is lost at the end of its validity", 13_500, 12_500, ["abort", "announce-blocked"]],
  ["is lost, and the timer was a little late", 10_000, 2_499, ["abort"]],
  ["goes on", 9_999, 8_999, []],
])("a term whose process did not run says so where it %s", (_, ms, lateMs, effects) => {
  const found = step(beginTerm(plan, at(0)), { type: "check" }, at(ms), lateMs).effects;
  expect(found.map(({ type }) => type)).toEqual(effects);
});

/** A term, with the facts that its state does not keep. */
interface Observed {
  readonly term: TermState;
  readonly now: Instant;
  /** The send of the renewal under way. */
  readonly sentAt: Instant | undefined;
  readonly aborts: number;
  readonly ends: number;
  /** The send of the last renewal that was confirmed in time. */
  readonly confirmedAt: Instant;
}

interface Possible {
  readonly event: TermEvent;
  readonly now: Instant;
  /** The event confirms a renewal that was sent then. */
  readonly confirms?: Instant;
}

const PHASES = ["leading", "ending", "over", "settled"];
/** The events at which the machine reads the clocks. */
const LOOKS = ["check", "tick", "renewed", "published", "renewal-failed", "work-settled"];

function later({ monotonicMs, wallMs }: Instant, ms: number, onWallMs = ms): Instant {
  return { monotonicMs: monotonicMs + ms, wallMs: wallMs + onWallMs };
}

function* possible({ term, now, sentAt }: Observed): Generator<Possible> {
  const tickMs = nextTickMs(term, now);
  if (tickMs < Infinity) yield { event: { type: "tick" }, now: later(now, Math.max(tickMs - now.monotonicMs, 0)) };
  yield { event: { type: "check" }, now: later(now, 4_000) };
  yield { event: { type: "check" }, now: later(now, 0, 20_000) };
  yield { event: { type: "checkpoint" }, now };
  yield { event: { type: "end", reason: RESIGNED }, now };
  yield { event: { type: "end", reason: RESIGNED, stops: true }, now };
  if (term.phase !== "settled") yield { event: { type: "work-settled", isFailed: false }, now };
  yield { event: { type: "renew-requested" }, now };
  yield { event: { type: "woken" }, now };
  if (term.completion === "not-sent") yield { event: { type: "completing" }, now };
  if (term.completion === "unknown") yield { event: { type: "completed" }, now };
  yield { event: { type: "published", outcome: HELD }, now };
  yield { event: { type: "renewed", outcome: HELD, isExtra: true }, now };
  if (term.renewal.is === "under-way" && !sentAt) yield { event: { type: "renewal-skipped" }, now };
  if (!sentAt) return;
  for (const ms of [200, timing.attemptTimeoutMs]) {
    yield { event: { type: "renewed", outcome: { held: true, extendedAt: sentAt } }, now: later(now, ms), confirms: sentAt };
    yield { event: { type: "renewal-failed", error: LOST_REPLY }, now: later(now, ms) };
  }
  for (const outcome of [HELD, TRANSFERRED, BROKEN, TAKEN]) yield { event: { type: "renewed", outcome }, now };
}

/** Throws where a rule does not hold. `expect` would take most of the time of half a million checks. */
type Must = (rule: string, holds: boolean) => void;

/** Takes one event, and checks what must hold after it. */
function observe(before: Observed, { event, now, confirms }: Possible): Observed {
  const was = before.term;
  const { term, effects } = step(was, event, now);
  const must: Must = (rule, holds) => {
    if (!holds) expect({ rule, event, effects, was, term, now }).toBe("a step that is allowed");
  };
  const count = (...types: string[]): number => effects.filter(({ type }) => types.includes(type)).length;
  const aborts = before.aborts + count("abort");
  const ends = before.ends + count("release", "finish");
  const confirmedAt = confirms && !was.over && !step(was, { type: "check" }, now).term.over ? confirms : before.confirmedAt;

  must("a phase never goes back", PHASES.indexOf(term.phase) >= PHASES.indexOf(was.phase));
  must("a term that is over has an error", (term.over !== undefined) === PHASES.indexOf(term.phase) >= 2);
  must("the error of a term that is over stays", was.over === undefined || term.over === was.over);
  must("the reason of the abort stays", was.drain === undefined || term.drain?.reason === was.drain.reason);
  must("the signal aborts once", aborts === (term.drain ? 1 : 0));
  must("a closed term stays closed", was.renewal.is !== "closed" || term.renewal.is === "closed");
  must("a closed term sends no renewal", term.renewal.is !== "closed" || count("renew") === 0);
  must("one renewal is under way", was.renewal.is !== "under-way" || count("renew") === 0);
  must("the lease is given up once", ends === (term.phase === "settled" ? 1 : 0));
  must(
    "a check is taken where it changes something",
    event.type !== "check" || isOverdue(was, now) === (term.phase !== was.phase),
  );
  const isHolder = was.over === undefined && sinceMs(confirmedAt, now) < timing.validForMs;
  must("a lease is released by its holder", count("release") === 0 || was.completion === "unknown" || isHolder);
  if (LOOKS.includes(event.type) && !term.over) checkClocks(term, now, confirmedAt, must);
  if (term.phase !== "settled") checkNextTick(event, term, now, must);

  const isSent = count("renew") > 0 && mayRenew(term, now);
  const sentAt = isSent ? now : isReply(event) ? undefined : before.sentAt;
  return { term, now, sentAt, aborts, ends, confirmedAt };
}

/** Reports whether this is the reply to the renewal under way. */
function isReply(event: TermEvent): boolean {
  return (event.type === "renewed" && !event.isExtra) || event.type === "renewal-failed";
}

function sinceMs(since: Instant, now: Instant): number {
  return Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs);
}

function checkClocks(term: TermState, now: Instant, confirmedAt: Instant, must: Must): void {
  const elapsedMs = sinceMs(confirmedAt, now);
  must("a term is valid by a confirmed send", elapsedMs < timing.validForMs);
  must("a signal is intact by a confirmed send", term.drain !== undefined || elapsedMs < timing.renewDeadlineMs);
}

function checkNextTick(event: TermEvent, term: TermState, now: Instant, must: Must): void {
  const nextMs = nextTickMs(term, now);
  const { drain } = term;
  must("time goes on after a tick", event.type !== "tick" || nextMs > now.monotonicMs);
  must("the clocks are watched", term.over !== undefined || nextMs <= now.monotonicMs + 1_000);
  if (!drain) return must("silence is watched", event.type !== "tick" || now.monotonicMs - term.checkpointMs < 8_000);
  if (drain.isOverrun) return;
  const longestMs = term.over && term.completion === "not-sent" ? 750 : 6_000;
  must("the drain ends in time", drain.untilMs <= now.monotonicMs + longestMs);
  must("the drain is watched", nextMs <= drain.untilMs);
}

/** Two terms with the same name go on alike. */
function nameOf({ term, now, sentAt, confirmedAt }: Observed): string {
  const { plan: _, ...rest } = term;
  const text = (value: unknown): unknown => (value instanceof Error ? value.message.slice(0, 60) : value);
  return JSON.stringify([rest, now, sentAt, confirmedAt], (_key, value: unknown) => text(value));
}

describe("every order of five events", () => {
  test.for(["scheduled", "manual"] as const)("keeps a term safe that is renewed %s, and lets it go on", (renewal) => {
    const term = beginTerm({ ...plan, renewal }, at(0));
    const first: Observed = { term, now: at(0), sentAt: undefined, aborts: 0, ends: 0, confirmedAt: at(0) };
    const seen = new Set([nameOf(first)]);
    let front = [first];
    for (let depth = 0; depth < 5; depth += 1) {
      const next: Observed[] = [];
      for (const before of front) {
        for (const taken of possible(before)) {
          const found = observe(before, taken);
          const name = nameOf(found);
          if (!seen.has(name)) next.push(found);
          seen.add(name);
        }
      }
      front = next;
    }

    expect(seen.size).toBeGreaterThan(1_000);
  });
});
