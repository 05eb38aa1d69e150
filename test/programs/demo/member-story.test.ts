import { timing } from "@leasehold/core";
import { expect, test } from "vitest";
import { isEvent, type DemoEvent } from "./demo-event.ts";
import { eventAt as e } from "./good-story.ts";
import { judgeMembers } from "./member-expectations.ts";
import { memberStretchesOf } from "./member-timeline.ts";

const lease = timing({ leaseDurationMs: 15_000 });

/** Returns the events of a demo without faults. */
function goodStory(): DemoEvent[] {
  const renewed = (at: number, candidate: string, term: number): DemoEvent =>
    e(at, candidate, "renewed", { validUntil: at + lease.validForMs }, term);
  return [
    e(0, null, "demo", {
      leaseDurationMs: 15_000,
      retryPeriodMs: 2_000,
      store: "",
      place: "",
      cast: "",
      members: ["sqlite", "dynamodb", "firestore"],
    }),
    e(1_000, "a", "started-leading", { validUntil: 14_500 }, 1),
    e(2_000, "a", "wrote", { entry: 1 }, 1),
    e(10_000, null, "member-killed", { member: "dynamodb" }),
    ...[11_000, 16_000, 21_000, 26_000].map((at) => renewed(at, "a", 1)),
    e(27_000, null, "member-killed", { member: "firestore" }),
    e(36_000, "a", "ending", { lost: true, reason: "" }, 1),
    e(36_010, "a", "validity-ended", { lastValid: 36_000 }, 1),
    e(36_020, "a", "stopped-leading", { lost: true }, 1),
    e(40_000, null, "member-started", { member: "dynamodb", empty: false, since: 39_000 }),
    e(42_000, "b", "started-leading", { validUntil: 55_500 }, 2),
    e(43_000, "b", "wrote", { entry: 2 }, 2),
    e(44_000, null, "member-started", { member: "firestore", empty: true, since: 43_500 }),
    e(60_000, null, "member-healed", { member: "firestore" }),
    e(61_000, null, "member-killed", { member: "dynamodb" }),
    ...[62_000, 67_000, 72_000, 77_000].map((at) => renewed(at, "b", 2)),
  ];
}

const LEDGER = [
  [
    { entry: 1, term: 1, candidate: "a" },
    { entry: 2, term: 2, candidate: "b" },
  ],
];

function without(name: DemoEvent["event"]): (event: DemoEvent) => DemoEvent | undefined {
  return (event) => (event.event === name ? undefined : event);
}

function failuresOf(change: (event: DemoEvent) => DemoEvent | undefined): string[] {
  const events = goodStory().flatMap((event) => change(event) ?? []);
  return judgeMembers({ store: "", fence: "none", events, takeovers: [], timing: lease, ledger: LEDGER })
    .filter(({ held }) => !held)
    .map(({ expected }) => expected);
}

test("every expectation holds in a story without faults", () => {
  expect(failuresOf((event) => event)).toEqual([]);
});

test("a leader that sent its request before the second store died may log its start later", () => {
  const early = (event: DemoEvent): DemoEvent =>
    isEvent(event, "started-leading") && event.term === 2 ? { ...event, at: 38_900, validUntil: 40_000 } : event;
  expect(failuresOf(early)).not.toContain("nobody begins to lead while one store of three is left");
});

test.each<[string, (event: DemoEvent) => DemoEvent | undefined]>([
  ["one store of three dies, and the leader goes on", (event) => (event.at === 21_000 ? undefined : event)],
  ["one leader until no majority is left, and one once it is back", (event) => (event.term === 2 ? undefined : event)],
  ["one leader until no majority is left, and one once it is back", without("stopped-leading")],
  ["without a majority the leader steps down", without("ending")],
  [
    "nobody begins to lead while one store of three is left",
    (event) => (isEvent(event, "started-leading") && event.term === 2 ? { ...event, at: 38_900 } : event),
  ],
  ["somebody leads once a store is back", (event) => (event.term === 2 ? undefined : event)],
  ["the store that came back empty is written anew", without("member-healed")],
  [
    "another one dies, and the store that was emptied makes the majority",
    (event) => (isEvent(event, "renewed") && event.at === 77_000 ? undefined : event),
  ],
  [
    "the ledger keeps every acknowledged write, and takes no stale one",
    (event) => (event.at === 43_000 ? e(event.at, "c", "wrote", { entry: 2 }, 2) : event),
  ],
])("it fails where this does not hold: %s", (expected, change) => {
  expect(failuresOf(change)).toContain(expected);
});

test("a store is up from the beginning, absent while it is dead, and empty until it is restored", () => {
  expect(memberStretchesOf(goodStory(), 80_000)).toEqual([
    { member: "dynamodb", state: "up", from: 0, to: 10_000 },
    { member: "firestore", state: "up", from: 0, to: 27_000 },
    { member: "firestore", state: "empty", from: 44_000, to: 60_000 },
    { member: "dynamodb", state: "up", from: 40_000, to: 61_000 },
    { member: "sqlite", state: "up", from: 0, to: 80_000 },
    { member: "firestore", state: "up", from: 60_000, to: 80_000 },
  ]);
});
