import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Elector } from "@leasehold/core";
import { DynamoDBLeaseStore } from "@leasehold/dynamodb";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { startLeading, type Campaigning } from "./command-process.ts";
import type { Result, Section } from "./section.ts";
import { summarize } from "./statistics.ts";

const STARTS = 5;
const SETTLES_MS = 10_000;
/** A short lease, so that sixty renewals can be counted. */
const LEASE_MS = 3_000;
const COUNTED_MS = 60_000;
const HOUR_MS = 3_600_000;
const TABLE = "leases";
const REGION = "eu-west-1";
const CREDENTIALS = { accessKeyId: "any", secretAccessKey: "any" };

export const run: Section = {
  name: "run",
  about: "the command that runs a program only as leader: memory, time to leading, requests",
  meaning:
    "The memory is that of two processes of Node: the command, and the guard that outlives it; its child's is not in it. A " +
    "child has started when the time to leading is over. The requests are those of an Elector with the same lease.",
  takesS: 95,
  measure: async () => await measured("run"),
};

export const sidecar: Section = {
  name: "sidecar",
  about: "the sidecar: memory, time to leading, requests",
  meaning:
    "On SQLite, as a process of its own from its sources. Asking it over HTTP, also for metrics, asks nothing of the store: its " +
    "requests are those of an Elector with the same lease, within one.",
  takesS: 95,
  measure: async () => await measured("serve"),
};

async function measured(verb: Campaigning): Promise<Result[]> {
  return [...(await footprint(verb)), await requests(verb)];
}

/** Measures on SQLite, which itself needs the least. */
async function footprint(verb: Campaigning): Promise<Result[]> {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-bench-"));
  const startMs: number[] = [];
  const megabytes: number[] = [];
  for (let at = 0; at < STARTS; at += 1) {
    const env = { LEASEHOLD_STORE: `sqlite://${folder}/app.db`, LEASEHOLD_ELECTION: `bench-${at}` };
    await using command = await startLeading(verb, [], env);
    startMs.push(command.toLeadingMs);
    if (at > 0) continue;
    await delay(SETTLES_MS);
    megabytes.push((await command.residentBytes()) / 1_048_576);
  }
  await rm(folder, { recursive: true });
  return [
    { measure: "from start to leading, sqlite", unit: "ms", ...summarize(startMs) },
    { measure: "resident memory, sqlite", unit: "MB", ...summarize(megabytes) },
  ];
}

/** Counts on the wire, beside an `Elector` of this process. */
async function requests(verb: Campaigning): Promise<Result> {
  await using dynalite = await startDynalite();
  await using ofCommand = await startFaultProxy(dynalite.url);
  await using ofElector = await startFaultProxy(dynalite.url);
  const client = new DynamoDBClient({ endpoint: ofElector.url, region: REGION, credentials: CREDENTIALS });
  const store = new DynamoDBLeaseStore({ client, tableName: TABLE });
  await store.createTable();
  await using elector = new Elector({ store, election: "elector", leaseDurationMs: LEASE_MS });
  const led = Promise.withResolvers<void>();
  elector.on("startedLeading", () => led.resolve());
  void elector.run(untilAborted);
  await led.promise;
  const { accessKeyId, secretAccessKey } = CREDENTIALS;
  const env = {
    LEASEHOLD_STORE: `dynamodb://${TABLE}?region=${REGION}&endpoint=${ofCommand.url}`,
    LEASEHOLD_ELECTION: "command",
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  };
  await using command = await startLeading(verb, ["--lease", `${LEASE_MS}ms`], env);
  for (const proxy of [ofCommand, ofElector]) proxy.clear();
  await delay(COUNTED_MS);
  const perHour = ({ requests: { length } }: typeof ofCommand): number => (length * HOUR_MS) / COUNTED_MS;
  // The last tick may fall just inside or outside the counted time, so two runs may differ by one.
  const one = HOUR_MS / COUNTED_MS;
  return {
    measure: `requests while leading, a lease of ${LEASE_MS / 1_000} s, led after ${Math.round(command.toLeadingMs)} ms`,
    unit: "requests an hour",
    goal: perHour(ofElector) + one,
    ...summarize([perHour(ofCommand)]),
  };
}
