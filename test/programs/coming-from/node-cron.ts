import { MemoryLeaseStore } from "@leasehold/core";
import { oncePerTick } from "@leasehold/schedulers/node-cron";
import { schedule, type TaskContext } from "node-cron";

const EACH_SECOND = "* * * * * *";

/** Returns how often two hosts do one tick: with node-cron alone, and with `oncePerTick`. */
export async function runsByNodeCron(): Promise<{ readonly theirs: number; readonly ours: number }> {
  const store = new MemoryLeaseStore();
  return {
    theirs: await runsOfOneTick((job) => job),
    ours: await runsOfOneTick((job) => oncePerTick({ store, name: "billing" }, (_, context) => job(context))),
  };
}

type Job = (context: TaskContext) => unknown;

/** Schedules a job on two hosts. Returns how often it has run for the first tick that both hosts have finished. */
async function runsOfOneTick(wrapped: (job: Job) => Job): Promise<number> {
  const runs = new Map<number, number>();
  const finished = new Map<number, number>();
  const both = Promise.withResolvers<number>();
  const hosts = [1, 2].map(() => {
    const job = wrapped(({ date }) => count(runs, date));
    return schedule(EACH_SECOND, async (context) => {
      await job(context);
      if (count(finished, context.date) === 2) both.resolve(runs.get(context.date.getTime()) ?? 0);
    });
  });
  try {
    return await both.promise;
  } finally {
    for (const host of hosts) await host.destroy();
  }
}

function count(counts: Map<number, number>, date: Date): number {
  const next = (counts.get(date.getTime()) ?? 0) + 1;
  counts.set(date.getTime(), next);
  return next;
}
