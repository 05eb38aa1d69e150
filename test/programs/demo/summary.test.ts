import { timing } from "@leasehold/core";
import { expect, test } from "vitest";
import { isEvent, type DemoEvent } from "./demo-event.ts";
import type { Entry } from "./ledger.ts";
import { eventAt, goodLedger, goodStory } from "./good-story.ts";
import { summaryText } from "./summary-text.ts";
import { summarize, type Summary } from "./summary.ts";
import { workerStory } from "./worker-story.ts";
import { takeoversOf } from "./takeover.ts";

const lease = timing({ leaseDurationMs: 15_000 });

function summaryOf(events: readonly DemoEvent[], ledger: readonly (readonly Entry[])[], failure?: Error): Summary {
  const takeovers = takeoversOf(events, lease.leaseDurationMs, lease.validForMs);
  const store = { store: "Azure Blob Storage", fence: "after-seal" } as const;
  return summarize(workerStory, { ...store, events, takeovers, timing: lease, ledger }, "picture.svg", failure);
}

/** Returns the failed expectations of the good story after a change. */
function failuresOf(
  change: (event: DemoEvent) => DemoEvent | undefined,
  ledger: readonly (readonly Entry[])[] = goodLedger(),
): string[] {
  const events = goodStory().flatMap((event) => change(event) ?? []);
  return summaryOf(events, ledger)
    .expectations.filter(({ held }) => !held)
    .map(({ expected }) => expected);
}

function without(name: DemoEvent["event"]): (event: DemoEvent) => DemoEvent | undefined {
  return (event) => (event.event === name ? undefined : event);
}

test("takeovers are measured from the send of the last renewal, or from the release", () => {
  const { takeovers, ok, overlapMs } = summaryOf(goodStory(), goodLedger());
  expect(takeovers).toEqual([
    {
      cause: "crash",
      from: "a",
      to: "b",
      term: 2,
      at: 21_100,
      ms: 15_100,
      leases: 1.007,
      since: "renewal",
      sinceSignalMs: 14_100,
    },
    {
      cause: "handover",
      from: "b",
      to: "c",
      term: 3,
      at: 25_000,
      ms: 999,
      leases: 0.067,
      since: "release",
      sinceSignalMs: 2_000,
    },
    {
      cause: "freeze",
      from: "c",
      to: "d",
      term: 4,
      at: 40_200,
      ms: 15_200,
      leases: 1.013,
      since: "renewal",
      sinceSignalMs: 13_200,
    },
  ]);
  expect(overlapMs).toBe(0);
  expect(ok).toBe(true);
});

test("a second leader beside the first fails, and the overlap is in the summary", () => {
  const early = goodStory().map((event) =>
    isEvent(event, "started-leading") && event.term === 4 ? { ...event, at: 38_000 } : event,
  );
  const summary = summaryOf(early, goodLedger());
  expect(summary.overlapMs).toBe(500);
  expect(summary.ok).toBe(false);
  expect(summaryText(summary, (_, text) => text)).toContain("Overlap of leaders: 500 ms");
});

test("a leader whose predecessor's term has not ended fails", () => {
  const more = [eventAt(60_000, "c", "started-leading", { validUntil: 73_500 }, 5), eventAt(60_001, "c", "sealed", {}, 5)];
  expect(summaryOf([...goodStory(), ...more], goodLedger()).expectations.filter(({ held }) => !held)).toEqual([
    {
      expected: "one leader each time",
      held: false,
      found: "5 leaders, and nothing had ended term 4, after an election and 3 signals",
    },
  ]);
});

test("a leader that loses its lease on a busy machine is no failure", () => {
  const lost = [
    eventAt(50_000, "d", "stopped-leading", { lost: true }, 4),
    eventAt(60_000, "c", "started-leading", { validUntil: 73_500 }, 5),
    eventAt(60_001, "c", "sealed", {}, 5),
  ];
  expect(summaryOf([...goodStory(), ...lost], goodLedger()).ok).toBe(true);
});

test("a slow takeover is no failure, and its duration is in the summary", () => {
  const late = goodStory().map((event) => (event.at > 40_000 ? ({ ...event, at: event.at + 60_000 } as DemoEvent) : event));
  const { ok, expectations } = summaryOf(
    late.map((event) => (isEvent(event, "started-leading") && event.term === 4 ? { ...event, validUntil: 113_700 } : event)),
    goodLedger(),
  );
  expect(ok).toBe(true);
  expect(expectations).toContainEqual({
    expected: "after the freeze another one leads",
    held: true,
    found: "d, after 75,200 ms",
  });
});

test("a term that repeats fails", () => {
  expect(failuresOf((event) => (event.term === 4 ? ({ ...event, term: 3 } as DemoEvent) : event))).toContain(
    "the term rises with every leader",
  );
});

test("a leader without a successor fails", () => {
  expect(failuresOf((event) => (event.term === 4 ? undefined : event))).toContain("after the freeze another one leads");
  expect(failuresOf(without("killed"))).toContain("after the crash another one leads");
  expect(failuresOf(without("terminated"))).toContain("after the handover another one leads");
});

test("a leader that drops its work when it is told to end fails, and so does one with a bad exit code", () => {
  const expected = "the leader told to end finishes its work first";
  expect(failuresOf((event) => (isEvent(event, "wrote") && event.entry === 3 ? undefined : event))).toEqual([expected]);
  expect(failuresOf((event) => (isEvent(event, "exited") && event.code === 0 ? { ...event, code: 1 } : event))).toEqual([
    expected,
  ]);
});

test("a leader that is told to end need not finish its work if it has lost its lease", () => {
  const lost = (event: DemoEvent): DemoEvent | undefined => {
    if (isEvent(event, "wrote") && event.entry === 3) return undefined;
    return isEvent(event, "stopped-leading") && event.term === 2 ? { ...event, lost: true } : event;
  };
  expect(failuresOf(lost)).toEqual([]);
});

test("a thawed leader whose isValid() is true fails", () => {
  const expected = "the thawed leader knows at once that it is deposed";
  expect(failuresOf((event) => (isEvent(event, "thawed") ? { ...event, valid: true } : event))).toEqual([expected]);
  expect(failuresOf(without("thawed"))).toEqual([expected]);
  const later = (event: DemoEvent): DemoEvent =>
    isEvent(event, "validity-ended") && event.term === 3 ? { ...event, at: 42_100, lastValid: 42_050 } : event;
  expect(failuresOf(later)).toEqual(["never two valid leaders at once", expected]);
});

test("a late write that is not refused fails", () => {
  const expected = "the store refuses the deposed leader's write";
  expect(failuresOf(without("fenced-write-refused"))).toEqual([expected]);
  const accepted = (event: DemoEvent): DemoEvent =>
    isEvent(event, "fenced-write-refused")
      ? eventAt(event.at, event.candidate, "late-write-accepted", { sentAt: event.at }, event.term)
      : event;
  expect(failuresOf(accepted)).toEqual([expected]);
});

test("a late write may be accepted if it was sent before the next leader's seal, but not after it", () => {
  const late = (sentAt: number): Summary =>
    summaryOf([...goodStory(), eventAt(sentAt, "c", "late-write-accepted", { sentAt }, 3)], goodLedger());
  expect(late(40_209).ok).toBe(true);
  expect(late(40_211).ok).toBe(false);
});

test("a leader that writes before it seals fails", () => {
  expect(failuresOf((event) => (isEvent(event, "sealed") && event.term === 2 ? undefined : event))).toEqual([
    "every leader seals the ledger before it writes to it",
  ]);
});

test("a ledger with a stale, lost or overwritten entry fails, and so does a missing ledger", () => {
  const expected = "the ledger keeps every acknowledged write, and takes no stale one";
  const good = goodLedger();
  const final = good.at(-1)!;
  const late = { entry: 5, term: 3, candidate: "c" };
  const appended = [...good, [...final, { ...late, entry: 6 }]];
  const overwritten = [...good, [...final.slice(0, 4), late]];
  const healedSince = [...overwritten, final];
  for (const ledger of [appended, overwritten, healedSince, [...good, final.slice(0, -1)], [...good, []], []]) {
    expect(failuresOf((event) => event, ledger)).toEqual([expected]);
  }
});

test("a write that was never acknowledged may be in the ledger", () => {
  expect(failuresOf((event) => (isEvent(event, "wrote") && event.entry === 1 ? undefined : event))).toEqual([]);
});

test("a demo that did not come to its end fails, even if every expectation held", () => {
  const { ok, expectations } = summaryOf(goodStory(), goodLedger(), new Error("It did not end within 110 s."));
  expect(ok).toBe(false);
  expect(expectations[0]).toEqual({ expected: "the demo comes to its end", held: false, found: "It did not end within 110 s." });
  expect(summaryOf([], []).ok).toBe(false);
});
