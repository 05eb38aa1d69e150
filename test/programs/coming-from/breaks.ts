import { setTimeout as delay } from "node:timers/promises";
import { SERVICES, type ServiceName } from "../bench/peers/services.ts";
import { endSessions } from "./advisory-lock.ts";
import { LEASE_MS, leadersAtOnce, type Side } from "./frozen-holder.ts";
import { leadersByLease } from "./kubernetes-lease.ts";
import { runsByNodeCron } from "./node-cron.ts";
import { runsByShedLock } from "./shedlock.ts";

/** A way to break a lock. */
export interface Break {
  /** The fault, in words. */
  readonly how: string;
  /** The unit of the two numbers of `play`. */
  readonly counts: string;
  /** Returns what to install on this machine, if something is missing. */
  readonly missing: () => Promise<string | undefined>;
  readonly play: () => Promise<{ readonly theirs: number; readonly ours: number }>;
}

/** Each lock of the site's page "Coming from other locks" that runs here, by its name. */
export const BREAKS: Readonly<Record<string, Break>> = {
  pg_try_advisory_lock: {
    ...frozen("postgres", "advisory-lock", "leasehold-postgres", endSessions),
    how: "the server ends the holder's connection, as a failover or a pooler does, while the holder computes",
  },
  // redlock counts a lock from the first of its tries. A rival that had waited for the lock would lose it at once.
  redlock: frozen("redis", "redlock-5", "leasehold-redis", () => delay(LEASE_MS)),
  "dynamodb-lock-client": frozen("dynamodb", "dynamodb-lock-client", "leasehold-dynamodb"),
  etcd3: frozen("etcd", "etcd3", "leasehold-etcd"),
  "client-go": {
    how: "the holder's process is frozen until its rival leads, by the rules of client-go in virtual time",
    counts: "leaders at once",
    missing: nothing,
    play: leadersByLease,
  },
  shedlock: ticks(
    "one of two nodes has a clock that is two minutes behind; lockAtLeastFor is one minute, by the database's time",
    runsByShedLock,
  ),
  "node-cron": ticks("two hosts have the same schedule", runsByNodeCron),
};

/** @param meanwhile is done to the service once the holder stands still. */
function frozen(service: ServiceName, theirs: Side, ours: Side, meanwhile?: (host: string) => Promise<void>): Break {
  const { missing, start } = SERVICES[service];
  return {
    how: "the holder's event loop stands still until its rival leads",
    counts: "leaders at once",
    missing,
    async play() {
      await using running = await start();
      const host = `127.0.0.1:${running.port}`;
      return { theirs: await leadersAtOnce(theirs, host, meanwhile), ours: await leadersAtOnce(ours, host, meanwhile) };
    },
  };
}

function ticks(how: string, play: Break["play"]): Break {
  return { how, counts: "runs of one tick", missing: nothing, play };
}

function nothing(): Promise<undefined> {
  return Promise.resolve(undefined);
}
