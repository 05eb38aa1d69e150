import type { BlobClient } from "@azure/storage-blob";
import type { BlobLeaseStore } from "@leasehold/azure-blob";
import type { Elector } from "@leasehold/core";
import { Observer } from "@leasehold/core";
import { onlyAsLeader } from "@leasehold/functions/aws-lambda";

declare const elector: Elector;
declare const store: BlobLeaseStore;
declare const report: BlobClient;
declare const signal: AbortSignal;
declare function migrate(signal: AbortSignal): Promise<void>;
declare function buildReport(signal: AbortSignal, time?: string): Promise<string>;
declare function nextReport(signal: AbortSignal): Promise<string>;

export const handler = onlyAsLeader({ store, election: "nightly-billing" }, async (event, _context, leadership) => {
  await buildReport(leadership.signal, event.time);
});

export async function byHand(): Promise<void> {
  await using leadership = await elector.campaign({ signal });
  await migrate(leadership.signal);
}

export async function oneAttempt(): Promise<void> {
  const outcome = await elector.tryRun(async (leadership) => buildReport(leadership.signal));
  if (!outcome.elected) console.log(`${outcome.leader?.candidateId ?? "somebody"} has it`);
}

export async function fenced(): Promise<void> {
  await elector.run(async (leadership) => {
    // From here on the service refuses the terms before this one.
    await store.seal(leadership, report, { signal: leadership.signal });
    while (!leadership.signal.aborted) {
      await store.fencedUpload(leadership, report, await nextReport(leadership.signal));
    }
  });
}

export async function observed(): Promise<void> {
  for await (const leader of new Observer({ store, election: "nightly-billing" }).observe({ signal })) {
    console.log(leader ? `${leader.candidateId} leads term ${leader.term}` : "nobody leads");
  }
}

export async function administered(): Promise<void> {
  console.log(await store.read("nightly-billing")); // { state, term, holder, value, ... }
  await store.break("nightly-billing", { reason: "stuck since 02:40", ifTerm: 41 }); // re-election; never two leaders
  await store.transfer("nightly-billing", "worker-7", { ifTerm: 41 }); // 'accepted' | 'expired' | 'lost'
}
