import type { Mutant } from "./mutant.ts";

const QUEUED_CAMPAIGN = "packages/core/src/election/queued-campaign.ts";
const QUEUE_PLACE = "packages/etcd/src/queue-place.ts";
const RENEWAL = "packages/etcd/src/renewal.ts";

/** Bugs of candidates in a queue, and of a lease that needs two requests for a renewal. */
const BUGS: ReadonlyArray<Omit<Mutant, "stores">> = [
  {
    name: "leads-out-of-turn",
    rule: "a place leads in its turn",
    bug: "a place in the queue acquires without looking whether its key is the oldest",
    within: 50,
    patches: [
      {
        file: QUEUE_PLACE,
        find: "yield before === undefined ? this.#turn()",
        replace: "yield before !== null ? this.#turn()",
      },
      {
        file: QUEUE_PLACE,
        find: "    if (standing.before !== undefined) return {",
        replace: "    if (standing.before === null) return {",
      },
    ],
  },
  {
    name: "leads-by-a-void-place",
    rule: "a place leads in its turn",
    bug: "a place leads whose key is gone",
    within: 500,
    patches: [
      {
        file: QUEUE_PLACE,
        find: "if (own?.createRevision !== term || own.lease !== leaseNumber || noted) {",
        replace: "if (noted) {",
      },
      {
        file: QUEUE_PLACE,
        find: "    if (!standing || kept.ttlS === undefined) {",
        replace: "    if (!standing) {",
      },
    ],
  },
  {
    name: "stands-back-in-the-queue",
    rule: "a place leads in its turn",
    bug: "a candidate takes its place before its cooldown is over",
    within: 500,
    patches: [{ file: QUEUED_CAMPAIGN, find: "      await this.#standBack();\n", replace: "" }],
  },
  {
    name: "settles-before-it-leaves",
    rule: "a place leads in its turn",
    bug: "a call settles before the candidate has left the queue",
    within: 500,
    patches: [
      {
        file: QUEUED_CAMPAIGN,
        find: "if (place) await this.#options.candidacy.leave(",
        replace: "if (place) void this.#options.candidacy.leave(",
      },
    ],
  },
  {
    name: "waits-for-the-watch",
    rule: "standbys are cheap",
    bug: "a place in the queue waits for what its watch tells, and never looks itself",
    within: 500,
    patches: [
      {
        file: QUEUE_PLACE,
        find: "await this.#watch.ended(readMs + request.renewIntervalMs - clock.monotonicMs());",
        replace: "await this.#watch.ended(readMs + 1e9 - clock.monotonicMs());",
      },
    ],
  },
  {
    name: "counts-from-the-keep-alive",
    rule: "the holder counts from before the send",
    bug: "on etcd, a lease is counted from the reply to its keep-alive",
    within: 2_000,
    patches: [
      {
        file: RENEWAL,
        find: "  return { held: true, extendedAt };",
        replace: "  return { held: true, extendedAt: instantOf(clock) };",
      },
      {
        file: QUEUE_PLACE,
        find: "holdingOf(this.#candidate, term, standing.observed.revision, grantedAt)",
        replace: "holdingOf(this.#candidate, term, standing.observed.revision, instantOf(clock))",
      },
    ],
  },
  {
    name: "a-keep-alive-is-a-renewal",
    rule: "a late success proves nothing",
    bug: "on etcd, a keep-alive that succeeds is a renewal, whether or not the key is still there",
    within: 1_000,
    patches: [
      {
        file: RENEWAL,
        find: '  const found = await requests.read("renew"',
        replace:
          '  if (kept?.ttlS !== undefined) return { held: true, extendedAt };\n  const found = await requests.read("renew"',
      },
    ],
  },
  {
    name: "goes-on-after-a-break",
    rule: "break never makes two leaders",
    bug: "on etcd, a holder takes no notice of the note that breaks its term",
    within: 200,
    patches: [{ file: RENEWAL, find: "if (isOurs && !noted) return undefined;", replace: "if (isOurs) return undefined;" }],
  },
  {
    name: "any-leader-keeps-alive",
    rule: "a late success proves nothing",
    bug: "a keep-alive counts that was granted by a member which is not the leader any more",
    within: 2_000,
    patches: [
      {
        file: RENEWAL,
        find: "  if (kept?.header.raftTerm === found.header.raftTerm &&",
        replace: "  if (",
      },
    ],
  },
];

export const QUEUE_MUTANTS: readonly Mutant[] = BUGS.map((bug) => ({ ...bug, stores: ["etcd"] }));
