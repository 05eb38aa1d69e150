import { randomUUID } from "node:crypto";
import { BlobLeaseStore } from "@leasehold/azure-blob";
import type { ContainerClient } from "@azure/storage-blob";
import type { Lease } from "@leasehold/core/provider";
import { startAzurite } from "@leasehold/test-kit/backends/azurite";
import { startFaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import type { FaultProxy } from "@leasehold/test-kit/faults/fault-proxy";
import { containerClient } from "@leasehold/test-kit/backends/fresh-container";
import type { Result, Section } from "./section.ts";
import { blockRatios, median, summarize } from "./statistics.ts";
import { LIMITS, win } from "@leasehold/test-kit/acquisitions";

const LEASE_MS = 60_000;
const RTT_MS = 40;
const RAW_WRITE = "a raw conditional write";
const RAW_RENEW = "the SDK's raw renew";

/** The steps that are timed in each turn. */
type Step = "raw write" | "raw renew" | "look" | "acquire" | "renew" | "release";

export const latency: Section = {
  name: "latency",
  about: "time of an uncontended acquire, renew and release, as a ratio to raw requests of the same SDK client",
  meaning:
    "What takes one request should take as long as one request. An acquisition is two: the lease, and its term under the " +
    "lease. At 40 ms of round-trip time the ratios are those of the requests; at loopback the library's own work counts too.",
  takesS: 20,
  async measure() {
    await using azurite = await startAzurite();
    await using proxy = await startFaultProxy(azurite.url);
    proxy.rule = () => ({ kind: "delay", requestMs: RTT_MS / 2, replyMs: RTT_MS / 2 });
    return [
      ...ratios("loopback", await takeTurns(azurite.url, 300), 15),
      ...ratios(`${RTT_MS} ms RTT`, await takeTurns(proxy.url, 30), 3, { acquire: 2.1, renew: 1.05 }),
      ...bytes(proxy),
    ];
  },
};

interface Goals {
  readonly acquire: number;
  readonly renew: number;
}

function ratios(where: string, times: Readonly<Record<Step, readonly number[]>>, blockSize: number, goals?: Goals): Result[] {
  const ratio = (measure: string, steps: readonly Step[], base: Step, unit: string, goal?: number): Result => {
    const ours = times[base].map((_, turn) => steps.reduce((sum, step) => sum + times[step][turn]!, 0));
    return { measure: `${where}: ${measure}`, unit: `x ${unit}`, goal, ...summarize(blockRatios(ours, times[base], blockSize)) };
  };
  return [
    ratio("acquire, known vacant", ["acquire"], "raw write", RAW_WRITE, goals?.acquire),
    ratio("look, then acquire", ["look", "acquire"], "raw write", RAW_WRITE),
    ratio("release", ["release"], "raw write", RAW_WRITE),
    ratio("acquire + release", ["acquire", "release"], "raw write", RAW_WRITE),
    ratio("renew", ["renew"], "raw renew", RAW_RENEW, goals?.renew),
  ];
}

/** Times every step once in each turn, one after the other, through one container client. */
async function takeTurns(url: string, turns: number): Promise<Record<Step, number[]>> {
  const container = containerClient(url);
  await container.create();
  const raw = await rawClients(container);
  const store = new BlobLeaseStore({ container, createContainer: true });
  const election = `bench-${randomUUID()}`;
  const times: Record<Step, number[]> = { "raw write": [], "raw renew": [], look: [], acquire: [], renew: [], release: [] };
  const time = async <T>(step: Step, take: () => Promise<T>): Promise<T> => {
    const startMs = performance.now();
    const result = await take();
    times[step].push(performance.now() - startMs);
    return result;
  };
  const acquire = (): Promise<Lease> => win(store, { election, leaseDurationMs: LEASE_MS, renewIntervalMs: LEASE_MS / 3 });
  // The turns before 0 make the connections, the compiled code and the blob.
  for (let turn = -10; turn < turns; turn += 1) {
    if (turn === 0) for (const samples of Object.values(times)) samples.length = 0;
    await time("look", () => store.read(election, LIMITS));
    await time("raw write", raw.write);
    const lease = await time("acquire", acquire);
    await time("raw renew", raw.renew);
    await time("renew", () => store.renew(lease, LIMITS));
    await time("release", () => store.release(lease, LIMITS));
  }
  return times;
}

/** Returns the same requests as a program sends that uses the SDK alone. */
async function rawClients(
  container: ContainerClient,
): Promise<{ readonly write: () => Promise<void>; readonly renew: () => Promise<void> }> {
  const blob = container.getBlockBlobClient("raw-write");
  let { etag } = await blob.upload("", 0);
  const leased = container.getBlockBlobClient("raw-renew");
  await leased.upload("", 0);
  const lease = leased.getBlobLeaseClient(randomUUID());
  await lease.acquireLease(LEASE_MS / 1_000);
  let writes = 0;
  return {
    async write() {
      writes += 1;
      ({ etag } = await blob.setMetadata({ writes: String(writes) }, { conditions: { ifMatch: etag! } }));
    },
    async renew() {
      await lease.renewLease();
    },
  };
}

/** Returns the bytes that each kind of request sends, from the requests that the proxy has seen. */
function bytes(proxy: FaultProxy): Result[] {
  const sent = (name: string, blobName: RegExp): number => {
    const sizes = proxy.requests.filter((request) => request.name === name && blobName.test(request.path)).map(bytesOf);
    return median(sizes);
  };
  const rawWrite = sent("metadata", /raw-write$/);
  const ours: ReadonlyArray<readonly [measure: string, bytes: number]> = [
    ["acquire", sent("lease:acquire", /bench-/) + sent("metadata", /bench-/)],
    ["renew", sent("lease:renew", /bench-/)],
    ["release", sent("lease:release", /bench-/)],
    ["look", sent("head", /bench-/)],
  ];
  return ours.map(([measure, size]) => ({
    measure: `bytes sent: ${measure}`,
    unit: `x ${RAW_WRITE}`,
    ...summarize([size / rawWrite]),
  }));
}

function bytesOf({ method, path, query, headers, body }: FaultProxy["requests"][number]): number {
  const lines = [
    `${method} ${path}?${query.toString()} HTTP/1.1`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${String(value)}`),
  ];
  return Buffer.byteLength(`${lines.join("\r\n")}\r\n\r\n`) + body.length;
}
