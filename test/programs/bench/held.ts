import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { HeldReport } from "./held-process.ts";
import { heldServices, type HeldServiceName } from "./held-services.ts";

const LEASES = 1_000;
/** The longest time of a process. */
const REPORTS_WITHIN_MS = 180_000;

/** Measures the costs of many leases by the SDK of a service alone, in a process with a heap of its own. */
export async function heldBySdk(name: HeldServiceName, url: string): Promise<HeldReport> {
  await heldServices[name](url).prepare();
  const script = fileURLToPath(new URL("./held-process.ts", import.meta.url));
  const args = ["--expose-gc", "--conditions=@leasehold/source", script, name, url, String(LEASES)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: REPORTS_WITHIN_MS, killSignal: "SIGKILL" });
  return JSON.parse(stdout) as HeldReport;
}
