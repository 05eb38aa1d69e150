import { EventEmitter } from "node:events";
import { MemoryLeaseStore, type ClaimedLeadership } from "@leasehold/core";
import { oncePerTick } from "@leasehold/schedulers/node-schedule";
import { describe, expect, test } from "vitest";
import { Lines } from "./lines.ts";

const NAME = "close-the-books";
/** A recent time, because the store may forget an old tick. */
const DUE = new Date(Math.floor(Date.now() / 60_000) * 60_000);

/** Calls a job as node-schedule 2 does: as a method of its Job, with the time at which the tick was due. */
class Job extends EventEmitter {
  readonly job: (fireDate: Date) => unknown;

  constructor(job: (fireDate: Date) => unknown) {
    super();
    this.job = job;
  }

  async invoke(fireDate?: Date): Promise<unknown> {
    return await this.job(fireDate as Date);
  }
}

describe("oncePerTick of node-schedule", () => {
  test("does a tick once, by the time at which it was due", async () => {
    const store = new MemoryLeaseStore();
    const seen: number[] = [];
    const job = new Job(oncePerTick({ store, name: NAME, logger: false }, ({ occurrence }) => seen.push(occurrence.scheduledMs)));

    await expect(job.invoke(DUE)).resolves.toMatchObject({ ran: true, attempt: 1 });
    await expect(job.invoke(DUE)).resolves.toEqual({ ran: false, reason: "done" });
    expect(seen).toEqual([DUE.getTime()]);
  });

  test("reports Leasehold's errors if no listener handles errors, and leaves the job's errors to node-schedule", async () => {
    const logger = new Lines();
    const fails = (): never => {
      throw new Error("disk full");
    };
    const job = new Job(oncePerTick({ store: new MemoryLeaseStore(), name: NAME, logger }, fails));

    await expect(job.invoke()).resolves.toBeUndefined();
    expect(logger.warnings).toEqual([expect.stringContaining("job.invoke() is no tick of 'close-the-books'")]);
    job.on("error", () => undefined);
    await expect(job.invoke()).rejects.toThrow("job.invoke() is no tick");
    await expect(job.invoke(DUE)).rejects.toThrow("disk full");
  });

  test("takes no tick once it is closed", async () => {
    const working = Promise.withResolvers<string>();
    const begun = Promise.withResolvers<ClaimedLeadership>();
    const tick = oncePerTick({ store: new MemoryLeaseStore(), name: NAME, logger: false }, async (leadership) => {
      begun.resolve(leadership);
      return await working.promise;
    });
    const job = new Job(tick);
    const first = job.invoke(DUE);
    const leadership = await begun.promise;
    const closing = tick.close();

    await expect(job.invoke(new Date(DUE.getTime() + 1_000))).resolves.toEqual({ ran: false, reason: "stopped" });
    expect(leadership.signal.aborted).toBe(false);
    working.resolve("closed");
    await closing;
    await expect(first).resolves.toMatchObject({ ran: true, result: "closed" });
  });
});
