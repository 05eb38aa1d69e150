import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  EVENT_CHANNEL,
  LOOK_CHANNEL,
  RENEWAL_CHANNEL,
  REQUEST_CHANNEL,
  STATE_CHANNEL,
  type PublishedEvent,
  type PublishedLook,
  type PublishedRenewal,
  type StateChange,
  type StoreRequest,
} from "@leasehold/core/diagnostics";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { ELECTION, LEASE_MS } from "@leasehold/test-kit/acquisitions";
import { ElectionWorld, RENEW_DEADLINE_MS, VALID_FOR_MS } from "./election-world.ts";
import { StubbornTask } from "@leasehold/test-kit/leader-tasks";

let states: StateChange[];
let requests: StoreRequest[];
const onState = (message: unknown): void => void states.push(message as StateChange);
const onRequest = (message: unknown): void => void requests.push(message as StoreRequest);

beforeEach(() => {
  states = [];
  requests = [];
  subscribe(STATE_CHANNEL, onState);
  subscribe(REQUEST_CHANNEL, onRequest);
});
afterEach(() => {
  unsubscribe(STATE_CHANNEL, onState);
  unsubscribe(REQUEST_CHANNEL, onRequest);
});

/** Collects the messages on a channel until the test is over. */
function messagesOn<Message>(name: string): Message[] {
  const messages: Message[] = [];
  const listener = (message: unknown): void => void messages.push(message as Message);
  subscribe(name, listener);
  onTestFinished(() => void unsubscribe(name, listener));
  return messages;
}

describe("diagnostics", () => {
  test("publish every state of an elector", async () => {
    const world = new ElectionWorld();
    const a = world.candidate("a");
    const task = new StubbornTask();
    const run = a.run(task.run);
    await world.clock.advance(1_000);
    run.stop(new Error("shutting down"));
    await world.clock.advance(1_000);
    task.settle();
    await run.settled;
    await world.clock.settle();

    const startWallMs = world.clock.wallMs() - 2_000;
    const common = { election: ELECTION, candidateId: "a" };
    expect(states).toEqual([
      { ...common, state: "standby", wallMs: startWallMs },
      { ...common, state: "leading", term: 1, wallMs: startWallMs },
      { ...common, state: "ending", term: 1, reason: "shutting down", wallMs: startWallMs + 1_000 },
      { ...common, state: "stopped", wallMs: startWallMs + 2_000 },
    ]);
  });

  test("publish the reason of an ending leadership", async () => {
    const world = new ElectionWorld();
    const a = world.candidate("a");
    const run = a.run();
    await world.clock.advance(1_000);
    a.records.failAll({ kind: "lost" });
    await world.clock.advance(LEASE_MS);
    run.stop();
    await run.settled;

    const ending = states.find(({ state }) => state === "ending");
    expect(ending?.reason).toContain(
      `no renewal was confirmed for ${RENEW_DEADLINE_MS} ms (renewDeadlineMs ${RENEW_DEADLINE_MS})`,
    );
    expect(VALID_FOR_MS).toBeGreaterThan(RENEW_DEADLINE_MS);
  });

  test("accept an abort reason that is not an error", async () => {
    for (const reason of ["enough", 7, null, undefined, Symbol("enough"), { why: "enough" }]) {
      const world = new ElectionWorld();
      const run = world.candidate("a").run();
      await world.clock.advance(1_000);

      run.stop(reason);

      await expect(run.settled).resolves.toBeUndefined();
    }
    expect(states.filter(({ state }) => state === "ending").map(({ reason }) => typeof reason)).toEqual(
      Array.from({ length: 6 }, () => "string"),
    );
  });

  test("publish every request to the store, with its outcome", async () => {
    const world = new ElectionWorld();
    const a = world.candidate("a", { latencyMs: 30 });
    const run = a.run();
    await world.clock.advance(1_000);
    a.records.failNext("put", { kind: "throttled", retryAfterMs: 200 }, { kind: "lost" });
    await world.clock.advance(8_000);
    run.stop();
    await world.clock.runUntil(run.settled);

    const brief = requests.map(({ operation, outcome, durationMs }) => `${operation} ${outcome} ${Math.round(durationMs)}`);
    expect(brief).toEqual([
      "get ok 30",
      "put ok 30",
      "put STORE_THROTTLED 15",
      "put STORE_TIMEOUT 1667",
      "put ok 30",
      "put ok 30",
    ]);
    expect(new Set(requests.map(({ store, election }) => `${store} ${election}`))).toEqual(new Set([`faulty ${ELECTION}`]));
  });

  test("publish every event, with a weak reference to its elector", async () => {
    const events = messagesOn<PublishedEvent>(EVENT_CHANNEL);
    const world = new ElectionWorld();
    const a = world.candidate("a");
    const run = a.run();
    await world.clock.advance(6_000);

    expect(events.map(({ name }) => name)).toEqual(["standby", "newLeader", "startedLeading", "renewed"]);
    const [standby, , started] = events;
    expect(started).toMatchObject({
      event: { election: ELECTION, term: 1 },
      candidateId: "a",
      monotonicMs: world.clock.monotonicMs() - 6_000,
    });
    expect(new Set(events.map(({ elector }) => elector)).size).toBe(1);
    expect(standby?.elector.deref()).toBe(a.elector);
    run.stop();
    await run.settled;
  });

  test("publish each renewal, with how long it took", async () => {
    const renewals = messagesOn<PublishedRenewal>(RENEWAL_CHANNEL);
    const world = new ElectionWorld();
    const a = world.candidate("a", { latencyMs: 30 });
    const run = a.run();
    await world.clock.advance(1_000);
    a.records.failNext("put", { kind: "throttled", retryAfterMs: 200 });
    await world.clock.advance(5_000);

    const common = { election: ELECTION, candidateId: "a", term: 1 };
    expect(renewals).toEqual([
      { ...common, durationMs: 15, outcome: "STORE_THROTTLED" },
      { ...common, durationMs: 30, outcome: "ok" },
    ]);
    run.stop();
    await world.clock.runUntil(run.settled);
  });

  test("publish the snapshot of each poll", async () => {
    const looks = messagesOn<PublishedLook>(LOOK_CHANNEL);
    const world = new ElectionWorld();
    const run = world.candidate("a").run();
    await world.clock.advance(1_000);
    const standby = world.candidate("b");
    const standing = standby.run();
    await world.clock.advance(0);

    expect(looks.map(({ candidateId, snapshot }) => [candidateId, snapshot?.state, snapshot?.holder])).toEqual([
      ["a", undefined, undefined],
      ["b", "unknown", "a"],
    ]);
    expect(looks[1]?.elector.deref()).toBe(standby.elector);
    for (const { stop, settled } of [run, standing]) {
      stop();
      await world.clock.runUntil(settled);
    }
  });

  test("return the leader observed last, and its age by the larger of two clocks", async () => {
    const world = new ElectionWorld();
    const run = world.candidate("a").run();
    const b = world.candidate("b");
    expect(b.elector.lastSeen).toBeUndefined();
    await world.clock.advance(1_000);
    const standing = b.run();
    await world.clock.advance(0);

    expect(b.elector.lastSeen).toMatchObject({ leader: { candidateId: "a" }, ageMs: 0 });
    world.clock.freeze(3_000);
    expect(b.elector.lastSeen).toMatchObject({ leader: { candidateId: "a" }, ageMs: 3_000 });
    for (const { stop, settled } of [run, standing]) {
      stop();
      await world.clock.runUntil(settled);
    }
  });
});
