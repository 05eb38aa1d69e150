import { startTcpFaultProxy } from "@leasehold/test-kit/faults/tcp-fault-proxy";
import { LineProcess } from "@leasehold/test-kit/processes/line-process";
import { heldBySdk } from "../held.ts";
import type { HeldReport } from "../held-process.ts";
import { contenderOf, type ContenderName } from "./contenders.ts";
import type { CrowdLine, CrowdReport } from "./crowd-process.ts";
import { SERVICES } from "./services.ts";

/** The costs of many elections for the process that leads them. */
export interface Crowd extends CrowdReport {
  readonly cpuMsPerRequest: number;
  /** As many leases by the service's SDK alone, renewed as often, right after the elections; absent if that is not measured. */
  readonly bare?: HeldReport;
}

export const ELECTIONS = 1_000;
const REPORTS_WITHIN_MS = 120_000;

export async function measureCrowd(contender: ContenderName, port: number, leaseDurationMs: number): Promise<Crowd> {
  const crowd = await measured(contender, port, leaseDurationMs);
  const { sdk } = contenderOf(contender);
  return sdk === undefined ? crowd : { ...crowd, bare: await heldBySdk(sdk, `http://127.0.0.1:${port}`) };
}

async function measured(contender: ContenderName, port: number, leaseDurationMs: number): Promise<Crowd> {
  const { requestsIn } = SERVICES[contenderOf(contender).service];
  let requests = 0;
  await using proxy = await startTcpFaultProxy(port, (bytes) => (requests += requestsIn(bytes)));
  const reported = Promise.withResolvers<Crowd>();
  let steadyMs = 0;
  const crowd = new LineProcess<CrowdLine>({
    program: new URL("./crowd-process.ts", import.meta.url),
    settings: { contender, host: proxy.host, elections: ELECTIONS, leaseDurationMs },
    onLine(line) {
      if (line.event === "steady") {
        requests = 0;
        steadyMs = performance.now();
      } else {
        const { event: _, ...report } = line;
        const cpuMs = report.cpuShare * (performance.now() - steadyMs);
        reported.resolve({ ...report, cpuMsPerRequest: cpuMs / requests });
      }
    },
    onEnd: () => reported.reject(new Error(`The process of ${ELECTIONS} elections has ended: ${crowd.stderr}`)),
  });
  const late = new Error(`${contender} has nothing to tell of ${ELECTIONS} elections within ${REPORTS_WITHIN_MS} ms.`);
  const timer = setTimeout(() => reported.reject(late), REPORTS_WITHIN_MS);
  try {
    return await reported.promise;
  } finally {
    clearTimeout(timer);
    await crowd.end();
  }
}
