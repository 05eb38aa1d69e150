import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startDynalite } from "@leasehold/test-kit/backends/dynalite";
import type { HeldReport, Holder } from "./held-process.ts";
import { heldServices, type HeldServiceName } from "./held-services.ts";
import type { Result } from "./section.ts";
import { summarize } from "./statistics.ts";

const LEASES = 1_000;
/** The longest time of a process. On a busy machine most leases may be lost and won again. */
const REPORTS_WITHIN_MS = 180_000;
/** The goal: an elector's renewal may cost this many times the same request by the SDK alone. */
const CPU_GOAL = 1.15;
const GOALS = { heapKB: 10, rssKB: 50, allHeldS: 6 };

/**
 * Measures the costs of many leases through the SDK of each service, and those of the SDK alone. Each service runs in a process
 * of its own.
 */
export async function heldLeases(): Promise<Result[]> {
  return [...(await onService("DynamoDB", startDynalite)), ...(await onService("Azure", startAzurite))];
}

async function onService(name: HeldServiceName, start: typeof startDynalite): Promise<Result[]> {
  await using service = await start();
  const bySdk = await heldBySdk(name, service.url);
  const byElectors = await measured(name, service.url, "electors");
  return [
    ...rows(`${name}, ${LEASES} leases by the SDK alone`, bySdk),
    ...rows(`${name}, ${LEASES} electors`, byElectors, GOALS),
    row(`${name}: CPU of a renewal`, "x the SDK alone", byElectors.cpuPerRenewal / bySdk.cpuPerRenewal, CPU_GOAL),
    row(`${name}: leaderships lost`, "electors", byElectors.lost, 0),
  ];
}

/** Measures the costs of as many leases by the SDK of a service alone. The service must not hold leases yet. */
export async function heldBySdk(name: HeldServiceName, url: string): Promise<HeldReport> {
  await heldServices[name](url).prepare();
  return await measured(name, url, "sdk");
}

function rows(of: string, report: HeldReport, goals?: typeof GOALS): Result[] {
  return [
    row(`${of}: heap`, "KB each", report.heapPerLease / 1_024, goals?.heapKB),
    row(`${of}: resident memory`, "KB each", report.rssPerLease / 1_024, goals?.rssKB),
    row(`${of}: until all are held`, "s", report.allHeldMs / 1_000, goals?.allHeldS),
    row(`${of}: CPU of a renewal`, "ms", report.cpuPerRenewal / 1_000),
  ];
}

function row(measure: string, unit: string, value: number, goal?: number): Result {
  return { measure, unit, goal, ...summarize([value]), n: LEASES };
}

/** Runs `held-process.ts`, which has a heap of its own. */
async function measured(name: HeldServiceName, url: string, holder: Holder): Promise<HeldReport> {
  const script = fileURLToPath(new URL("./held-process.ts", import.meta.url));
  const args = ["--expose-gc", "--conditions=@leasehold/source", script, name, url, holder, String(LEASES)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: REPORTS_WITHIN_MS, killSignal: "SIGKILL" });
  return JSON.parse(stdout) as HeldReport;
}
