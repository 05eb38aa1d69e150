import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { postgresMissing, startPostgres } from "@leasehold/test-kit/backends/postgres";
import { redisMissing, startRedis } from "@leasehold/test-kit/backends/redis";
import { endSessions } from "./advisory-lock.ts";
import { createTables } from "./dynamodb-lock-client.ts";
import { leadersAtOnce } from "./frozen-holder.ts";
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

const nothing = (): Promise<undefined> => Promise.resolve(undefined);

/** Each lock of the site's page "Coming from other locks" that runs here, by its name. */
export const BREAKS: Readonly<Record<string, Break>> = {
  pg_try_advisory_lock: {
    how: "the server ends the holder's connection, as a failover or a pooler does, while the holder computes",
    counts: "leaders at once",
    missing: postgresMissing,
    async play() {
      await using server = await startPostgres();
      return await leadersAtOnce("advisory-lock", server.url, endSessions);
    },
  },
  redlock: {
    how: "the holder's event loop stands still until its rival leads",
    counts: "leaders at once",
    missing: redisMissing,
    async play() {
      await using server = await startRedis();
      return await leadersAtOnce("redlock", `redis://127.0.0.1:${server.port}`);
    },
  },
  "dynamodb-lock-client": {
    how: "the holder's event loop stands still until its rival leads",
    counts: "leaders at once",
    missing: nothing,
    async play() {
      await using service = await startDynalite();
      await createTables(service.url);
      return await leadersAtOnce("dynamodb-lock-client", service.url);
    },
  },
  shedlock: {
    how: "one of two nodes has a clock that is two minutes behind; lockAtLeastFor is one minute, by the database's time",
    counts: "runs of one tick",
    missing: nothing,
    play: runsByShedLock,
  },
  "node-cron": {
    how: "two hosts have the same schedule",
    counts: "runs of one tick",
    missing: nothing,
    play: runsByNodeCron,
  },
};
