import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { REQUEST_CHANNEL, STATE_CHANNEL, type StateChange, type StoreRequest } from "@leasehold/core";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
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

describe("diagnostics", () => {
  test("publish every state that an elector goes through", async () => {
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

  test("say why a leadership is ending", async () => {
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

  test("take any reason for an abort, though it is no error", async () => {
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
});
