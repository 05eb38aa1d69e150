/** The packets that servers sign, and the packets that they accept. */
import { describe, expect, test } from "vitest";
import { packetOf, replyOf, Seal } from "../src/packet.ts";

const HEADER = { cluster: "c", from: "a", to: "b", start: "s", writes: 0, seen: 0, id: 1, servers: ["a", "b"] };
const TITLE = { election: "e", term: 1, termId: "t", leaseDurationMs: 1_000 };
const BROKEN = { id: "i", reason: "r", immediate: false };
const TRANSFER = { id: "i", candidateId: "x", timeoutMs: 0.5 };
const SIGN = { term: 1, number: 2, candidateId: "x", leaseDurationMs: 1.5, ageMs: 0, released: false, holdMs: 0 };

const REQUESTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
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
const ANSWERS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
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
type Optional = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
const OF_REQUESTS: Optional = { LEAD: { value: "v" }, RELEASE: { transfer: TRANSFER } };
const OF_ANSWERS: Optional = {
  LEAD: { broken: BROKEN, transfer: TRANSFER },
  RELEASE: { broken: BROKEN },
  VOTE: { sign: { ...SIGN, value: "v", broken: BROKEN, transfer: { ...TRANSFER, leftMs: 0.5 } } },
  READ: { sign: SIGN },
  TELL: { takesPart: true },
};

/** Undefined also if the only message of the packet is dropped. */
const whole = <P extends { readonly contents: readonly unknown[] }>(packet: P | undefined): P | undefined =>
  packet?.contents.includes(undefined) === true ? undefined : packet;
const request = (content: unknown, header: object = {}) =>
  whole(packetOf(Buffer.from(JSON.stringify({ ...HEADER, contents: [content], ...header }))));
const reply = (content: unknown, header: object = {}) =>
  whole(replyOf(Buffer.from(JSON.stringify({ ...HEADER, isReply: true, contents: [content], ...header }))));

describe.each([
  ["request", REQUESTS, OF_REQUESTS, request],
  ["answer", ANSWERS, OF_ANSWERS, reply],
] as const)("a %s", (_, kinds, optional, read) => {
  test.each(Object.entries(kinds))(
    "%s is accepted with all of its fields, and refused if one is missing or has another type",
    (kind, fields) => {
      const message = { kind, ...fields };
      expect(read(message)?.contents).toEqual([message]);
      for (const name of Object.keys(fields)) {
        const { [name]: __, ...less } = message as Record<string, unknown>;
        expect(read(less), name).toBeUndefined();
        for (const wrong of [null, [], "-", -1, 0.5, true]) {
          if (typeof wrong === typeof fields[name] && !(typeof wrong === "number" && wrong < 0)) continue;
          expect(read({ ...message, [name]: wrong }), `${name}: ${JSON.stringify(wrong)}`).toBeUndefined();
        }
      }
    },
  );

  test.each(Object.entries(optional))("%s may have its optional fields, but not with another type", (kind, parts) => {
    for (const [name, value] of Object.entries(parts)) {
      expect(read({ kind, ...kinds[kind], [name]: value }), name).toBeDefined();
      expect(read({ kind, ...kinds[kind], [name]: 5 }), name).toBeUndefined();
    }
  });

  test("of an unknown kind is refused", () => {
    for (const content of [null, 5, "ELECT", {}, { kind: 5 }, { kind: "toString" }, { kind: "NEWS" }]) {
      if (content === null && read === reply) continue;
      expect(read(content), JSON.stringify(content)).toBeUndefined();
    }
  });

  test("needs a whole header", () => {
    const content = { kind: "READ", election: "e", absent: [] };
    for (const name of Object.keys(HEADER)) expect(read(content, { [name]: undefined }), name).toBeUndefined();
    expect(read(content, { toStart: "t" })).toMatchObject({ toStart: "t" });
    for (const wrong of [{ toStart: 5 }, { servers: "a" }, { servers: [5] }, { id: -1 }, { id: 0.5 }, { contents: {} }]) {
      expect(read(content, wrong), JSON.stringify(wrong)).toBeUndefined();
    }
  });
});

test("a status is accepted with all of its fields", () => {
  for (const name of Object.keys(SIGN)) {
    expect(reply({ kind: "READ", absent: [], sign: { ...SIGN, [name]: undefined } }), name).toBeUndefined();
  }
});

test("counts are whole and at least zero, and times may be fractions of milliseconds", () => {
  const lead = { kind: "LEAD", ...REQUESTS["LEAD"] };
  for (const number of [0, 1, Number.MAX_SAFE_INTEGER]) expect(request({ ...lead, number })).toBeDefined();
  for (const number of [-1, 0.5, 2 ** 53]) expect(request({ ...lead, number })).toBeUndefined();
  for (const leaseDurationMs of [0, 0.5, 1e300]) expect(request({ ...lead, leaseDurationMs })).toBeDefined();
  expect(request({ ...lead, leaseDurationMs: -0.5 })).toBeUndefined();
  expect(reply({ kind: "TELL", ...ANSWERS["TELL"], terms: { e: -1 } })).toBeUndefined();
  expect(reply({ kind: "TELL", ...ANSWERS["TELL"], terms: null })).toBeUndefined();
  expect(reply({ kind: "TELL", ...ANSWERS["TELL"], terms: {} })).toBeDefined();
});

test("a request is not a reply, a reply is not a request, and an unreadable packet is neither", () => {
  const content = { kind: "READ", election: "e" };
  expect(request(content, { isReply: true })).toBeUndefined();
  expect(reply({ kind: "SILENT" }, { isReply: false })).toBeUndefined();
  for (const body of ["", "{", "null", "5", "[]"]) {
    expect(packetOf(Buffer.from(body)), body).toBeUndefined();
    expect(replyOf(Buffer.from(body)), body).toBeUndefined();
  }
});

test("a reply may have no answer to a request, and may say why it was refused", () => {
  expect(reply(null)?.contents).toEqual([null]);
  for (const refused of ["lists", "start", "replay", "misdirected"]) expect(reply(null, { refused })).toMatchObject({ refused });
  expect(reply(null, { refused: "weather" })).toBeUndefined();
});

test("of several secrets the first signs, and all are accepted", () => {
  const [before, during, after] = [new Seal("old"), new Seal(["new", "old"]), new Seal("new")];
  const body = Buffer.from("body");
  expect([before, after].map((seal) => during.isOurs(body, seal.sign(body)))).toEqual([true, true]);
  expect([before, after].map((seal) => seal.isOurs(body, during.sign(body)))).toEqual([false, true]);
});

test("a signature covers the length of its body", () => {
  const seal = new Seal("our secret");
  expect(seal.isPromised(seal.sign("body"), 4)).toBe(true);
  for (const length of [3, 5, NaN]) expect(seal.isPromised(seal.sign("body"), length)).toBe(false);
});

test("unknown messages are dropped from a packet, and the others stay", () => {
  const read = { kind: "READ", election: "e" };
  expect(packetOf(Buffer.from(JSON.stringify({ ...HEADER, contents: [read, { kind: "NEWS" }, read] })))?.contents).toEqual([
    read,
    undefined,
    read,
  ]);
});

test("a seal is valid for one secret and one body only", () => {
  const [ours, theirs] = [new Seal("our secret"), new Seal("their secret")];
  const body = Buffer.from("body");
  expect(ours.isOurs(body, ours.sign("body"))).toBe(true);
  for (const signature of [theirs.sign(body), ours.sign("bodY"), ours.sign(body).slice(1), "", undefined, 5, [ours.sign(body)]]) {
    expect(ours.isOurs(body, signature)).toBe(false);
  }
});
