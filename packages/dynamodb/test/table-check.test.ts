import { getEventListeners } from "node:events";
import { Elector, UnsupportedError, type ElectorOptions } from "@leasehold/core";
import { sleep, type AcquireOutcome } from "@leasehold/core/provider";
import { ProcessClock, VirtualClock, type Passage } from "@leasehold/core/testing";
import type { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { beforeAll, beforeEach, describe, expect, vi, type MockInstance } from "vitest";
import type { Fault } from "@leasehold/test-kit/faults/fault";
import { SimulatedService, warmUp } from "@leasehold/test-kit/simulated/dynamodb-service";
import { acquiring, ELECTION, LEASE_MS, LIMITS, win } from "@leasehold/test-kit/acquisitions";
import { onlyFor } from "@leasehold/test-kit/faults/fault-proxy";
import { answer, inputOf, refusal } from "./table-world.ts";
import { test } from "./world-test.ts";

let warned: MockInstance<typeof process.emitWarning>;

beforeAll(warmUp);
beforeEach(() => {
  warned = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  return () => warned.mockRestore();
});

const REPLICAS = [{ RegionName: "eu-west-1" }, { RegionName: "us-east-1" }];

function described(table: object): Fault {
  return answer(200, { Table: table });
}

function expectWarning(about: RegExp): void {
  expect(warned).toHaveBeenCalledOnce();
  const [message, options] = warned.mock.lastCall as unknown as [string, object];
  expect(message).toMatch(/may be a global table with eventually consistent replicas/);
  expect(message).toMatch(about);
  expect(options).toEqual({ type: "LeaseholdWarning", code: "LEASEHOLD_TABLE_NOT_CHECKED" });
}

describe("a global table with eventually consistent replicas", () => {
  test.for([undefined, "EVENTUAL"])(
    "is refused before anything is written, with the reason (%s)",
    async (consistency, { world }) => {
      world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS, MultiRegionConsistency: consistency }));
      const store = world.store();

      for (let tries = 0; tries < 2; tries += 1) {
        const error = await world.witness.failureOf(store.acquire(acquiring()));
        expect(error).toMatchObject({ code: "CONFIGURATION", election: ELECTION });
        expect(error.message).toMatch(/eventually consistent replicas \(eu-west-1, us-east-1\).*two candidates could lead/);
      }
      expect(world.proxy.requests.map(({ name }) => name)).not.toContain("UpdateItem");
      await expect(world.item()).resolves.toBeUndefined();
      expect(warned).not.toHaveBeenCalled();
    },
  );

  test("ends run, campaign and tryRun with that error, and does not affect readers", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS }));
    const electorOf = (): Elector => new Elector({ store: world.store(), election: ELECTION, clock: world.clock });

    await expect(electorOf().run(() => expect.fail("It led."))).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(electorOf().campaign()).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(electorOf().tryRun(() => expect.fail("It led."))).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(world.store().read(ELECTION)).resolves.toBeUndefined();
  });

  test("cannot hold occurrences either", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: REPLICAS }));
    const occurrences = world.store().occurrences(ELECTION, { retentionMs: 60_000 });

    await expect(world.witness.failureOf(occurrences.acquire(acquiring({ election: "nightly@10:00" })))).resolves.toMatchObject({
      code: "CONFIGURATION",
    });
    expect(world.proxy.requests.map(({ name }) => name)).not.toContain("UpdateItem");
  });
});

describe("a global table of version 2017.11.29, which DescribeTable does not show", () => {
  const MARKS = {
    "aws:rep:deleting": { BOOL: false },
    "aws:rep:updatetime": { N: "1764163712.123001" },
    "aws:rep:updateregion": { S: "us-east-1" },
  };
  const REFUSED = {
    code: "CONFIGURATION",
    election: ELECTION,
    message: expect.stringMatching(
      /global table of version 2017\.11\.29 \(an item has aws:rep:updateregion: us-east-1\).*two candidates could lead.*remove the attributes/,
    ) as string,
  };

  test("is refused once an item with its mark is read", async ({ world }) => {
    const first = world.store();
    await first.release(await win(first), LIMITS);
    await world.putItem({ ...(await world.item())!, ...MARKS });
    const before = await world.item();
    const store = world.store();
    const lister = world.store();
    await expect(Array.fromAsync(lister.list())).resolves.toMatchObject([{ election: ELECTION }]);
    await expect(world.witness.failureOf(lister.check({ election: ELECTION }))).resolves.toMatchObject(REFUSED);
    await expect(store.read(ELECTION)).resolves.toMatchObject({ term: 1 });

    await expect(world.witness.failureOf(store.acquire(acquiring()))).resolves.toMatchObject(REFUSED);
    await expect(world.witness.failureOf(store.check({ election: ELECTION }))).resolves.toMatchObject(REFUSED);
    await expect(world.item()).resolves.toEqual(before);
  });

  test("is refused by its leader, which sends no reads, once an item that it renews has the mark", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await world.putItem({ ...(await world.item())!, ...MARKS });
    await store.renew(lease, LIMITS);

    await expect(world.witness.failureOf(store.renew(lease, LIMITS))).resolves.toMatchObject(REFUSED);
  });

  test("is refused by a candidate that wrote over a marked item without a read", async ({ world }) => {
    const first = world.store();
    await first.release(await win(first), LIMITS);
    await world.putItem({ ...(await world.item())!, ...MARKS });

    const elector = new Elector({ store: world.store(), election: ELECTION, clock: world.clock });
    await expect(elector.tryRun(() => expect.fail("It led."))).rejects.toMatchObject(REFUSED);
  });

  test("is searched for in the replies to three renewals, without a request", async ({ world }) => {
    const store = world.store();
    const lease = await win(store);
    const sent = await world.requestsDuring(async () => {
      for (let renewals = 0; renewals < 5; renewals += 1) await store.renew(lease, LIMITS);
    });
    expect(sent.map((request) => inputOf(request)["ReturnValues"])).toEqual([
      "ALL_OLD",
      "ALL_OLD",
      "ALL_OLD",
      undefined,
      undefined,
    ]);
  });
});

test("a table that is replicated with strong consistency holds leases, and cannot fence", async ({ world }) => {
  // One replica besides this one: a third region may be only a witness.
  const table = { Replicas: REPLICAS.slice(1), MultiRegionConsistency: "STRONG" };
  world.proxy.rule = onlyFor("DescribeTable", described(table));
  const store = world.store();
  const lease = await win(store);

  expect(() => store.fence(lease)).toThrow(UnsupportedError);
  expect(() => store.fence(lease)).toThrow(/no transactions/);
  expect(() => store.occurrences(ELECTION, { retentionMs: 1 }).fence(lease)).toThrow(/no transactions/);
  await expect(store.renew(lease, LIMITS)).resolves.toMatchObject({ held: true });
});

test("a table without replicas can fence, whatever else its description says", async ({ world }) => {
  world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: [], MultiRegionConsistency: "STRONG" }));
  const store = world.store();
  expect(store.fence(await win(store))).toHaveProperty("ConditionCheck");
});

test("a table with a single replica is refused, even if its region is unknown", async ({ world }) => {
  world.proxy.rule = onlyFor("DescribeTable", described({ Replicas: [{}] }));
  await expect(world.witness.failureOf(world.store().acquire(acquiring()))).resolves.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringContaining("replicas (?)"),
  });
});

test("a table in one region is checked once", async ({ world }) => {
  const store = world.store();
  for (const election of ["one", "two", "three"]) await win(store, { election });
  expect(world.questions).toBe(1);
});

describe("a process that may not ask", () => {
  test("warns once, and continues", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", refusal(400, "AccessDeniedException"));
    const store = world.store();
    const lease = await win(store);
    await store.renew(lease, LIMITS);
    await win(store, { election: "another" });
    await win(world.store(), { election: "a third" });
    expect(store.fence(lease)).toHaveProperty("ConditionCheck");

    expectWarning(/dynamodb:DescribeTable is denied/);
    expect(world.questions).toBe(2);
    // It is not asked later either, because it would be denied again.
    world.clock.forward(60_000);
    await win(store, { election: "a fourth" });
    expect(world.questions).toBe(2);
  });

  test("does not warn if it only reads", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", refusal(400, "AccessDeniedException"));
    const store = world.store();
    await store.read(ELECTION);
    await world.proxy.waitFor(({ name, answeredMs }) => name === "DescribeTable" && answeredMs !== undefined);
    await store.read(ELECTION);
    expect(warned).not.toHaveBeenCalled();

    await win(store);
    expectWarning(/dynamodb:DescribeTable is denied/);
  });
});

const FAILURES: Readonly<Record<string, Fault>> = {
  "the service is throttled": refusal(400, "ThrottlingException"),
  "the service fails": refusal(500, "InternalServerError"),
  "the connection is cut": { kind: "cut", side: "before" },
  "the credentials have expired": refusal(400, "ExpiredTokenException"),
  "the clock is off": refusal(400, "InvalidSignatureException"),
  "a proxy refuses": { kind: "answer", status: 403, body: "<html>Forbidden</html>" },
};
test.for(Object.entries(FAILURES))(
  "if %s, a question causes a warning, and is asked again after a minute",
  async ([, fault], { world }) => {
    world.proxy.rule = onlyFor("DescribeTable", fault);
    const store = world.store();
    const lease = await win(store);
    expectWarning(/could not be checked yet, and is asked again every minute. dynamodb: 'describe-table'/);
    world.clock.forward(59_999);
    await store.renew(lease, LIMITS);
    await store.read(ELECTION);
    expect(world.questions).toBe(1);

    world.clock.forward(1);
    await store.read(ELECTION);
    await world.proxy.waitFor(() => world.questions === 2);
  },
);

/** Processes that start on one table in virtual time. Each has its own network for questions about the table. */
class Fleet {
  readonly clock = new VirtualClock(20_261_123);
  readonly service = new SimulatedService(this.clock);
  /** The network's treatment of the questions about the table. */
  question: Passage = { arrivals: [{ afterMs: 10, replyAfterMs: 10 }] };
  readonly #prompt: Passage = { arrivals: [{ afterMs: 10, replyAfterMs: 10 }] };

  process(): { readonly clock: ProcessClock; readonly store: DynamoDBLeaseStore } {
    const clock = new ProcessClock(this.clock);
    const network = ({ operation }: { readonly operation: string }): Passage =>
      operation === "DescribeTable" ? this.question : this.#prompt;
    return { clock, store: this.service.store(clock, { network, hostOffsetMs: () => 0 }) };
  }

  candidate(candidateId: string, { clock, store } = this.process(), options: Partial<ElectorOptions> = {}): Candidate {
    const elector = new Elector({ store, election: ELECTION, candidateId, clock, ...options });
    const running = elector.run(({ signal }) => sleep(clock, 2 ** 31 - 1, signal));
    running.catch(() => undefined);
    return { clock, elector, running };
  }
}

interface Candidate {
  readonly clock: ProcessClock;
  readonly elector: Elector;
  readonly running: Promise<void>;
}

const DOWN: Readonly<Record<string, (fleet: Fleet) => void>> = {
  "does not answer": (fleet) => (fleet.question = { arrivals: [] }),
  fails: ({ service }) => (service.control = { status: 500, body: { __type: "InternalServerError" } }),
  throttles: ({ service }) => (service.control = { status: 400, body: { __type: "ThrottlingException" } }),
  "denies it": ({ service }) => (service.control = { status: 400, body: { __type: "AccessDeniedException" } }),
};
test.for(Object.entries(DOWN))("a standby takes over while the control plane %s, and asks it seldom", async ([, bring]) => {
  const fleet = new Fleet();
  bring(fleet);
  const leader = fleet.candidate("a");
  await fleet.clock.advance(1_000);
  expect(leader.elector.isLeader).toBe(true);
  const { elector } = fleet.candidate("b");
  await fleet.clock.advance(600_000);
  expect(fleet.service.served.descriptions).toBeLessThanOrEqual(2 * 11);

  leader.clock.kill();
  await fleet.clock.advance(elector.timing.crashFailoverMs);
  expect(elector.isLeader).toBe(true);
});

test("a hundred electors on one store ask once", async () => {
  const fleet = new Fleet();
  const process = fleet.process();
  const candidates = Array.from({ length: 100 }, (_, index) => fleet.candidate("a", process, { election: `election-${index}` }));
  await fleet.clock.advance(60_000);
  expect(candidates.filter(({ elector }) => elector.isLeader)).toHaveLength(100);
  expect(fleet.service.served.descriptions).toBe(1);
});

describe("a question", () => {
  test("that is not answered is given up after two seconds", async ({ world }) => {
    world.proxy.rule = onlyFor("DescribeTable", { kind: "black-hole", side: "request" });
    let done = false;
    const checking = world.store().check({ election: ELECTION, timeoutMs: 60_000 });
    void checking.then(() => (done = true));
    await world.proxy.waitFor(({ name, answeredMs }) => name === "UpdateItem" && answeredMs !== undefined);
    world.clock.forward(1_999);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(done).toBe(false);
    world.clock.forward(1);
    await expect.poll(() => done).toBe(true);
    await checking;
  });

  test("that is answered leaves no timer, and no listener of a write that waits", async () => {
    const fleet = new Fleet();
    const { store } = fleet.process();
    const { signal } = new AbortController();
    await fleet.clock.runUntil(store.check({ election: ELECTION, signal }));
    await fleet.clock.runUntil(store.acquire(acquiring()));
    expect(fleet.clock.pendingTimers).toBe(0);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  test("that failed before any write causes no warning once a later one has a good answer", async () => {
    const fleet = new Fleet();
    const { control } = fleet.service;
    fleet.service.control = { status: 500, body: { __type: "InternalServerError" } };
    const { store } = fleet.process();
    await fleet.clock.runUntil(store.read(ELECTION));
    await fleet.clock.advance(60_000);
    fleet.service.control = control;
    await fleet.clock.runUntil(store.read(ELECTION));
    await fleet.clock.advance(1_000);
    await fleet.clock.runUntil(store.acquire(acquiring()));
    expect(fleet.service.served.descriptions).toBe(2);
    expect(warned).not.toHaveBeenCalled();
  });
});

describe("a check", () => {
  test("finds an unfit table, even if the answer is late", async () => {
    const fleet = new Fleet();
    fleet.service.control = { status: 200, body: { Table: { Replicas: REPLICAS } } };
    fleet.question = { arrivals: [{ afterMs: 900, replyAfterMs: 900 }] };
    const { store } = fleet.process();
    await expect(fleet.clock.runUntil(store.check({ election: ELECTION }))).rejects.toMatchObject({ code: "CONFIGURATION" });
  });

  test("stops waiting for an answer when its signal aborts", async () => {
    const fleet = new Fleet();
    fleet.question = { arrivals: [] };
    const { store } = fleet.process();
    const giveUp = new AbortController();
    const beganMs = fleet.clock.monotonicMs();
    const checking = store.check({ election: ELECTION, signal: giveUp.signal });
    fleet.clock.setTimer(() => giveUp.abort(new Error("enough")), 100);
    await expect(fleet.clock.runUntil(checking)).rejects.toThrow("enough");
    expect(Math.round(fleet.clock.monotonicMs() - beganMs)).toBe(100);
  });
});

describe("a first write", () => {
  const EVENTUAL = { status: 200, body: { Table: { Replicas: REPLICAS } } };

  async function msOf(fleet: Fleet, act: () => Promise<AcquireOutcome>): Promise<number> {
    const beganMs = fleet.clock.monotonicMs();
    await expect(fleet.clock.runUntil(act())).resolves.toMatchObject({ acquired: true });
    return Math.round(fleet.clock.monotonicMs() - beganMs);
  }

  test("waits for an answer that is under way, for at most a twentieth of its lease, and no later write waits", async () => {
    const fleet = new Fleet();
    fleet.question = { arrivals: [] };
    const { store } = fleet.process();
    await expect(msOf(fleet, () => store.acquire(acquiring()))).resolves.toBe(20 + LEASE_MS / 20 + 20);
    await expect(msOf(fleet, () => store.acquire(acquiring({ election: "another" })))).resolves.toBe(20 + 20);
  });

  test("waits for no answer two seconds after the question, even if the client ignores its abort", async () => {
    const fleet = new Fleet();
    fleet.question = { arrivals: [] };
    const { store } = fleet.process();
    await fleet.clock.runUntil(store.read(ELECTION));
    await fleet.clock.advance(2_000);

    await expect(msOf(fleet, () => store.acquire(acquiring()))).resolves.toBe(20);
  });

  test("waits also after a check, whose own write does not wait", async () => {
    const fleet = new Fleet();
    fleet.question = { arrivals: [] };
    const { store } = fleet.process();
    const beganMs = fleet.clock.monotonicMs();
    await expect(fleet.clock.runUntil(store.check({ election: ELECTION, timeoutMs: 1_000 }))).resolves.toEqual({
      readMs: 20,
      writeMs: 20,
    });
    expect(Math.round(fleet.clock.monotonicMs() - beganMs)).toBe(20 + 20 + 1_000);
    await expect(msOf(fleet, () => store.acquire(acquiring()))).resolves.toBe(LEASE_MS / 20 + 20);
  });

  test("is sent as soon as the answer arrives", async () => {
    const fleet = new Fleet();
    fleet.question = { arrivals: [{ afterMs: 100, replyAfterMs: 200 }] };
    const { store } = fleet.process();
    await expect(msOf(fleet, () => store.acquire(acquiring()))).resolves.toBe(300 + 20);
  });

  test("is not sent if its time passed during the wait", async () => {
    const fleet = new Fleet();
    fleet.question = { arrivals: [] };
    const { store } = fleet.process();
    const acquisition = fleet.clock.runUntil(store.acquire(acquiring({ timeoutMs: LEASE_MS / 20 - 1 })));
    await expect(acquisition).rejects.toMatchObject({ code: "STORE_TIMEOUT" });
    await fleet.clock.advance(LEASE_MS);
    expect(fleet.service.served.writes).toBe(0);
  });

  test("is refused if a bad answer comes in time", async () => {
    const fleet = new Fleet();
    fleet.service.control = EVENTUAL;
    fleet.question = { arrivals: [{ afterMs: 300, replyAfterMs: 300 }] };
    const { elector, running } = fleet.candidate("a");
    await expect(fleet.clock.runUntil(running)).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(elector.isLeader).toBe(false);
    expect(fleet.service.served.writes).toBe(0);
  });

  test("that was sent before the bad answer came is the last write: the leadership ends, and so does run", async () => {
    const fleet = new Fleet();
    fleet.service.control = EVENTUAL;
    fleet.question = { arrivals: [{ afterMs: 900, replyAfterMs: 900 }] };
    const { elector, running } = fleet.candidate("a");
    await fleet.clock.advance(1_800);
    expect(elector.isLeader).toBe(true);
    await fleet.clock.advance(elector.timing.renewDeadlineMs);
    expect(elector.isLeader).toBe(false);
    await expect(fleet.clock.runUntil(running)).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(fleet.service.served.writes).toBe(1);
  });

  test("is possible again after a good answer, which is asked for a minute later", async () => {
    const fleet = new Fleet();
    const { control } = fleet.service;
    fleet.service.control = { status: 200, body: { Table: { Replicas: REPLICAS.slice(1) } } };
    const { store } = fleet.process();
    await expect(fleet.clock.runUntil(store.acquire(acquiring()))).rejects.toMatchObject({ code: "CONFIGURATION" });
    fleet.service.control = control;
    await fleet.clock.advance(59_000);
    await expect(fleet.clock.runUntil(store.acquire(acquiring()))).rejects.toMatchObject({ code: "CONFIGURATION" });
    await fleet.clock.advance(1_000);
    await fleet.clock.runUntil(store.read(ELECTION));
    await expect(fleet.clock.runUntil(store.acquire(acquiring()))).resolves.toMatchObject({ acquired: true });
    expect(fleet.service.served.descriptions).toBe(2);
  });
});
