import { timing } from "@leasehold/core";
import { expect, test } from "vitest";
import { isEvent, type DemoEvent, type EventDetails, type EventName } from "./demo-event.ts";
import type { Evidence } from "./expectations.ts";
import { summarize, summaryText } from "./summary.ts";
import { takeoversOf } from "./takeover.ts";
import { ledTermsOf } from "./timeline.ts";

const lease = timing({ leaseDurationMs: 15_000 });

type Change = (event: DemoEvent) => DemoEvent | undefined;

/** Returns an event as a worker or the demo logs it. */
function e<Name extends EventName>(
  at: number,
  candidate: string | null,
  event: Name,
  details: EventDetails[Name],
  term: number | null = null,
): DemoEvent {
  return { at, candidate, event, term, ...details } as DemoEvent;
}

/** The events of a demo without faults. */
const OF_WORKERS: readonly DemoEvent[] = [
  e(1_000, "a", "started-leading", { validUntil: 14_500 }, 1),
  e(2_000, "a", "wrote", { entry: 1 }, 1),
  e(6_000, "a", "renewed", { validUntil: 19_500 }, 1),
  e(7_000, "a", "killed", {}, 1),
  e(21_100, "b", "started-leading", { validUntil: 34_600 }, 2),
  e(22_000, "b", "wrote", { entry: 2 }, 2),
  e(23_000, "b", "terminated", {}, 2),
  e(24_000, "b", "wrote", { entry: 3 }, 2),
  e(24_001, "b", "validity-ended", { lastValid: 24_001 }, 2),
  e(24_010, "b", "stopped-leading", { lost: false }, 2),
  e(24_020, "b", "exited", { code: 0, signal: null }),
  e(25_000, "c", "started-leading", { validUntil: 38_500 }, 3),
  e(26_000, "c", "wrote", { entry: 4 }, 3),
  e(27_000, "c", "paused", {}, 3),
  e(40_200, "d", "started-leading", { validUntil: 53_700 }, 4),
  e(41_000, "d", "wrote", { entry: 5 }, 4),
  e(42_000, "c", "resumed", {}, 3),
  e(42_001, "c", "validity-ended", { lastValid: 26_999 }, 3),
  e(42_001, "c", "thawed", { frozenMs: 15_002, valid: false }, 3),
  e(42_020, "c", "fenced-write-refused", { error: "FencedError", message: "" }, 3),
  e(42_030, "c", "stopped-leading", { lost: true }, 3),
];

const renewed = (at: number, candidate: string, term: number): DemoEvent =>
  e(at, candidate, "renewed", { validUntil: at + lease.validForMs }, term);

function evidenceOf(events: readonly DemoEvent[]): Evidence {
  const takeovers = takeoversOf(events, lease.leaseDurationMs, lease.validForMs);
  return { store: "Azure Blob Storage", events, takeovers, timing: lease };
}

/** Returns the failed expectations of a good story after a change. */
function failuresOf(change: Change): string[] {
  const { expectations } = summarize(evidenceOf(OF_WORKERS.flatMap((event) => change(event) ?? [])), null);
  return expectations.filter(({ held }) => !held).map(({ expected }) => expected);
}

function without(name: EventName): Change {
  return (event) => (event.event === name ? undefined : event);
}

test("every expectation holds in a story without faults", () => {
  expect(failuresOf((event) => event)).toEqual([]);
});

test("takeovers are measured from the send of the last renewal, or from the release", () => {
  const { takeovers } = evidenceOf(OF_WORKERS);
  expect(takeovers).toMatchObject([
    { cause: "crash", from: "a", to: "b", term: 2, at: 21_100, ms: 15_100, leases: 1.007, sinceSignalMs: 14_100 },
    { cause: "handover", from: "b", to: "c", term: 3, at: 25_000, ms: 999, leases: 0.067, since: "release" },
    { cause: "freeze", from: "c", to: "d", term: 4, at: 40_200, ms: 15_200, since: "renewal", sinceSignalMs: 13_200 },
  ]);
});

const ONE_LEADER = "never two valid leaders at once, and a higher term for each leader";
const DRAINED = "the leader told to end finishes its work first";
const KNOWS = "the thawed leader knows at once that it is deposed";
const REFUSED = "the store refuses the deposed leader's write";

test.each<readonly [string, Change, readonly string[]]>([
  ["leads beside the first", (event) => (event.at === 40_200 ? { ...event, at: 38_000 } : event), [ONE_LEADER]],
  ["has the term of the one before", (event) => (event.term === 4 ? ({ ...event, term: 3 } as DemoEvent) : event), [ONE_LEADER]],
  ["has no successor", without("killed"), ["after the crash another one leads"]],
  ["drops its work", (event) => (event.at === 24_000 ? undefined : event), [DRAINED]],
  ["has a bad exit code", (event) => (isEvent(event, "exited") ? { ...event, code: 1 } : event), [DRAINED]],
  ["is valid after its thaw", (event) => (isEvent(event, "thawed") ? { ...event, valid: true } : event), [KNOWS]],
  ["does not wake up", without("thawed"), [KNOWS]],
  ["is valid a while after its thaw", (event) => (event.at === 42_001 ? { ...event, lastValid: 42_050 } : event), [KNOWS]],
  ["is not refused", without("fenced-write-refused"), [REFUSED]],
])("a leader that %s fails", (_, change, expected) => {
  expect(failuresOf(change)).toEqual(expect.arrayContaining([...expected]));
});

test("a leader that is told to end need not finish its work if it has lost its lease", () => {
  const lost: Change = (event) => {
    if (event.at === 24_000) return undefined;
    return isEvent(event, "stopped-leading") && event.term === 2 ? { ...event, lost: true } : event;
  };
  expect(failuresOf(lost)).toEqual([]);
});

test("a demo that did not come to its end fails, and its summary says so, as it says what held", () => {
  const plain = (_: string, text: string): string => text;
  const failed = summarize(evidenceOf(OF_WORKERS), "picture.svg", new Error("It did not end within 110 s."));
  expect(summaryText(failed, plain)).toMatch(/FAILED {2}the demo comes to its end: It did not end within 110 s\.[^]*1 of 8/);
  const text = summaryText(summarize(evidenceOf(OF_WORKERS), "picture.svg"), plain);
  expect(text).toContain("crash     a to b  15,100 ms = 1.01 leases after the last renewal, 14.1 s after SIGKILL");
  expect(text).toMatch(/Overlap of leaders: 0 ms[^]*All 7 expectations held\.\nPicture of the timeline: picture\.svg/);
  expect(summarize(evidenceOf([]), null).ok).toBe(false);
});

test.each<readonly [string, readonly DemoEvent[], number]>([
  [
    "whose task has settled was valid until isValid() was last true",
    [e(7_000, "a", "validity-ended", { lastValid: 7_000 }, 1)],
    7_000,
  ],
  [
    "that was killed counts until the end of its last renewal's validity",
    [renewed(5_000, "a", 1), e(6_000, "a", "killed", {}, 1)],
    18_500,
  ],
  [
    "that was frozen counts no longer than its clock allowed",
    [e(30_001, "a", "validity-ended", { lastValid: 5_999 }, 1)],
    13_500,
  ],
  ["that was valid after its thaw counts until then", [e(16_010, "a", "validity-ended", { lastValid: 16_000 }, 1)], 16_000],
  [
    "that lost its lease early counts until it noticed the loss",
    [e(4_000, "a", "validity-ended", { lastValid: 3_995 }, 1)],
    4_000,
  ],
])("a leader %s", (_, events, toMs) => {
  const start = e(0, "a", "started-leading", { validUntil: 13_500 }, 1);
  expect(ledTermsOf([start, ...events])).toEqual([{ candidateId: "a", term: 1, fromMs: 0, toMs }]);
});
