/** One message of each kind, with the fields that it must have. */
type Messages = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

export const HEADER = { cluster: "c", from: "a", to: "b", start: "s", writes: 0, seen: 0, id: 1, servers: ["a", "b"] };
const TITLE = { election: "e", term: 1, termId: "t", leaseDurationMs: 1_000 };
const BROKEN = { id: "i", reason: "r", immediate: false };
const TRANSFER = { id: "i", candidateId: "x", timeoutMs: 0.5 };
export const SIGN = { term: 1, number: 2, candidateId: "x", leaseDurationMs: 1.5, ageMs: 0, released: false, holdMs: 0 };

export const REQUESTS: Messages = {
  ELECT: {
    ...TITLE,
    candidateId: "x",
    trial: true,
    heard: { term: 0, number: 0 },
    hasLed: false,
    hasFailed: false,
    holdMs: 50,
    claimMs: 0,
  },
  LEAD: { ...TITLE, number: 1, candidateId: "x" },
  RELEASE: { ...TITLE, number: 1, holdMs: 0 },
  BREAK: { ...BROKEN, election: "e", term: 1 },
  TRANSFER: { ...TRANSFER, election: "e", term: 1, afterBreak: false },
  READ: { election: "e" },
  TELL: {},
  PING: {},
};
export const ANSWERS: Messages = {
  VOTE: { granted: true, term: 1, waitMs: 0 },
  LEAD: { taken: true, term: 1 },
  RELEASE: { taken: true, term: 1 },
  BREAK: { taken: false, term: 1 },
  TRANSFER: { taken: false, term: 1 },
  READ: { absent: [] },
  PING: { takesPart: true, syncMs: 0.5, absent: [{ name: "c", why: "w", forMs: 0.5 }] },
  TELL: { forgot: false, isFresh: true, floor: 0, clockFloor: 0, terms: { e: 1 }, longestLeaseMs: 0 },
  SILENT: {},
};
/** The optional fields, with an example of each. */
export const OPTIONAL_IN_REQUESTS: Messages = { LEAD: { value: "v" }, RELEASE: { transfer: TRANSFER } };
export const OPTIONAL_IN_ANSWERS: Messages = {
  LEAD: { broken: BROKEN, transfer: TRANSFER },
  RELEASE: { broken: BROKEN },
  VOTE: { sign: { ...SIGN, value: "v", broken: BROKEN, transfer: { ...TRANSFER, leftMs: 0.5 } } },
  READ: { sign: SIGN },
  TELL: { takesPart: true, takesPartIn: ["e"], leases: { e: 0.5 } },
  PING: { why: "w" },
};
