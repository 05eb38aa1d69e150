/** The instant at which a request to all servers is decided. */
import { getEventListeners } from "node:events";
import { VirtualClock } from "@leasehold/core/testing";
import { describe, expect, test } from "vitest";
import type { VoterReply, LeaderReply } from "../src/messages.ts";
import { poll, pollToKeep, type PollResult } from "../src/poll.ts";

const YES = { kind: "READ", sign: undefined, absent: [] } as const;
const SIGN = {
  term: 1,
  number: 1,
  candidateId: "x",
  leaseDurationMs: 1,
  ageMs: 0,
  released: false,
  holdMs: 0,
} as const;
const NO = { kind: "READ", sign: SIGN, absent: [] } as const;

function world(everyone: readonly string[], signal?: AbortSignal, graceMs?: number) {
  const clock = new VirtualClock();
  const asked = new Map<string, PromiseWithResolvers<VoterReply>>();
  const heard: string[] = [];
  const electorate = {
    name: everyone[0]!,
    everyone,
    majority: Math.floor(everyone.length / 2) + 1,
    clock,
    remember: () => Promise.resolve(),
    ask: (to: string) => {
      const one = Promise.withResolvers<VoterReply>();
      asked.set(to, one);
      return one.promise;
    },
  };
  const state: { result?: PollResult<LeaderReply> } = {};
  const polling = poll(electorate, {
    request: { kind: "READ", election: "e" },
    timeoutMs: 1_000,
    graceMs,
    signal,
    isAnswer: (answer): answer is LeaderReply => answer.kind === "READ",
    isYes: ({ sign }) => sign === undefined,
    onAnswer: (name) => void heard.push(name),
  });
  polling.then(
    (result) => (state.result = result),
    () => undefined,
  );
  const say = async (name: string, answer: VoterReply | Error): Promise<void> => {
    if (answer instanceof Error) asked.get(name)!.reject(answer);
    else asked.get(name)!.resolve(answer);
    await clock.advance(0);
  };
  return { clock, asked, heard, state, polling, say };
}

describe("a poll of three servers", () => {
  const names = ["a", "b", "c"];

  test("waits for a server that is down until the grace is over, once the others have decided nothing", async () => {
    const { clock, state, say } = world(names, undefined, 200);
    await clock.advance(50);
    await say("a", YES);
    await say("b", NO);
    await clock.advance(149);
    expect(state.result).toBeUndefined();
    await clock.advance(1);
    expect(state.result?.outcome).toBe("open");
  });

  test("is decided at once by two that say yes, and still receives later answers", async () => {
    const { clock, asked, heard, state, say } = world(names);
    expect([...asked.keys()]).toEqual(names);
    await say("a", YES);
    expect(state.result).toBeUndefined();
    await say("c", YES);
    expect(state.result).toMatchObject({ outcome: "yes", failures: [] });
    expect([...state.result!.answers.keys()]).toEqual(["a", "c"]);
    await say("b", NO);
    expect(heard).toEqual(["a", "c", "b"]);
    expect(state.result!.answers.size).toBe(2);
    expect(clock.pendingTimers).toBe(0);
  });

  test("is decided by two that say no, and is open after one yes, one no and one failure", async () => {
    const no = world(names);
    await no.say("a", NO);
    expect(no.state.result).toBeUndefined();
    await no.say("b", NO);
    expect(no.state.result).toMatchObject({ outcome: "no" });

    const open = world(names);
    await open.say("a", YES);
    await open.say("b", NO);
    expect(open.state.result).toBeUndefined();
    await open.say("c", new Error("gone"));
    expect(open.state.result).toMatchObject({ outcome: "open", failures: [expect.objectContaining({ message: "gone" })] });
    expect(open.clock.pendingTimers).toBe(0);
  });

  test("does not count a server that takes no part", async () => {
    const { state, heard, say } = world(names);
    await say("a", { kind: "SILENT" });
    await say("b", YES);
    expect(heard).toEqual(["b"]);
    await say("c", { kind: "SILENT" });
    expect(state.result).toMatchObject({
      outcome: "open",
      failures: [
        expect.objectContaining({ message: "a does not take part yet." }),
        expect.objectContaining({ message: "c does not take part yet." }),
      ],
    });
  });

  test("is open when the time is over, though its own server hangs", async () => {
    const { clock, state, say } = world(names);
    await say("b", YES);
    await clock.advance(999);
    expect(state.result).toBeUndefined();
    await clock.advance(1);
    expect(state.result).toMatchObject({ outcome: "open" });
  });
});

test("one server alone decides a poll", async () => {
  const { state, say } = world(["a"]);
  await say("a", NO);
  expect(state.result).toMatchObject({ outcome: "no" });
});

test("an aborted signal ends a poll with its reason, and a finished poll leaves no listener", async () => {
  const abort = new AbortController();
  const { clock, polling } = world(["a", "b", "c"], abort.signal);
  abort.abort(new Error("enough"));
  await expect(polling).rejects.toThrow("enough");
  // The request to another server still has its own time limit.
  await clock.advance(1_000);
  expect(clock.pendingTimers).toBe(0);
  const before = world(["a", "b", "c"], AbortSignal.abort(new Error("before")));
  await expect(before.polling).rejects.toThrow("before");
  expect(before.asked.size).toBe(0);

  const { signal } = new AbortController();
  const { say } = world(["a"], signal);
  await say("a", YES);
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("a request to all servers is kept once the own server has persisted the others' write counters", async () => {
  const clock = new VirtualClock();
  const remembered = Promise.withResolvers<void>();
  const done: string[] = [];
  const electorate = {
    name: "a",
    everyone: ["a", "b", "c"],
    majority: 2,
    clock,
    remember: async () => {
      done.push("remember");
      await remembered.promise;
    },
    ask: (to: string) => {
      done.push(to);
      return Promise.resolve<VoterReply>(YES);
    },
  };
  const kept = pollToKeep(electorate, {
    request: { kind: "READ", election: "e" },
    timeoutMs: 1_000,
    isAnswer: (answer): answer is LeaderReply => answer.kind === "READ",
    isYes: () => true,
  }).then(({ outcome }) => done.push(outcome));
  await clock.advance(500);
  // The own server keeps it before any other server hears of it.
  expect(done).toEqual(["a", "a", "b", "c", "remember"]);
  remembered.resolve();
  await kept;
  expect(done.at(-1)).toBe("yes");
});
