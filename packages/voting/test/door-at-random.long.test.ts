/** The HTTP door of one server that receives random packets, with the secret and without it. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { SeededRandom } from "@leasehold/core/testing";
import type { Request, VoterReply } from "../src/messages.ts";
import { replyOf, Seal } from "../src/packet.ts";
import { clusterOf } from "../src/roster.ts";
import { Door } from "./door.ts";
import { lead } from "./one-election.ts";
import { anyRequest, damaged } from "./random-messages.ts";

const NAMES = ["a", "b", "c"];
const OPTIONS = { secret: "a secret of servers", names: NAMES, start: "a1", from: "b", fromStart: "b1" };
const PACKETS = 1_500;
const AT_ONCE = 16;
const SUFFIXES = Array.from({ length: 100 }, (_, index) => index);
/** The memory that the second half of the packets may take, and how much text they have at least. */
const MOST_GROWTH = 4_000_000;
const LEAST_TEXT = 4 * MOST_GROWTH;

type Fields = Readonly<Record<string, unknown>>;

/** A packet from `b` to this start of `a`. */
const packetOf = (id: number, contents: readonly unknown[]): Fields => ({
  ...{ cluster: clusterOf(NAMES), from: "b", to: "a", start: "b1", toStart: "a1", writes: 0, seen: 0 },
  ...{ id, servers: NAMES, contents },
});

/** Calls `act` for each index, several at a time. */
async function each(count: number, act: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await act(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Checks that the server still takes part: it accepts the LEAD of an election that is new to it. */
async function expectWell(door: Door, id: number): Promise<void> {
  const answer = await door.post(JSON.stringify(packetOf(id, [{ ...lead(1, 1), election: `well ${id}` }])));
  expect(replyOf(answer.body)?.contents).toMatchObject([{ kind: "LEAD", taken: true }]);
}

test(`${PACKETS} signed packets with any value in any field are answered or dropped, and no term gets two votes`, async () => {
  const door = await Door.open(OPTIONS);
  const random = new SeededRandom(1);
  const votes = new Map<string, string>();
  const statuses = new Set<number>();
  let granted = 0;
  const judge = (content: unknown, answer: VoterReply | null | undefined): void => {
    const { kind, trial, election, term, termId } = content as Extract<Request, { readonly kind: "ELECT" }>;
    if (kind !== "ELECT" || trial || answer?.kind !== "VOTE" || !answer.granted) return;
    granted += 1;
    const key = JSON.stringify([election, term]);
    expect(votes.get(key) ?? termId, key).toBe(termId);
    votes.set(key, termId);
  };
  await each(PACKETS, async (index) => {
    const messages = Array.from({ length: random.pick([0, 1, 2, 4]) }, () => {
      const message = anyRequest(random);
      // Many elections, because leases last in real time. The voter would hold its answer in real time as well.
      const election = random.chance(0.7) ? { election: `e${random.pick(SUFFIXES)}` } : {};
      const soon = "holdMs" in message ? { holdMs: 0, claimMs: 0 } : {};
      const sent = { ...message, ...soon, ...("election" in message ? election : {}) };
      return random.chance(0.3) ? damaged(random, sent) : sent;
    });
    const genuine = packetOf(index + 1, messages);
    const { status, body, isSigned } = await door.post(JSON.stringify(random.chance(0.2) ? damaged(random, genuine) : genuine));
    statuses.add(status);
    if (status !== 200) return;
    const reply = replyOf(body);
    expect([isSigned, reply === undefined], body.toString()).toEqual([true, false]);
    for (const [at, answer] of (reply?.contents ?? []).entries()) judge(messages[at], answer);
  });
  expect(statuses).toEqual(new Set([200, 400]));
  expect(granted).toBeGreaterThan(10);
  await expectWell(door, PACKETS + 1);
});

test("packets without a valid signature change nothing, whatever they have in them", async () => {
  const door = await Door.open(OPTIONS);
  const random = new SeededRandom(2);
  const { version } = door.server.ballots;
  const valid = packetOf(1, [lead(1, 1)]);
  await each(300, async (index) => {
    const body = JSON.stringify(random.chance(0.5) ? valid : damaged(random, packetOf(index + 1, [anyRequest(random)])));
    const signature = random.pick(["", ".", "x.y", "a".repeat(9_000), new Seal("another secret").sign(body)]);
    const { status } = await door.post(body, signature);
    expect(status, signature).toBe(401);
  });
  expect(door.server.ballots.version).toBe(version);
  await expectWell(door, 2);
});

test("packets take no memory once they are answered", async () => {
  const door = await Door.open(OPTIONS);
  let text = 0;
  const post = async (index: number): Promise<void> => {
    const long = (what: string): string => {
      text += 4_000;
      return `${what} ${index} `.padEnd(4_000, "x");
    };
    const order = { id: long("order"), reason: long("why"), immediate: false, election: long("election"), term: 1 };
    const contents = [
      { kind: "READ", election: long("election") },
      { ...lead(index + 1, 1), candidateId: long("candidate"), value: long("value") },
      { kind: "BREAK", ...order },
      { kind: long("kind") },
    ];
    const packet = packetOf(index + 1, contents);
    await door.post(JSON.stringify(packet));
    await door.post(JSON.stringify({ ...packet, from: long("server"), servers: [long("server")] }));
    await door.post(JSON.stringify({ ...packet, from: "", start: long("observer") }));
  };
  await each(200, post);
  const before = heapUsed();
  text = 0;
  await each(600, async (index) => await post(index + 200));
  expect(text).toBeGreaterThan(LEAST_TEXT);
  expect(heapUsed() - before).toBeLessThan(MOST_GROWTH);
  await expectWell(door, 2_000);
});

/** The bytes in use after a collection. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  return process.memoryUsage().heapUsed;
}
