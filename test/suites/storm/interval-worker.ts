/**
 * A host that does the ticks of an interval, in a process of its own, with the policies and the clock that its settings give. It
 * prints what happens as lines of JSON. It is an entry point: import only types from here.
 */
import { subscribe } from "node:diagnostics_channel";
import { OCCURRENCE_CHANNEL, type PublishedOccurrence } from "@leasehold/core/diagnostics";
import { sleep, systemClock } from "@leasehold/core/provider";
import { every, type EveryOptions } from "@leasehold/schedulers/interval";
import { openStore } from "@leasehold/test-kit/stores/stores";
import type { StoreSettings } from "@leasehold/test-kit/stores/test-store";

export interface IntervalSettings {
  readonly store: StoreSettings;
  readonly name: string;
  /** The lead of its wall clock. */
  readonly skewMs: number;
  readonly policies: Pick<EveryOptions, "periodMs" | "catchUp" | "overlap" | "tries" | "backoffMs">;
  readonly longestWorkMs: number;
}

/** `ended` is a task that returned, and `outcome` the end of a claim as the channel tells it. */
export type IntervalLine =
  | { readonly event: "begun" | "ended"; readonly occurrence: string; readonly attempt: number }
  | { readonly event: "outcome"; readonly occurrence: string; readonly attempt: number; readonly outcome: string };

/** The share of the tries that throw. */
const FAILING = 0.2;
const LEASE_MS = 3_000;

process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

const { store: service, name, skewMs, policies, longestWorkMs } = JSON.parse(process.argv[2] ?? "{}") as IntervalSettings;
// The clock of the machine is wrong, for the store and its leases as well.
Object.assign(systemClock, { wallMs: () => Date.now() + skewMs });
const { store, close } = await openStore(service);

subscribe(OCCURRENCE_CHANNEL, (message) => {
  const { occurrence, attempt = 0, outcome } = message as PublishedOccurrence;
  say({ event: "outcome", occurrence, attempt, outcome });
});
const options = { store, name, leaseDurationMs: LEASE_MS, keepResult: true, logger: false, onError: () => {} } as const;
const job = every({ ...options, ...policies }, async ({ occurrence: { id: occurrence, attempt }, signal }) => {
  say({ event: "begun", occurrence, attempt });
  await sleep(systemClock, Math.random() * longestWorkMs, signal);
  if (Math.random() < FAILING) throw new Error("The work has failed.");
  say({ event: "ended", occurrence, attempt });
  return `attempt ${attempt}`;
});
process.once("SIGTERM", () => {
  void job
    .close()
    .then(close)
    .then(() => process.exit());
});

function say(line: IntervalLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
