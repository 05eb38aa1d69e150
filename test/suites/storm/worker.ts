/**
 * A worker of a platform for functions, in a process of its own. It wraps its handler once, and runs it for each
 * delivery, several at a time if it gets several. It reports events as lines of JSON on its standard output. It is an entry
 * point: import only types from here.
 */
import { subscribe } from "node:diagnostics_channel";
import { setTimeout as delay } from "node:timers/promises";
import { isLeaseholdError, type LeaseStore } from "@leasehold/core";
import { REQUEST_CHANNEL, type StoreRequest } from "@leasehold/core/diagnostics";
import type { OccurrenceStore, AcquireOutcome, Lease, ReleaseOutcome } from "@leasehold/core/provider";
import { onlyAsLeader, type FunctionLeadership, type NotElected } from "@leasehold/functions";
import { byHostClock, hostMs } from "@leasehold/test-kit/clocks/host-clock";
import { openStore } from "@leasehold/test-kit/stores/stores";
import { SCHEDULE, type Delivery, type Outcome, type WorkerEvent, type WorkerSettings } from "./delivery.ts";

class AnotherLeads extends Error {}

// End with the parent process.
process.on("disconnect", () => process.exit());
if (!process.connected) process.exit();

const settings = JSON.parse(process.argv[2] ?? "{}") as WorkerSettings;
const { store, document } = await openStore(settings.store);
/** The running deliveries, by id. */
const deliveries = new Map<string, Delivery>();
const watched = new WeakSet<LeaseStore>();

subscribe(REQUEST_CHANNEL, (message) => {
  const { writes, outcome, election } = message as StoreRequest;
  if (outcome !== "ok" && writes) say({ event: "writeFailed", election, outcome });
});
const handler = wrap(settings);
// Some SDKs load themselves at the first request, for longer than a request with a short lease may take. So do it before a
// delivery.
await document("warm-up")
  .read()
  .catch(() => undefined);
process.on("message", (delivery: Delivery) => void run(delivery));
say({ event: "ready" });

/** Makes a handler as the users of `@leasehold/functions` do. */
function wrap({ store: _, ...gate }: WorkerSettings): (delivery: Delivery) => Promise<Outcome> {
  const once = {
    store: watch(store),
    gate: "oncePerTick",
    candidateId: ({ id }: Delivery) => id,
    renewal: "checkpoint",
    occurrence: ({ scheduledMs }: Delivery) => ({ name: SCHEDULE, scheduledMs }),
    // The leader may die during the occurrence, so its platform has to deliver again.
    onStandby: ({ leader }: NotElected): Outcome => {
      if (leader) throw new AnotherLeads(`${leader.candidateId} leads.`);
      return "standby";
    },
  } as const;
  return onlyAsLeader<LeaseStore, Outcome, Outcome, [delivery: Delivery]>({ ...gate, ...once }, work);
}

async function work({ id, workMs, pieces, fails }: Delivery, leadership: FunctionLeadership): Promise<Outcome> {
  say({ event: "started", delivery: id, term: leadership.term, validUntilMs: validUntilMs(leadership) });
  try {
    for (let piece = 0; piece < pieces; piece += 1) {
      await delay(workMs / pieces);
      await leadership.checkpoint();
      say({ event: "renewed", delivery: id, validUntilMs: validUntilMs(leadership) });
    }
    if (fails) throw new Error("The handler has failed.");
    return "ran";
  } finally {
    say({ event: "returned", delivery: id });
  }
}

function validUntilMs(leadership: FunctionLeadership): number {
  // Read the clock first, so that the leadership never seems valid for longer than it is.
  const nowMs = hostMs();
  return nowMs + leadership.remainingMs();
}

async function run(delivery: Delivery): Promise<void> {
  const { id } = delivery;
  deliveries.set(id, delivery);
  try {
    const outcome = await handler(delivery);
    say({ event: "settled", delivery: id, outcome });
  } catch (error) {
    const outcome = error instanceof AnotherLeads ? "turned-away" : "failed";
    say({ event: "settled", delivery: id, outcome, error: isLeaseholdError(error) ? error.code : String(error) });
  }
  deliveries.delete(id);
}

/** Makes the store report its acquisitions and releases, and returns it. */
function watch<Store extends LeaseStore & Partial<OccurrenceStore>>(given: Store): Store {
  // Some stores return the same store of occurrences again.
  if (watched.has(given)) return given;
  watched.add(given);
  const acquire = given.acquire.bind(given);
  const release = given.release.bind(given);
  const complete = given.complete?.bind(given);
  const occurrences = given.occurrences?.bind(given);
  const released = (lease: Lease, outcome: ReleaseOutcome): ReleaseOutcome => {
    dieOnce("released", lease.candidateId);
    say({ event: "released", delivery: lease.candidateId, ok: outcome === "released" });
    return outcome;
  };
  const tellIfWon = (outcome: AcquireOutcome | undefined): void => {
    // The note of the last run has no leader.
    if (!outcome?.acquired || outcome.lease.election === "last-run") return;
    const { candidateId: delivery, term, grantedAt } = outcome.lease;
    say({ event: "acquired", delivery, term, grantedMs: byHostClock(grantedAt.monotonicMs) });
    dieOnce("acquired", delivery);
  };
  given.acquire = async (request) => {
    const outcome = await acquire(request);
    tellIfWon(outcome);
    return outcome;
  };
  given.release = async (lease, options) => released(lease, await release(lease, options));
  if (complete) given.complete = async (lease, limits) => released(lease, await complete(lease, limits));
  if (occurrences) given.occurrences = (election, options) => watch(occurrences(election, options));
  return given;
}

function dieOnce(at: Delivery["diesOnce"], delivery: string): void {
  if (deliveries.get(delivery)?.diesOnce === at) process.kill(process.pid, "SIGKILL");
}

function say(event: WorkerEvent): void {
  process.stdout.write(`${JSON.stringify({ atMs: hostMs(), ...event })}\n`);
}
