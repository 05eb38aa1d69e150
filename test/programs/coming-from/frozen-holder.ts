import { once } from "node:events";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import type { Candidate, Rivals } from "./candidate.ts";

/** The module of each lock, which exports `rivals`. */
const MODULES = {
  "advisory-lock": () => import("./advisory-lock.ts"),
  redlock: () => import("./redlock.ts"),
  "dynamodb-lock-client": () => import("./dynamodb-lock-client.ts"),
} as const;

export type LockName = keyof typeof MODULES;

interface Holding {
  readonly lock: LockName;
  readonly side: keyof Rivals;
  readonly url: string;
  /** The holder stands still while this is 0. */
  readonly thawed: Int32Array;
}

/**
 * A holder in a thread of its own gets the lock, and its event loop stands still. A rival gets the lock meanwhile. Returns how many
 * of the two believe that they lead in the holder's next statement: for the lock, and for Leasehold.
 * @param meanwhile is done to the service once the holder stands still.
 */
export async function leadersAtOnce(
  lock: LockName,
  url: string,
  meanwhile: (url: string) => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly theirs: number; readonly ours: number }> {
  const [theirs, ours] = [await leaders("theirs"), await leaders("ours")];
  return { theirs, ours };

  async function leaders(side: keyof Rivals): Promise<number> {
    const thawed = new Int32Array(new SharedArrayBuffer(4));
    const data: Holding = { lock, side, url, thawed };
    const holder = new Worker(new URL(import.meta.url), { workerData: data, execArgv: ["--conditions=@leasehold/source"] });
    let rival: Candidate | undefined;
    try {
      await once(holder, "message");
      await meanwhile(url);
      rival = await candidateOf(data);
      Atomics.store(thawed, 0, 1);
      Atomics.notify(thawed, 0);
      const [holderLeads] = (await once(holder, "message")) as [boolean];
      return [holderLeads, rival.leads()].filter(Boolean).length;
    } finally {
      await holder.terminate();
      await rival?.close();
    }
  }
}

async function candidateOf({ lock, side, url }: Holding): Promise<Candidate> {
  const { rivals } = await MODULES[lock]();
  return await rivals[side](url);
}

if (!isMainThread && parentPort && workerData && "thawed" in (workerData as object)) {
  const holding = workerData as Holding;
  const candidate = await candidateOf(holding);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- The port of a thread has no origin.
  parentPort.postMessage("holds");
  Atomics.wait(holding.thawed, 0, 0);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- The port of a thread has no origin.
  parentPort.postMessage(candidate.leads());
}
