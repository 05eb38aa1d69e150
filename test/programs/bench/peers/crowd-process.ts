/**
 * A process that leads many elections by one library. It prints {@link CrowdLine}s as JSON. It is an entry point: import nothing
 * but types from here.
 */
import { setTimeout as delay } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { heapAfterGc } from "../heap.ts";
import type { CandidateRequests } from "./contender.ts";
import { contenderOf, type ContenderName } from "./contenders.ts";

export interface CrowdSettings {
  readonly contender: ContenderName;
  readonly host: string;
  readonly elections: number;
  readonly leaseDurationMs: number;
}

export type CrowdLine =
  /** The counted time begins. */
  { readonly event: "steady" } | ({ readonly event: "report" } & CrowdReport);

export interface CrowdReport {
  /** The time from the start of all at once until each leads; absent if that took too long. */
  readonly allLeadMs?: number;
  /** In bytes. */
  readonly heapPerElection: number;
  readonly rssPerElection: number;
  /** The share of one processor. */
  readonly cpuShare: number;
  /** How many still lead at the end. */
  readonly leading: number;
}

const LEAD_WITHIN_MS = 60_000;
const STEADY_MS = 15_000;

// If the parent dies, this process ends too.
process.on("disconnect", () => process.exit());
setFlagsFromString("--expose-gc");
globalThis.gc = runInNewContext("gc") as NonNullable<typeof globalThis.gc>;

const { contender, host, elections, leaseDurationMs } = JSON.parse(process.argv[2] ?? "{}") as CrowdSettings;
const adapter = await contenderOf(contender).load();
const competitor = await adapter.connect(host, leaseDurationMs);
// Code that is loaded and compiled for the first election must not count for the others.
const [first] = campaignIn(["warm-up"]);
await first?.leads;
await first?.candidacy.stop();
const [heapBase, rssBase] = [await heapAfterGc(), process.memoryUsage.rss()];
const startMs = performance.now();
const running = campaignIn(Array.from({ length: elections }, (_, at) => `bench-${at}`));
const all = Promise.all(running.map(({ leads }) => leads)).then(() => performance.now() - startMs);
const allLeadMs = await Promise.race([all, delay(LEAD_WITHIN_MS)]);
await delay(leaseDurationMs / 2);
const heapPerElection = ((await heapAfterGc()) - heapBase) / elections;
const rssPerElection = (process.memoryUsage.rss() - rssBase) / elections;
say({ event: "steady" });
const cpu = process.cpuUsage();
await delay(STEADY_MS);
const { user, system } = process.cpuUsage(cpu);
const leading = running.filter(({ candidacy }) => candidacy.leads()).length;
const cpuShare = (user + system) / 1_000 / STEADY_MS;
say({ event: "report", ...(allLeadMs === undefined ? {} : { allLeadMs }), heapPerElection, rssPerElection, cpuShare, leading });

interface Running {
  readonly candidacy: CandidateRequests;
  /** Resolves once it has led. */
  readonly leads: Promise<void>;
}

/** Competes in all of them at once. */
function campaignIn(names: readonly string[]): Running[] {
  return names.map((name) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const candidacy: CandidateRequests = competitor.campaign(name, () => candidacy.leads() && resolve());
    return { candidacy, leads: promise };
  });
}

function say(line: CrowdLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
