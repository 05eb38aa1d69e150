import { Elector, type ElectorOptions } from "@leasehold/core";
import type { AcquireOutcome } from "@leasehold/core/provider";
import { VirtualClock } from "@leasehold/core/testing";
import { ELECTION, LEASE_MS, RENEW_INTERVAL_MS } from "@leasehold/test-kit/acquisitions";
import { EventLog } from "@leasehold/test-kit/event-log";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { beforeEach, describe, expect, test } from "vitest";
import { ATTEMPT_TIMEOUT_MS, RENEW_DEADLINE_MS, RETRY_PERIOD_MS } from "./election-world.ts";
import { QueueService, type QueueOperation } from "./queue-service.ts";

const COOLDOWN_MS = 2 * RETRY_PERIOD_MS;

let clock: VirtualClock;
let service: QueueService;

beforeEach(() => {
  clock = new VirtualClock();
  service = new QueueService(clock);
});

interface Candidate {
  readonly elector: Elector;
  readonly events: EventLog;
}

function candidate(candidateId: string, options: Partial<ElectorOptions> = {}): Candidate {
  const store = service.connect(candidateId);
  const elector = new Elector({ store, election: ELECTION, candidateId, clock, logger: false, ...options });
  return { elector, events: new EventLog(elector, clock) };
}

/** Runs a candidate until it is stopped. */
function running(candidateId: string, options?: Partial<ElectorOptions>): Candidate {
  const made = candidate(candidateId, options);
  made.elector.run(untilAborted).catch(() => undefined);
  return made;
}

/** Returns a candidate's requests to the service since the log had this length. */
function asked(candidateId: string, since = 0): string[] {
  return service.log.slice(since).flatMap((entry) => (entry.startsWith(`${candidateId} `) ? [entry.split(" ")[1]!] : []));
}

function failing(code: "STORE_UNAVAILABLE" | "STORE_DENIED", candidateId: string, ...operations: QueueOperation[]): void {
  service.failure = (id, operation) =>
    id === candidateId && (operations.length === 0 || operations.includes(operation)) ? code : undefined;
}

describe("a candidate that waits", () => {
  test("keeps its queue position, never reads, and leads at its turn: first come, first served", async () => {
    const all = ["a", "b", "c"].map((name) => running(name));
    await clock.advance(60_000);
    expect(service.queue).toEqual(["a", "b", "c"]);
    expect(all.map(({ elector }) => elector.isLeader)).toEqual([true, false, false]);
    expect(all[1]!.elector.leader).toMatchObject({ candidateId: "a", term: 1 });
    expect(all[1]!.elector.health()).toMatchObject({ state: "standby", leading: false });
    // It has contact with the store as often as it would renew.
    expect(all[1]!.elector.health().lastContactAgeMs).toBeLessThanOrEqual(RENEW_INTERVAL_MS);
    expect(all[1]!.elector.lastSeen!.ageMs).toBeLessThanOrEqual(RENEW_INTERVAL_MS);

    const order: string[] = [];
    for (const { elector } of all) elector.on("startedLeading", () => order.push(elector.candidateId));
    for (const { elector } of all) {
      await elector.stop();
      await clock.advance(10);
    }

    expect(order).toEqual(["b", "c"]);
    expect(service.log.filter((entry) => /read|check|win/.test(entry))).toEqual([]);
    expect(service.queue).toEqual([]);
  });

  test("reports a new leader, and its own standby state, as on any other store", async () => {
    running("a");
    const b = running("b");
    const c = running("c");
    await clock.advance(1_000);
    await b.elector.stop();
    service.revoke("a");
    await clock.advance(10);

    expect(c.events.all("newLeader").map(({ leader }) => leader?.candidateId)).toEqual(["a", undefined, "c"]);
    expect(c.events.names("standby", "startedLeading")).toEqual(["standby", "startedLeading"]);
  });

  test("leaves when it is stopped, and its call settles only after that", async () => {
    running("a");
    await clock.advance(1_000);
    const b = candidate("b");
    service.latencyMs = { leave: 300 };
    const stopping = new AbortController();
    let settledMs = 0;
    const campaign = b.elector.campaign({ signal: stopping.signal }).catch((error: unknown) => {
      settledMs = clock.monotonicMs();
      return error;
    });
    await clock.advance(1_000);
    const stoppedMs = clock.monotonicMs();
    stopping.abort(new Error("enough"));
    await clock.advance(299);
    expect([settledMs, service.queue]).toEqual([0, ["a", "b"]]);

    await clock.advance(1);

    expect(await campaign).toEqual(new Error("enough"));
    expect([settledMs - stoppedMs, service.queue]).toEqual([300, ["a"]]);
  });

  test("a position that cannot be left delays no call for long: it is tried twice, and reported", async () => {
    running("a");
    const b = candidate("b");
    const run = b.elector.run(untilAborted);
    await clock.advance(1_000);
    failing("STORE_UNAVAILABLE", "b", "leave");

    void b.elector.stop();
    await clock.runUntil(run, 2 * ATTEMPT_TIMEOUT_MS);

    expect(asked("b").filter((operation) => operation === "leave")).toHaveLength(2);
    expect(b.events.all("storeFailed")).toMatchObject([{ error: { code: "STORE_UNAVAILABLE", operation: "leave" } }]);
  });

  test("a win that was on its way when the caller aborted is released before the call settles", async () => {
    service.latencyMs = { acquire: 500 };
    const b = candidate("b");
    const run = b.elector.run(untilAborted);
    await clock.advance(100);

    void b.elector.stop();
    await clock.runUntil(run);

    expect(asked("b")).toEqual(["take", "look", "acquire", "release"]);
    expect(b.events.names("startedLeading")).toEqual([]);
    expect(service.queue).toEqual([]);
  });

  test("a win that comes after its own deadline is released, and the candidate goes to the end", async () => {
    service.latencyMs = { acquire: RENEW_DEADLINE_MS };
    const a = running("a");
    await clock.advance(1_000);
    const b = running("b");
    service.latencyMs = {};
    await clock.advance(RENEW_DEADLINE_MS - 990);

    expect(a.events.names("startedLeading")).toEqual([]);
    expect(asked("a")).toEqual(["take", "look", "acquire", "release", "take", "look"]);
    expect(service.queue).toEqual(["b", "a"]);
    expect(b.elector.isLeader).toBe(true);
  });
});

describe("a void position", () => {
  test("a candidate whose session was lost joins again, at the end", async () => {
    running("a");
    const b = running("b");
    running("c");
    await clock.advance(1_000);

    service.revoke("b");
    await clock.advance(10);

    expect(service.queue).toEqual(["a", "c", "b"]);
    expect(b.events.names("storeFailed")).toEqual([]);
  });

  test("is taken again no more often than the candidate's options allow, even if it is void repeatedly", async () => {
    running("a");
    running("b");
    await clock.advance(1_000);
    const since = service.log.length;
    for (let seconds = 0; seconds < 600; seconds += 1) {
      service.revoke("b");
      await clock.advance(1_000);
    }

    expect(asked("b", since).filter((operation) => operation === "take").length).toBeLessThanOrEqual(
      600_000 / (RENEW_INTERVAL_MS / 4) + 10,
    );
  });

  test("is tried no more often than the candidate's options allow, even if its turn is announced repeatedly", async () => {
    const store = service.connect("a");
    const join = store.join.bind(store);
    let tries = 0;
    const acquire = async (): Promise<AcquireOutcome> => {
      tries += 1;
      return await Promise.resolve({ acquired: false });
    };
    store.join = (...request) => ({ ...join(...request), acquire });
    running("a", { store });
    for (let times = 0; times < 600; times += 1) {
      await clock.advance(100);
      service.announce();
    }

    expect(tries).toBeGreaterThan(10);
    expect(tries).toBeLessThanOrEqual(60_000 / (RENEW_INTERVAL_MS / 4) + 10);
  });

  test("does not lead: a lease is given back if this process has observed a later term", async () => {
    const store = service.connect("a");
    const { elector, events } = candidate("a", { store });
    const beside = candidate("beside", { store }).elector;
    service.replyMs = 1_000;
    void elector.run(untilAborted);
    await clock.advance(500);
    // Its session is lost, and another elector of its process leads. Only then does it learn that it has won.
    service.revoke("a");
    expect(await beside.tryRun(() => "ran")).toMatchObject({ term: 2 });
    service.replyMs = 0;
    await clock.advance(600);

    expect(events.all("startedLeading")).toMatchObject([{ term: 3 }]);
    await elector.stop();
  });
});

test("a term that another elector of this process observed before the win is led all the same", async () => {
  const store = service.connect("a");
  const { elector } = candidate("a", { store });
  service.replyMs = 1_000;
  void elector.run(untilAborted);
  await clock.advance(500);
  expect(await candidate("beside", { store }).elector.tryRun(() => "ran")).toMatchObject({
    leader: { candidateId: "a", term: 1 },
  });
  await clock.advance(600);

  expect(elector.isLeader).toBe(true);
  await elector.stop();
});

describe("between two terms", () => {
  test("a candidate in its cooldown holds no position, and polls show the leader meanwhile", async () => {
    const a = running("a");
    await clock.advance(1_000);
    await a.elector.resign();
    const since = service.log.length;

    await clock.advance(COOLDOWN_MS - 1);
    expect(service.queue).toEqual([]);
    expect(new Set(asked("a", since))).toEqual(new Set(["read"]));
    await clock.advance(1);

    expect(service.queue).toEqual(["a"]);
    expect(a.elector.isLeader).toBe(true);
  });

  test("a newer term ends the cooldown", async () => {
    const a = running("a");
    await clock.advance(1_000);
    running("b");
    await clock.advance(10);

    await a.elector.resign();
    await clock.advance(RETRY_PERIOD_MS);

    expect(service.queue).toEqual(["b", "a"]);
    expect(a.elector.leader).toMatchObject({ candidateId: "b", term: 2 });
  });

  test("a newer term ends the cooldown soon, even if the store can push and retryPeriodMs is longer than a lease", async () => {
    const store = Object.assign(service.connect("a"), { watch: () => silence() });
    const a = running("a", { store, retryPeriodMs: 3 * LEASE_MS });
    await clock.advance(1_000);
    await a.elector.resign();
    await clock.advance(1_000);

    running("b");
    await clock.advance(RENEW_INTERVAL_MS);

    expect(service.queue).toEqual(["b", "a"]);
  });
});

describe("a call that does not wait", () => {
  test.each(["tryRun", "tryCampaign"] as const)("%s takes no position", async (call) => {
    running("a");
    await clock.advance(1_000);
    const b = candidate("b");
    const lost = call === "tryRun" ? await b.elector.tryRun(() => "ran") : await b.elector.tryCampaign();
    expect(lost).toEqual(call === "tryRun" ? { elected: false, leader: b.elector.leader } : undefined);
    expect(asked("b")).toEqual(["read"]);

    service.revoke("a");
    const won = call === "tryRun" ? await b.elector.tryRun(() => "ran") : await b.elector.tryCampaign();
    expect(won).toMatchObject({ term: 2 });
    expect(asked("b").slice(1, 3)).toEqual(["read", "win"]);
  });
});

describe("a store that fails", () => {
  test("an outage costs no candidate its position", async () => {
    running("a");
    const b = running("b");
    running("c");
    await clock.advance(1_000);
    failing("STORE_UNAVAILABLE", "b", "look");
    await clock.advance(LEASE_MS - RENEW_INTERVAL_MS);
    expect(b.events.all("storeFailed").at(-1)).toMatchObject({ error: { code: "STORE_UNAVAILABLE" } });
    expect(b.elector.health().lastError).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(service.queue).toEqual(["a", "b", "c"]);

    service.failure = undefined;
    await clock.advance(RETRY_PERIOD_MS);

    expect(b.elector.health().lastError).toBeUndefined();
    expect(asked("b").filter((operation) => operation === "take")).toHaveLength(1);
  });

  test("a candidate that is stopped in an outage leaves, too, before its call settles", async () => {
    running("a");
    const b = candidate("b");
    const run = b.elector.run(untilAborted);
    await clock.advance(1_000);
    failing("STORE_UNAVAILABLE", "b", "look");
    await clock.advance(RENEW_INTERVAL_MS);
    service.latencyMs = { leave: 300 };

    void b.elector.stop();
    await clock.runUntil(run);

    expect(service.queue).toEqual(["a"]);
  });

  test("a candidate that cannot acquire at its turn for a whole lease leaves the queue", async () => {
    failing("STORE_UNAVAILABLE", "a", "acquire");
    const a = running("a");
    const b = running("b");

    await clock.advance(LEASE_MS - RETRY_PERIOD_MS);
    expect(service.queue).toEqual(["a", "b"]);
    await clock.advance(3 * RETRY_PERIOD_MS);

    expect(b.elector.isLeader).toBe(true);
    expect(service.queue).toEqual(["b", "a"]);
    expect(a.elector.isLeader).toBe(false);
  });

  test("a refused candidate leaves the queue at once", async () => {
    running("a");
    await clock.advance(1_000);
    running("b", { startup: "patient" });
    running("c");
    await clock.advance(1_000);
    failing("STORE_DENIED", "b", "look", "acquire");

    await clock.advance(RENEW_INTERVAL_MS);

    expect(service.queue).not.toContain("b");
  });

  test("a refused candidate polls before it takes a position again", async () => {
    running("a");
    const b = running("b");
    await clock.advance(1_000);
    failing("STORE_DENIED", "b", "look", "read");
    await clock.advance(20 * LEASE_MS);
    expect(asked("b").filter((operation) => operation === "take")).toHaveLength(1);

    service.failure = undefined;
    await clock.advance(RETRY_PERIOD_MS);
    expect(service.queue).toEqual(["a", "b"]);
    expect(b.elector.health().lastError).toBeUndefined();
  });

  test.each(["run", "campaign"] as const)("%s rejects after a lease of refusals before the first contact", async (call) => {
    failing("STORE_DENIED", "a");
    const { elector } = candidate("a");
    const startedMs = clock.monotonicMs();
    const outcome = (call === "run" ? elector.run(untilAborted) : elector.campaign()).catch((error: unknown) => error);

    expect(await clock.runUntil(outcome)).toMatchObject({ code: "STORE_DENIED" });
    expect(clock.monotonicMs() - startedMs).toBeGreaterThanOrEqual(LEASE_MS);
    expect(clock.monotonicMs() - startedMs).toBeLessThanOrEqual(LEASE_MS + RETRY_PERIOD_MS);
    expect(clock.pendingTimers).toBe(0);
  });

  test("a position in the queue proves the right to write: later refusals end no call", async () => {
    running("a");
    const b = candidate("b");
    const settled: unknown[] = [];
    b.elector.run(untilAborted).catch((error: unknown) => settled.push(error));
    await clock.advance(1_000);
    failing("STORE_DENIED", "b");
    await clock.advance(10 * LEASE_MS);

    expect(settled).toEqual([]);
    service.failure = undefined;
    await clock.advance(RETRY_PERIOD_MS);
    expect(service.queue).toEqual(["a", "b"]);
  });
});

/** A watch that never yields. */
async function* silence(): AsyncGenerator<undefined> {
  await new Promise(() => undefined);
  yield undefined;
}
