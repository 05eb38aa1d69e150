import { TWO_VALID, type Check } from "./check.ts";
import { FLEET_LONG, FLEET_RIGHT, FLEET_WRONG } from "./fleet-checks.ts";
import { QUORUM_LONG, QUORUM_RIGHT, QUORUM_WRONG } from "./quorum-checks.ts";
import { VOTING_LONG, VOTING_RIGHT, VOTING_WRONG } from "./voting-checks.ts";

const OLD_GUARDED_WRITE = "a guarded write is of an older term than one before";
const OLD_RENEWAL = "a renewal of an old term is stored";
const LED_TWICE = "a term is led twice";

/** The situations that some run of the unbroken protocol must meet. */
const MET = [
  "a lease that counts as vacant, since it is its own and nobody leads on it",
  "a late release kept out by a newer term",
  "a late renewal kept out by a newer term",
  "a loss found by reading",
  "a release confirmed",
  "a renewal before the latest found by reading",
  "a renewal confirmed",
  "a renewal confirmed too late",
  "a takeover from a leader that has not released",
  "a wait for a lease of its own, of which it has no memory or which it let expire",
  "an acquisition found by reading",
  "an acquisition that lost the race",
  "the latest renewal found by reading",
];
const MET_WITH_FENCE = ["a late guarded write kept out by the fence", "guarded writes of two terms accepted"];

/** The situations that a run must meet if the store shows what it may lose. */
const MET_UNDURABLE = [
  "a failover that loses what was shown",
  "a renewal confirmed",
  "a renewal confirmed too late",
  "a takeover from a leader that has not released",
  "an acquisition found by reading, and written again",
  "the latest renewal found by reading, which counts for nothing",
];

const NO_GUARDED_WRITES = "NO_GUARDED_WRITES";
const ONE_WRITE = "ONE_WRITE_UNDER_WAY";
/**
 * A store that shows what a failover may lose. Reads take no time and leases are short, because the durable record is a second
 * one.
 */
const UNDURABLE = ["UNDURABLE", NO_GUARDED_WRITES, ONE_WRITE, "INSTANT_READS", "TICKS=1"];
const SMALL_UNDURABLE = [...UNDURABLE, "NO_RESTARTS", "NO_RELEASES"];

/** The unbroken protocol, in parts that are small enough for every change. */
const RIGHT: readonly Check[] = [
  { name: "leases, two writes under way", macros: [NO_GUARDED_WRITES], shows: MET },
  { name: "writes that a failover may lose", macros: SMALL_UNDURABLE, shows: MET_UNDURABLE },
];

/** Checks for a full search only: they take long, or need much memory. */
const LONG: readonly Check[] = [
  { name: "nothing is dropped that is under way", macros: [NO_GUARDED_WRITES, ONE_WRITE, "KEEP_THE_PAST"] },
  { name: "everything at once", macros: [], shows: [...MET, ...MET_WITH_FENCE] },
  { name: "leases and guarded writes", macros: [ONE_WRITE], shows: MET_WITH_FENCE },
  { name: "clocks at every rate, suspended or not", macros: [NO_GUARDED_WRITES, ONE_WRITE, "EVERY_RATE"] },
  { name: "finer ticks, 4 and 5 to a lease", macros: [NO_GUARDED_WRITES, ONE_WRITE, "TICKS=4"] },
  {
    name: "writes that a failover may lose, releases and restarts",
    macros: UNDURABLE,
    shows: [...MET_UNDURABLE, "a release confirmed"],
  },
];

/** The protocol with one rule broken. */
const WRONG: readonly Check[] = [
  { name: "no margin", macros: ["MARGIN=0"], violates: TWO_VALID, tells: true },
  { name: "clocks that differ by 100 to 89", macros: ["SLOW=89"], violates: TWO_VALID, tells: true },
  { name: "holder counts from the reply", macros: ["COUNT_FROM_REPLY"], violates: TWO_VALID },
  { name: "holder goes by its monotonic clock alone", macros: ["HOLDER_BY_MONOTONIC"], violates: TWO_VALID },
  { name: "holder counts from its latest send, not the nonce's", macros: ["NONCE_IGNORED_BY_HOLDER"], violates: TWO_VALID },
  { name: "holder is valid until its release is confirmed", macros: ["VALID_UNTIL_RELEASED"], violates: TWO_VALID },
  { name: "rival counts from before its read", macros: ["COUNT_FROM_READ_SENT"], violates: TWO_VALID },
  { name: "rival waits as long as its own lease", macros: ["OWN_DURATION"], violates: TWO_VALID },
  { name: "rival counts from the first sight of a term", macros: ["NONCE_IGNORED_BY_RIVAL"], violates: TWO_VALID },
  { name: "the candidateId is proof of ownership", macros: ["OWNER_BY_LABEL"], violates: TWO_VALID },
  { name: "releases are unconditional", macros: ["UNCONDITIONAL_RELEASE"], violates: TWO_VALID },
  { name: "renewals are unconditional", macros: ["UNCONDITIONAL_RENEWAL"], violates: OLD_RENEWAL },
  { name: "guarded writes without a fence", macros: ["NO_FENCE"], violates: OLD_GUARDED_WRITE },
  { name: "an acquisition counts by reading", macros: [...SMALL_UNDURABLE, "ACQUIRED_BY_READING"], violates: LED_TWICE },
  { name: "a renewal counts by reading", macros: [...SMALL_UNDURABLE, "RENEWED_BY_READING"], violates: TWO_VALID, tells: true },
  { name: "a cancelled wait counts as acknowledged", macros: [...SMALL_UNDURABLE, "ACKNOWLEDGED_EARLY"], violates: LED_TWICE },
];

/** @param full also returns the long checks. They come first, because they take longest. */
export function checks(full: boolean): readonly Check[] {
  const long = full ? [...LONG, ...QUORUM_LONG, ...VOTING_LONG, ...FLEET_LONG] : [];
  const right = [...RIGHT, ...QUORUM_RIGHT, ...VOTING_RIGHT, ...FLEET_RIGHT];
  return [...long, ...right, ...WRONG, ...QUORUM_WRONG, ...VOTING_WRONG, ...FLEET_WRONG];
}
