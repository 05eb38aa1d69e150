/** Messages to one server share packets. */
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import type { VoterReply, Envelope, Request } from "../src/messages.ts";
import { Outbox } from "../src/outbox.ts";
import { elect } from "./one-election.ts";

const TRIAL = elect(1, "t", true);
const read = (election: string): Request => ({ kind: "READ", election });

interface Sent {
  readonly messages: readonly Envelope<Request>[];
  readonly signal: AbortSignal;
  readonly reply: PromiseWithResolvers<ReadonlyArray<Envelope<VoterReply> | undefined>>;
}

function world() {
  const clock = new VirtualClock();
  const sent: Sent[] = [];
  const outbox = new Outbox(clock, async (messages, signal) => {
    const reply = Promise.withResolvers<ReadonlyArray<Envelope<VoterReply> | undefined>>();
    sent.push({ messages, signal, reply });
    return await reply.promise;
  });
  const send = (content: Request, { toStart = "s", timeoutMs = 1_000 } = {}) => {
    const message = { cluster: "c", from: "a", to: "b", start: "x", toStart, writes: 0, seen: 0, content };
    const answer = outbox.send(message, timeoutMs);
    answer.catch(() => undefined);
    return answer;
  };
  /** The number of messages of each packet. */
  const sizes = (): number[] => sent.map(({ messages }) => messages.length);
  const settle = async (): Promise<void> => await clock.advance(0);
  /** Answers a packet, each message by its own election. */
  const answer = async (at: number): Promise<void> => {
    const { messages, reply } = sent[at]!;
    reply.resolve(messages.map((message) => ({ ...message, content: { kind: "SILENT" } as const, cluster: text(message) })));
    await settle();
  };
  return { clock, sent, send, sizes, settle, answer };
}

function text({ content }: Envelope<Request>): string {
  return "election" in content ? content.election : "";
}

test("messages that are sent at one time share a packet, and each has its own answer", async () => {
  const { send, sizes, settle, answer, clock } = world();
  const answers = ["x", "y", "z"].map((election) => send(read(election)));
  await settle();
  expect(sizes()).toEqual([3]);
  await answer(0);
  expect((await Promise.all(answers)).map(({ cluster }) => cluster)).toEqual(["x", "y", "z"]);
  expect(clock.pendingTimers).toBe(0);
});

test("at most four packets are under way, and waiting messages share the next one", async () => {
  const { send, sizes, settle, answer } = world();
  for (let at = 0; at < 7; at += 1) {
    void send(read(`${at}`));
    await settle();
  }
  expect(sizes()).toEqual([1, 1, 1, 1]);
  await answer(2);
  expect(sizes()).toEqual([1, 1, 1, 1, 3]);
});

test("trials travel separately, in sixteen packets at most, and delay no other message", async () => {
  const { send, sizes, settle } = world();
  for (let at = 0; at < 17; at += 1) {
    void send(TRIAL);
    await settle();
  }
  expect(sizes()).toHaveLength(16);
  void send(read("e"));
  void send({ ...TRIAL, trial: false });
  await settle();
  expect(sizes().slice(16)).toEqual([2]);
});

test("a packet is for one start of the receiver, with at most 256 messages and a million characters", async () => {
  const { send, sizes, settle, sent } = world();
  for (const toStart of ["s", "s", "t", "t", "t"]) void send(read("e"), { toStart });
  await settle();
  expect(sizes()).toEqual([2, 3]);
  expect(sent[1]?.messages.every(({ toStart }) => toStart === "t")).toBe(true);

  const many = world();
  for (let at = 0; at < 300; at += 1) void many.send(read("e"));
  await many.settle();
  expect(many.sizes()).toEqual([256, 44]);

  const long = world();
  for (let at = 0; at < 3; at += 1) void long.send(read("x".repeat(600_000)));
  await long.settle();
  expect(long.sizes()).toEqual([1, 1, 1]);
});

describe("a message", () => {
  test("without an answer in time fails, and its packet is aborted once all its messages are over", async () => {
    const { clock, send, sent } = world();
    const [short, long] = [send(read("x"), { timeoutMs: 100 }), send(read("y"), { timeoutMs: 200 })];
    await clock.advance(100);
    await expect(short).rejects.toThrow("b does not answer in time.");
    expect(sent[0]?.signal.aborted).toBe(false);
    await clock.advance(100);
    await expect(long).rejects.toThrow("in time");
    expect(sent[0]?.signal.aborted).toBe(true);
  });

  test("that has timed out is not sent", async () => {
    const { clock, send, sizes, settle, answer } = world();
    for (let at = 0; at < 4; at += 1) {
      void send(read("e"));
      await settle();
    }
    void send(read("late"), { timeoutMs: 100 });
    await clock.advance(100);
    await answer(0);
    expect(sizes()).toEqual([1, 1, 1, 1]);
  });

  test("whose answer is missing, or whose packet fails, rejects with the reason, and the next ones go on", async () => {
    const { send, sent, settle, sizes } = world();
    const [first, second] = [send(read("x")), send(TRIAL)];
    await settle();
    sent[0]!.reply.resolve([undefined]);
    sent[1]!.reply.reject(new Error("refused"));
    await expect(first).rejects.toThrow("b has no answer to READ.");
    await expect(second).rejects.toThrow("refused");
    void send(read("z"));
    await settle();
    expect(sizes()).toEqual([1, 1, 1]);
  });
});
