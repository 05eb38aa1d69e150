/** The packets that servers sign, and the packets that they accept. */
import { once } from "node:events";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import { PacketClient } from "../src/packet-client.ts";
import { packetOf, replyOf, Seal } from "../src/packet.ts";
import { ANSWERS, HEADER, OPTIONAL_IN_ANSWERS, OPTIONAL_IN_REQUESTS, REQUESTS, SIGN } from "./example-messages.ts";

/** Undefined also if the only message of the packet is dropped. */
const whole = <P extends { readonly contents: readonly unknown[] }>(packet: P | undefined): P | undefined =>
  packet?.contents.includes(undefined) === true ? undefined : packet;
const request = (content: unknown, header: object = {}) =>
  whole(packetOf(Buffer.from(JSON.stringify({ ...HEADER, contents: [content], ...header }))));
const reply = (content: unknown, header: object = {}) =>
  whole(replyOf(Buffer.from(JSON.stringify({ ...HEADER, isReply: true, contents: [content], ...header }))));

describe.each([
  ["request", REQUESTS, OPTIONAL_IN_REQUESTS, request],
  ["answer", ANSWERS, OPTIONAL_IN_ANSWERS, reply],
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

test("counts are whole and at least zero, and times may be fractions of milliseconds, up to an hour", () => {
  const lead = { kind: "LEAD", ...REQUESTS["LEAD"] };
  for (const number of [0, 1, Number.MAX_SAFE_INTEGER]) expect(request({ ...lead, number })).toBeDefined();
  for (const number of [-1, 0.5, 2 ** 53]) expect(request({ ...lead, number })).toBeUndefined();
  for (const leaseDurationMs of [0, 0.5, 3_600_000]) expect(request({ ...lead, leaseDurationMs })).toBeDefined();
  for (const leaseDurationMs of [-0.5, 3_600_001, 1e300]) expect(request({ ...lead, leaseDurationMs })).toBeUndefined();
  expect(reply({ kind: "TELL", ...ANSWERS["TELL"], terms: { e: -1 } })).toBeUndefined();
  expect(reply({ kind: "TELL", ...ANSWERS["TELL"], terms: null })).toBeUndefined();
  expect(reply({ kind: "TELL", ...ANSWERS["TELL"], terms: {} })).toBeDefined();
});

test("a text has at most 4,096 characters", () => {
  const read = (length: number): unknown => request({ kind: "READ", election: "e".repeat(length) });
  expect([read(4_096) === undefined, read(4_097) === undefined]).toEqual([false, true]);
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

test("a packet's time ends its request, and no timer is left after an answer", async () => {
  const clock = new VirtualClock();
  const client = new PacketClient({ clock, servers: [], seal: {} as never, http: {} as never });
  await client.within(5_000, () => Promise.resolve());
  expect(clock.pendingTimers).toBe(0);
  const late = client.within(5_000, async (signal) => {
    await once(signal, "abort");
    return clock.monotonicMs();
  });
  const begunMs = clock.monotonicMs();
  expect(await clock.runUntil(late)).toBe(begunMs + 5_000);
});
