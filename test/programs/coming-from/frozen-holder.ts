import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Adapter, CandidateRequests, Competitor } from "../bench/peers/contender.ts";
import { contenderOf, type ContenderName } from "../bench/peers/contenders.ts";

/** Those that the benchmark does not compare. */
const OTHERS = {
  "advisory-lock": async (): Promise<Adapter> => (await import("./advisory-lock.ts")).advisoryLock,
  "leasehold-redis": async (): Promise<Adapter> =>
    (await import("../bench/peers/leasehold.ts")).leaseholdOn("redis", (host) => `redis://${host}`),
} as const;

/** A lock, or Leasehold on a store. */
export type Side = keyof typeof OTHERS | ContenderName;

/** A holder stands still right after its acquisition, so that no renewal is due before. */
export const LEASE_MS = 6_000;

interface Holding {
  readonly side: Side;
  readonly host: string;
  /** The holder stands still while this is 0. */
  readonly thawed: Int32Array;
}

/**
 * A holder in a thread of its own gets the lock, and its event loop stands still. A rival gets the lock meanwhile. Returns how many
 * of the two believe in the holder's next statement that they lead.
 * @param meanwhile is done to the service once the holder stands still.
 */
export async function leadersAtOnce(side: Side, host: string, meanwhile?: (host: string) => Promise<void>): Promise<number> {
  const thawed = new Int32Array(new SharedArrayBuffer(4));
  const data: Holding = { side, host, thawed };
  const holder = new Worker(new URL(import.meta.url), { workerData: data, execArgv: ["--conditions=@leasehold/source"] });
  let rival: Leading | undefined;
  try {
    await once(holder, "message");
    await meanwhile?.(host);
    rival = await lead(data);
    Atomics.store(thawed, 0, 1);
    Atomics.notify(thawed, 0);
    const [holderLeads] = (await once(holder, "message")) as [boolean];
    return [holderLeads, rival.candidacy.leads()].filter(Boolean).length;
  } finally {
    await holder.terminate();
    await rival?.candidacy.stop();
    await rival?.competitor.close();
  }
}

interface Leading {
  readonly competitor: Competitor;
  readonly candidacy: CandidateRequests;
}

/** Resolves once this thread leads. */
async function lead({ side, host }: Holding): Promise<Leading> {
  const adapter = await (side === "advisory-lock" || side === "leasehold-redis" ? OTHERS[side]() : contenderOf(side).load());
  const competitor = await adapter.connect(host, LEASE_MS);
  const won = Promise.withResolvers<void>();
  const candidacy = competitor.campaign(`broken-${side}`, () => {
    if (candidacy.leads()) won.resolve();
  });
  await won.promise;
  return { competitor, candidacy };
}

if (!isMainThread && parentPort && workerData && "thawed" in (workerData as object)) {
  const holding = workerData as Holding;
  const { candidacy } = await lead(holding);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- The port of a thread has no origin.
  parentPort.postMessage("holds");
  Atomics.wait(holding.thawed, 0, 0);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- The port of a thread has no origin.
  parentPort.postMessage(candidacy.leads());
}
