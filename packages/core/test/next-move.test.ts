import { expect, test } from "vitest";
import { nextMove, type Move, type Polled, type Situation } from "../src/election/next-move.ts";

const NOW_MS = 10_000;
/** A poll that was sent 10 ms ago. The lease that it showed is not over. */
const POLLED: Polled = { snapshot: undefined, isWoken: false, sentMs: NOW_MS - 10, knownMs: NOW_MS, expiresMs: Infinity };
const EXPIRED: Polled = { ...POLLED, expiresMs: NOW_MS };
/** A standby that has polled just now, and may not acquire. */
const STANDBY: Situation = {
  polled: POLLED,
  isNew: true,
  isFirst: false,
  turn: undefined,
  nowMs: NOW_MS,
  isPushed: false,
  isWoken: false,
  readInMs: 0,
  cooldownMs: 0,
  mayAcquire: false,
  needsProof: false,
};
const LATER = { isFirst: false, atMs: NOW_MS };
const FIRST = { isFirst: true, atMs: NOW_MS };

type Row = readonly [why: string, change: Partial<Situation>, move: Move];

const ROWS: readonly Row[] = [
  ["a candidate reads if it has no poll", { polled: undefined }, { do: "read" }],
  ["a candidate reads if it has waited since its poll", { isNew: false }, { do: "read" }],
  ["a candidate reads if it has waited, even if it could acquire then", { isNew: false, mayAcquire: true }, { do: "read" }],
  [
    "a candidate reads if it was woken before the lease was over",
    { isNew: false, polled: EXPIRED, isWoken: true },
    { do: "read" },
  ],
  ["a candidate reads only once its rate allows", { polled: undefined, readInMs: 1 }, { do: "pause", ms: 1 }],
  ["a candidate reads before it proves anything", { polled: undefined, needsProof: true }, { do: "read" }],
  [
    "a candidate reads a millisecond before the end of the lease",
    { isNew: false, polled: { ...EXPIRED, expiresMs: NOW_MS + 1 } },
    { do: "read" },
  ],
  ["a candidate cools down even if it may acquire", { cooldownMs: 1, mayAcquire: true }, { do: "cool-down", leftMs: 1 }],
  [
    "a candidate in its cooldown reads again after each wait, even if the lease is over",
    { cooldownMs: 900, isNew: false, polled: EXPIRED },
    { do: "read" },
  ],
  ["a candidate cools down only after it has polled", { cooldownMs: 900, isNew: false }, { do: "read" }],
  ["a candidate that may acquire acquires at once if it has not waited", { mayAcquire: true, isFirst: true }, { do: "acquire" }],
  ["a candidate that may acquire waits for its turn if it has waited", { mayAcquire: true }, { do: "await-turn" }],
  [
    "a candidate that may acquire needs no new poll if it has observed the end of the lease",
    { isNew: false, polled: EXPIRED },
    { do: "await-turn" },
  ],
  [
    "a candidate that may acquire does not wait for its rate of polls",
    { isNew: false, polled: EXPIRED, readInMs: 70 },
    { do: "await-turn" },
  ],
  [
    "a candidate that may acquire needs no proof of its right to write",
    { mayAcquire: true, needsProof: true },
    { do: "await-turn" },
  ],
  [
    "a candidate that may acquire because the age is unknown waits for the end that it observes",
    { mayAcquire: true, polled: { ...EXPIRED, expiresMs: NOW_MS + 1 } },
    { do: "wait" },
  ],
  [
    "a candidate that may acquire because the age is unknown tries at once if it has not waited",
    { mayAcquire: true, isFirst: true, polled: { ...EXPIRED, expiresMs: NOW_MS + 1 } },
    { do: "acquire" },
  ],
  ["at its turn a candidate acquires if it is among the first", { turn: FIRST }, { do: "acquire" }],
  ["at its turn a candidate forgets its poll if another one may have acquired since", { turn: LATER }, { do: "forget" }],
  [
    "at its turn a candidate acquires if its poll is newer than the turn",
    { turn: { ...LATER, atMs: POLLED.sentMs } },
    { do: "acquire" },
  ],
  [
    "at its turn a candidate acquires if a push would have announced another one",
    { turn: LATER, isPushed: true },
    { do: "acquire" },
  ],
  [
    "at its turn a candidate forgets its poll if a push has come",
    { turn: LATER, isPushed: true, isWoken: true },
    { do: "forget" },
  ],
  ["at its turn a candidate reads if it has no poll any more", { turn: FIRST, polled: undefined }, { do: "read" }],
  ["a candidate that may not acquire believes its new poll, not the end of the lease", { polled: EXPIRED }, { do: "wait" }],
  ["a candidate that may not acquire proves its right to write", { needsProof: true }, { do: "prove" }],
  ["a candidate that may not acquire waits for its next poll after that", {}, { do: "wait" }],
];

test.each(ROWS)("%s", (_why, change, move) => {
  expect(nextMove({ ...STANDBY, ...change })).toEqual(move);
});
