/** Tests the fate of an invocation that dies. Its platform delivers again, as documented, or gives up and reports that. */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { InvocationContext, Timer } from "@azure/functions";
import type { Request, Response } from "@google-cloud/functions-framework";
import { isLeaseholdError, MemoryLeaseStore } from "@leasehold/core";
import { VirtualClock } from "@leasehold/core/testing";
import { onlyAsLeader } from "@leasehold/functions";
import { onlyAsLeader as onAzure } from "@leasehold/functions/azure-functions";
import { onlyAsLeader as onLambda } from "@leasehold/functions/aws-lambda";
import { onlyAsLeaderOnHttp } from "@leasehold/functions/google-cloud";
import type { Context, ScheduledEvent } from "aws-lambda";
import { describe, expect, onTestFinished, test, vi } from "vitest";

const DUE = "2026-01-01T00:00:00Z";
const ELECTION = "nightly-billing";
const MINUTE_MS = 60_000;

/** A function in a region, invoked as by its platform. `work` tells whether an invocation ends its work. */
interface Deployment {
  readonly timeoutMs: number;
  readonly gate: "oncePerTick" | "exclusive";
  readonly waitMs?: number;
  readonly region: string;
}
type Deploy = (world: World, deployment: Deployment, work: () => Promise<void>) => () => Promise<unknown>;

interface World {
  readonly clock: VirtualClock;
  readonly store: MemoryLeaseStore;
}

/** https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html */
const lambda: Deploy = ({ clock, store }, { timeoutMs, region, ...options }, work) => {
  const handler = onLambda({ ...options, store, election: ELECTION, clock, logger: false }, work);
  const event = { id: region, time: DUE, resources: [`arn:aws:events:${region}:1:rule/nightly`] } as unknown as ScheduledEvent;
  return async () => {
    const endMs = clock.monotonicMs() + timeoutMs;
    const context = {
      functionName: region,
      awsRequestId: `request-${region}`,
      getRemainingTimeInMillis: () => endMs - clock.monotonicMs(),
    };
    return await handler(event, context as Context);
  };
};

const cloudRun: Deploy = ({ clock, store }, { timeoutMs, region, ...options }, work) => {
  const handler = onlyAsLeaderOnHttp({ ...options, store, election: ELECTION, clock, logger: false, timeoutMs }, work);
  // The job has the same name in both regions.
  const headers = {
    host: `billing-${region}.run.app`,
    "x-cloudscheduler-jobname": "nightly",
    "x-cloudscheduler-scheduletime": DUE,
  };
  return async () => {
    const response = Object.assign(new ServerResponse(new IncomingMessage(new Socket())), {
      status: () => ({ json: () => undefined }),
    });
    await handler({ headers } as unknown as Request, response as unknown as Response);
  };
};

let invocations = 0;
const azure: Deploy = ({ clock, store }, { timeoutMs, region, ...options }, work) => {
  const handler = onAzure({ ...options, store, election: ELECTION, clock, logger: false, functionTimeoutMs: timeoutMs }, work);
  const timer = { isPastDue: false, scheduleStatus: { next: DUE } } as Timer;
  return async () => {
    vi.stubEnv("REGION_NAME", region);
    onTestFinished(() => void vi.unstubAllEnvs());
    invocations += 1;
    return await handler(timer, { functionName: "nightly", invocationId: String(invocations) } as InvocationContext);
  };
};

/** The waits of a platform before each new delivery, from the end of the delivery that failed. */
const LAMBDA_RETRIES = [MINUTE_MS, 2 * MINUTE_MS];
const SCHEDULER_RETRIES = [10, 20, 40, 80, 160, 320, 640].map((seconds) => seconds * 1_000);
const TIMER_RETRIES = [1, 1, 1, 1, 1].map((minutes) => minutes * MINUTE_MS);

interface Story {
  readonly deploy: Deploy;
  readonly retries: readonly number[];
  readonly timeoutMs: number;
  /** The time after which the first invocation dies, without memory or at its timeout. */
  readonly diesMs: number;
  readonly gate: "oncePerTick" | "exclusive";
  readonly waitMs?: number;
}

/** Plays a story until its work is done, or its platform gives up and reports that. */
async function end({ deploy, retries, diesMs, ...deployment }: Story) {
  const clock = new VirtualClock();
  const store = new MemoryLeaseStore({ clock });
  const done: number[] = [];
  let deliveries = 0;
  const work = async (): Promise<void> => {
    if (deliveries === 1) await new Promise(() => undefined);
    done.push(clock.monotonicMs());
  };
  const invoke = deploy({ clock, store }, { ...deployment, region: "west" }, work);
  const errors: unknown[] = [];
  for (const waitMs of [...retries, undefined]) {
    deliveries += 1;
    const invoked = invoke().then(
      () => "ok",
      (error: unknown) => error,
    );
    if (deliveries === 1) await clock.advance(diesMs);
    const outcome = deliveries === 1 ? "died" : await clock.runUntil(invoked);
    if (outcome === "ok") return { ended: "done", done: done.length, deliveries, errors };
    if (deliveries > 1) errors.push(outcome);
    if (waitMs === undefined) break;
    await clock.advance(waitMs);
  }
  return { ended: "dead-lettered", done: done.length, deliveries, errors };
}

const platforms = [
  ["Lambda", lambda, LAMBDA_RETRIES],
  ["Cloud Run", cloudRun, SCHEDULER_RETRIES],
  ["Azure Functions", azure, TIMER_RETRIES],
] as const;
const stories = platforms.flatMap(([platform, deploy, retries]) =>
  [1, 5, 15].flatMap((minutes) =>
    (["oncePerTick", "exclusive"] as const).flatMap((gate) =>
      [5_000, minutes * MINUTE_MS].map((diesMs) => {
        const story: Story = { deploy, retries, gate, diesMs, timeoutMs: minutes * MINUTE_MS };
        return { platform, minutes, gate, diesMs, story };
      }),
    ),
  ),
);

describe("an invocation that dies", () => {
  test.each(stories)(
    "on $platform, of $minutes minutes, after $diesMs ms, with $gate: is done, or given up loudly",
    async ({ story }) => {
      const { ended, done, errors } = await end(story);

      expect(ended === "done" ? done === 1 : done === 0).toBe(true);
      for (const error of errors) expect(isLeaseholdError(error, "ALREADY_CLAIMED")).toBe(true);
    },
  );

  test.each([
    [1, 5_000, 3, "done"],
    [1, 60_000, 2, "done"],
    [5, 5_000, 3, "dead-lettered"],
    [5, 300_000, 2, "done"],
    [15, 5_000, 3, "dead-lettered"],
    [15, 900_000, 3, "done"],
  ])("on Lambda, of %d minutes, after %d ms, has %d deliveries, and is %s", async (minutes, diesMs, deliveries, ended) => {
    const story = {
      deploy: lambda,
      retries: LAMBDA_RETRIES,
      gate: "oncePerTick",
      timeoutMs: minutes * MINUTE_MS,
      diesMs,
    } as const;

    await expect(end(story)).resolves.toMatchObject({ deliveries, ended });
  });

  test("is done sooner by a delivery that waits for the lease", async () => {
    const story = {
      deploy: lambda,
      retries: LAMBDA_RETRIES,
      gate: "oncePerTick",
      timeoutMs: 5 * MINUTE_MS,
      diesMs: 5_000,
    } as const;

    await expect(end({ ...story, waitMs: 3 * MINUTE_MS })).resolves.toMatchObject({ ended: "done", done: 1 });
  });
});

describe.each(platforms)("two regions on %s", (_, deploy) => {
  test.each(["oncePerTick", "exclusive"] as const)("raise no error at a tick, with %s: one skips", async (gate) => {
    const world = { clock: new VirtualClock(), store: new MemoryLeaseStore() };
    Object.assign(world, { store: new MemoryLeaseStore({ clock: world.clock }) });
    const working = Promise.withResolvers<void>();
    const west = deploy(world, { gate, timeoutMs: MINUTE_MS, region: "west" }, () => working.promise)();
    await world.clock.settle();
    const ran: string[] = [];
    const east = deploy(world, { gate, timeoutMs: MINUTE_MS, region: "east" }, async () => void ran.push("east"));

    await east();
    expect(ran).toEqual([]);
    working.resolve();
    await west;
  });
});

describe("an occurrence", () => {
  const occurrence = () => ({ name: "nightly", scheduledMs: Date.parse(DUE) });

  function world() {
    const clock = new VirtualClock();
    const store = new MemoryLeaseStore({ clock });
    const base = { gate: "oncePerTick", store, election: ELECTION, clock, remainingMs: MINUTE_MS, occurrence } as const;
    return { clock, store, base: { ...base, delivery: () => "request-1" } };
  }

  test("that its invocation claims too late and gives back is claimed again, because nobody else would do it", async () => {
    const { clock, store, base } = world();
    const occurrences = store.occurrences.bind(store);
    let claims = 0;
    store.occurrences = (election) => {
      const kept = occurrences(election);
      const acquire = kept.acquire.bind(kept);
      kept.acquire = async (request) => {
        const outcome = await acquire(request);
        claims += request.election === "last-run" ? 0 : 1;
        // A freeze takes most of the lease, so that too little of it is left to work in.
        if (claims === 1) clock.jumpWall(request.leaseDurationMs * 0.89);
        return outcome;
      };
      return kept;
    };

    await expect(clock.runUntil(onlyAsLeader({ ...base, leaseDurationMs: 15_000 }, ({ term }) => term)())).resolves.toBe(2);
  });

  test("that was missed and is claimed too late fails nothing", async () => {
    const { clock, store, base } = world();
    const occurrences = store.occurrences.bind(store);
    const claimed: string[] = [];
    store.occurrences = (election) => {
      const kept = occurrences(election);
      const acquire = kept.acquire.bind(kept);
      kept.acquire = async (request) => {
        const outcome = await acquire(request);
        if (request.election !== "last-run" && claimed.push(request.election) === 2) {
          clock.jumpWall(request.leaseDurationMs * 0.89);
        }
        return outcome;
      };
      return kept;
    };
    const catchUp = { previous: (ms: number) => ms - 60 * MINUTE_MS, atMost: 1, since: "2025-12-30T00:00:00Z" };
    const gated = onlyAsLeader({ ...base, catchUp, leaseDurationMs: 15_000 }, ({ occurrence: claim }) => claim?.caughtUp);

    await expect(clock.runUntil(gated())).resolves.toBe(false);
    expect(claimed).toHaveLength(2);
  });

  test("whose catch-up died is left to redeliveries, although the delivered one is done", async () => {
    const { clock, base } = world();
    const catchUp = { previous: (ms: number) => ms - 60 * MINUTE_MS, atMost: 1, since: "2025-12-31T00:00:00Z" };
    const ran: string[] = [];
    const gated = onlyAsLeader({ ...base, catchUp }, async ({ occurrence: claimed }) => {
      ran.push(claimed?.caughtUp ? "missed" : "delivered");
      if (ran.length === 2) await new Promise(() => undefined);
    });
    gated().catch(() => undefined);
    await clock.advance(1_000);
    expect(ran).toEqual(["delivered", "missed"]);

    await expect(gated()).rejects.toMatchObject({ code: "ALREADY_CLAIMED" });
    await clock.advance(70_000);
    await expect(gated()).resolves.toMatchObject({ reason: "done" });
    expect(ran).toEqual(["delivered", "missed", "missed"]);
  });

  test("that failed at another request's delivery is claimed by a delivery that waits", async () => {
    const { clock, base } = world();
    const failing = Promise.withResolvers<void>();
    const first = onlyAsLeader(base, () => failing.promise)();
    await clock.settle();
    const second = onlyAsLeader({ ...base, delivery: () => "request-2", waitMs: 20_000 }, ({ term }) => term)();
    await clock.advance(3_000);
    failing.reject(new Error("disk full"));
    await expect(first).rejects.toThrow("disk full");

    await expect(clock.runUntil(second)).resolves.toBe(2);
  });
});
