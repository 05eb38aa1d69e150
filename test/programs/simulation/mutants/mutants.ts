import type { StoreKind } from "../stores/stores.ts";
import { CLOCK_MUTANTS } from "./clock-mutants.ts";
import { CONNECTION_MUTANTS } from "./connection-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { OPTION_MUTANTS } from "./option-mutants.ts";
import { OCCURRENCE_MUTANTS } from "./occurrence-mutants.ts";
import { ORDER_MUTANTS } from "./order-mutants.ts";
import { QUEUE_MUTANTS } from "./queue-mutants.ts";
import { QUORUM_MUTANTS } from "./quorum-mutants.ts";
import { REDIS_MUTANTS } from "./redis-mutants.ts";
import { TURN_MUTANTS } from "./turn-mutants.ts";
import { UNDURABLE_MUTANTS } from "./undurable-mutants.ts";
import { VOTING_MUTANTS } from "./voting-mutants.ts";

const RECORDS: readonly StoreKind[] = ["records", "records with a push", "records with a clock"];

const BAR = "packages/core/src/store/lease-snapshot.ts";
const CLOCK = "packages/core/src/time/clock.ts";
const CANDIDACY = "packages/core/src/election/candidate-requests.ts";
const ELECTOR = "packages/core/src/election/elector.ts";
const ACQUISITIONS = "packages/core/src/records/acquisitions.ts";
const HELD_LEASES = "packages/core/src/records/held-leases.ts";
const SEEN_RECORDS = "packages/core/src/records/record-cache.ts";
const ORDERS = "packages/core/src/records/record-orders.ts";
const REQUEST = "packages/core/src/store/request.ts";
const SIGHTING = "packages/core/src/records/observed-record.ts";
const LEADER_TERM = "packages/core/src/election/leader-term.ts";
const TERM_MACHINE = "packages/core/src/election/term-machine.ts";
const TERM_REQUESTS = "packages/core/src/election/term-requests.ts";
const RELEASE = "packages/core/src/election/release.ts";
const BLOB_ACQUISITION = "packages/azure-blob/src/acquisition.ts";

export const MUTANTS: readonly Mutant[] = [
  {
    name: "counts-from-the-reply",
    rule: "the holder counts from before the send",
    bug: "a holder counts its lease from the reply to a renewal, not from before its send",
    within: 2_000,
    patches: [
      {
        file: HELD_LEASES,
        find: "return extended(holding, extendedAt);",
        replace: "return extended(holding, instantOf(clock));",
      },
    ],
  },
  {
    name: "holder-trusts-monotonic-clock",
    rule: "the holder counts from before the send",
    bug: "a holder goes by its monotonic clock alone, which stands still while the machine is suspended",
    within: 1_000,
    patches: [
      {
        file: CLOCK,
        find: "Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs)",
        replace: "now.monotonicMs - since.monotonicMs",
      },
    ],
  },
  {
    name: "holder-trusts-wall-clock",
    rule: "the holder counts from before the send",
    bug: "a holder goes by its wall clock alone, which can be set back",
    within: 1_000,
    patches: [
      {
        file: CLOCK,
        find: "Math.max(now.monotonicMs - since.monotonicMs, now.wallMs - since.wallMs)",
        replace: "now.wallMs - since.wallMs",
      },
    ],
  },
  {
    name: "rival-trusts-wall-clock",
    rule: "a rival counts from after its read",
    bug: "a rival times what it has seen by its wall clock",
    within: 2_000,
    patches: [
      {
        file: SIGHTING,
        find: "return clock.monotonicMs() - nonceKnownForMs;",
        replace: "return clock.wallMs() - nonceKnownForMs;",
      },
      {
        file: SIGHTING,
        find: "    let min = nowMs - this.#firstSeenMs;",
        replace: "    let min = this.#clock.wallMs() - this.#firstSeenMs;",
      },
    ],
  },
  {
    name: "rival-counts-from-its-send",
    rule: "a rival counts from after its read",
    bug: "a rival counts from before it asked, when the renewal that it then saw may not have been made yet",
    within: 2_000,
    patches: [
      {
        file: SIGHTING,
        find: "      this.#firstSeenMs = firstSeenMs(this.#clock, reading);",
        replace: "      this.#firstSeenMs = reading.sentAt?.monotonicMs ?? firstSeenMs(this.#clock, reading);",
      },
    ],
    stores: ["records"],
  },
  {
    name: "rival-uses-its-own-lease",
    rule: "a rival counts from after its read",
    bug: "a rival waits for the duration of its own options, not for the one in the record",
    within: 1_000,
    patches: [
      {
        file: ACQUISITIONS,
        find: "    if (current && !mayAcquire(current, candidateId, reservation?.group)) {",
        replace:
          "    if (current && !mayAcquire(current, candidateId, reservation?.group) && (current.ageMs?.[0] ?? 0) < request.leaseDurationMs) {",
      },
      {
        file: CANDIDACY,
        find: "    return snapshot?.ageUnknown ?? mayAcquire(snapshot, candidateId, wishes.reservation?.group);",
        replace:
          "    const passed = (snapshot?.ageMs?.[0] ?? 0) >= this.#options.timing.leaseDurationMs;\n    return mayAcquire(snapshot, candidateId, wishes.reservation?.group) || passed;",
      },
    ],
  },
  {
    name: "nonce-ignored",
    rule: "two proofs of expiry",
    bug: "a rival times the term, and takes no notice of renewals",
    within: 200,
    patches: [
      {
        file: SIGHTING,
        find: "    const changed = reading.record.nonce !== this.#record.nonce;",
        replace: "    const changed = reading.record.termId !== this.#record.termId;",
      },
    ],
  },
  {
    name: "no-margin",
    rule: "three instants",
    bug: "a holder uses its lease to the last, and clocks drift",
    within: 1_000,
    patches: [
      {
        file: "packages/core/src/election/timing.ts",
        find: "const validForMs = leaseDurationMs * (1 - SAFETY_MARGIN);",
        replace: "const validForMs = leaseDurationMs;",
      },
    ],
  },
  {
    name: "stored-is-leader",
    rule: "three instants",
    bug: "isValid() is a flag that a timer sets, and a frozen process has no timers",
    within: 500,
    patches: [
      {
        file: LEADER_TERM,
        find: 'return isOverdue(this.#state, now) ? this.#on({ type: "check" }, now) : this.#state;',
        replace: "return now ? this.#state : this.#state;",
      },
    ],
  },
  {
    name: "no-deadline-timer",
    rule: "three instants",
    bug: "nothing aborts the signal while the store does not answer",
    within: 200,
    patches: [
      {
        file: TERM_MACHINE,
        find: "const checkMs = term.over ? Infinity : now.monotonicMs + checkInMs;",
        replace: "const checkMs = checkInMs > 0 ? Infinity : 0;",
      },
    ],
  },
  {
    name: "attempt-outlives-deadline",
    rule: "one attempt, one request",
    bug: "a request has no time limit, as with an SDK that goes on retrying by itself",
    within: 200,
    patches: [
      {
        file: REQUEST,
        find: "clock.setTimer(() => giveUp(timedOut(options)), options.timeoutMs)",
        replace: "clock.setTimer(() => giveUp(timedOut(options)), options.timeoutMs * 100)",
      },
    ],
  },
  {
    name: "unknown-counts-as-renewed",
    rule: "an unknown outcome is read",
    bug: "a renewal without a reply counts as one that was made",
    within: 200,
    patches: [
      {
        file: TERM_MACHINE,
        find: '  checkClocks(draft);\n  effects.push({ type: "announce-renew-failed"',
        replace: '  term.grantedAt = now;\n  checkClocks(draft);\n  effects.push({ type: "announce-renew-failed"',
      },
    ],
  },
  {
    name: "found-nonce-counts-from-now",
    rule: "an unknown outcome is read",
    bug: "a renewal that is found to have arrived counts from when it was found",
    within: 4_000,
    patches: [
      {
        file: HELD_LEASES,
        find: "return extended(holding, arrivedAt);",
        replace: "return extended(holding, instantOf(clock));",
      },
    ],
  },
  {
    name: "win-after-abort-kept",
    rule: "an unknown outcome is read",
    bug: "a lease that is won after the caller aborted is not released",
    within: 3_000,
    patches: [
      {
        file: ELECTOR,
        find: "return this.#candidacy.giveBack(lease).then(() => undefined);",
        replace: "return Promise.resolve(undefined);",
      },
      {
        file: ELECTOR,
        find: "    if (signal.aborted) {\n      await this.#candidacy.giveBack(lease);\n",
        replace: "    if (signal.aborted) {\n",
      },
    ],
  },
  {
    name: "blind-retry-of-acquisition",
    rule: "an unknown outcome is read",
    bug: "an acquisition that lost its race is sent again on whatever it finds",
    within: 500,
    patches: [
      {
        file: ACQUISITIONS,
        find: "      const version = await this.#seen.write(election, record, observed, request);\n",
        replace: `      let version = await this.#seen.write(election, record, observed, request);
      if (version === undefined) {
        const now = await this.#seen.read(election, request);
        version = await this.#seen.write(election, { ...record, term: (now?.record.term ?? 0) + 1 }, now, request);
      }
`,
      },
    ],
  },
  {
    name: "adopts-by-candidate-id",
    rule: "the termId alone proves ownership",
    bug: "a candidate takes a lease that bears its own candidateId for its own",
    within: 500,
    patches: [
      {
        file: ACQUISITIONS,
        find: "    if (current && !mayAcquire(current, candidateId, reservation?.group)) {",
        replace: `    if (observed?.record.termId && observed.record.candidateId === candidateId) {
      return { acquired: true, lease: this.#leases.take(election, observed, instantOf(this.#seen.clock)) };
    }
    if (current && !mayAcquire(current, candidateId, reservation?.group)) {`,
      },
      {
        file: BAR,
        find: "  return bar === undefined;",
        replace: "  return bar === undefined || snapshot.holder === candidateId;",
      },
    ],
  },
  {
    name: "release-without-condition",
    rule: "release frees only its own term",
    bug: "a release frees whatever lease it finds",
    within: 1_000,
    patches: [
      {
        file: HELD_LEASES,
        find: "      if (await this.#catchUp(lease, holding, limits)) {",
        replace:
          "      const there = await this.#seen.read(election, limits);\n      if (there) holding.take({ record: there.record, version: there.version });\n      if (there === null) {",
      },
      {
        file: TERM_MACHINE,
        find: 'const mayRelease = (!term.over || term.completion === "unknown") && (!term.isStopping || releaseOnStop);',
        replace: "const mayRelease = !term.isStopping || releaseOnStop;",
      },
      {
        file: RELEASE,
        find: "    const limitMs = timeoutMs();\n    if (limitMs <= 0) return false;",
        replace: "    const limitMs = Math.max(timeoutMs(), 1_000);",
      },
    ],
  },
  {
    name: "renewal-after-release",
    rule: "release frees only its own term",
    bug: "a renewal under way is not waited for, and brings a released lease back",
    within: 3_000,
    patches: [
      {
        file: TERM_REQUESTS,
        find: "    const result = this.#requests.then(request);",
        replace: "    const result = request();",
      },
      {
        file: HELD_LEASES,
        find: "    if (record.termId !== lease.termId) {",
        replace: "    if (record.termId !== null && record.termId !== lease.termId) {",
      },
      {
        file: HELD_LEASES,
        find: "      const record = { ...changed, nonce: clock.randomUuid() };",
        replace: "      const record = { ...changed, termId: lease.termId, nonce: clock.randomUuid() };",
      },
    ],
  },
  {
    name: "term-reset-on-release",
    rule: "release frees only its own term",
    bug: "a release forgets the term, as deleting the record would",
    within: 200,
    patches: [
      {
        file: ORDERS,
        find: "withBars({ ...record, termId: null, nonce }, bars)",
        replace: "withBars({ ...record, term: 0, termId: null, nonce }, bars)",
      },
    ],
  },
  {
    name: "task-not-awaited",
    rule: "work is awaited",
    bug: "the next term does not wait for a task that goes on after its signal has aborted",
    within: 500,
    patches: [
      {
        file: LEADER_TERM,
        find: "    this.#awaitWork(work);\n    await this.settled;\n    return await work;",
        replace: `    const aborted = new Promise<void>((resolve) => this.leadership.signal.addEventListener("abort", () => resolve()));
    work.catch(() => undefined);
    this.#awaitWork(Promise.race([work, aborted]));
    await this.settled;
    return await Promise.race([work, undefined]);`,
      },
    ],
  },
  {
    name: "break-does-not-wait",
    rule: "break never makes two leaders",
    bug: "after a break anyone may acquire at once, though the old leader is still valid",
    within: 1_000,
    patches: [
      {
        file: ORDERS,
        find: "isHeld && immediate ? vacate",
        replace: "isHeld ? vacate",
      },
    ],
  },
  {
    name: "counts-from-the-term-write",
    rule: "a blob is won in two steps",
    bug: "on a blob, the lease is counted from the second step, not from the first",
    within: 1_000,
    patches: [
      {
        file: BLOB_ACQUISITION,
        find: "termId, leaseDurationMs, grantedAt: this.#grantedAt };",
        replace: "termId, leaseDurationMs, grantedAt: instantOf(clock) };",
      },
    ],
    stores: ["blob"],
  },
  {
    name: "blob-fence-open",
    rule: "a fence lets one leadership pass",
    bug: "on a blob, a guarded write does not look at the term that wrote last",
    within: 1_500,
    patches: [
      {
        file: "packages/azure-blob/src/fence-metadata.ts",
        find: "  if (currentTerm > term ||",
        replace: "  if (currentTerm > term + 1_000 ||",
      },
    ],
    stores: ["blob"],
  },
  {
    name: "late-win-leads",
    rule: "an unknown outcome is read",
    bug: "a lease that is won after its renew deadline is led on",
    within: 4_000,
    patches: [
      {
        file: CANDIDACY,
        find: "    if (!isPassedOver && holderElapsedMs(clock, lease.grantedAt) < timing.renewDeadlineMs) return lease;",
        replace: "    if (!isPassedOver) return lease;",
      },
      {
        file: LEADER_TERM,
        find: 'return this.#checked().phase === "leading";',
        replace: "    return this.#lease !== undefined;",
      },
    ],
  },
  {
    name: "renewal-undoes-what-administrators-write",
    rule: "break never makes two leaders",
    bug: "a renewal that met another write is sent again over it",
    within: 500,
    patches: [
      {
        file: HELD_LEASES,
        find: "    holding.take({ record, version });\n    return undefined;",
        replace: "    holding.take({ record: holding.record, version });\n    return undefined;",
      },
    ],
    stores: RECORDS,
  },
  {
    name: "stall-ignored",
    rule: "work is awaited",
    bug: "a silent task keeps its leadership",
    within: 1_500,
    patches: [
      {
        file: TERM_MACHINE,
        find: "return checkpointMs + (plan.timing.stallTimeoutMs ?? Infinity);",
        replace: "return plan && checkpointMs ? Infinity : Infinity;",
      },
    ],
  },
  {
    name: "loss-while-ending-unwatched",
    rule: "work is awaited",
    bug: "a lease that is lost while its task drains leaves the task all of its drain, beside a successor",
    within: 1_500,
    patches: [
      {
        file: TERM_MACHINE,
        find: "  if (term.drain) term.drain = { ...term.drain, untilMs: now.monotonicMs + drainLeftMs(term, now) };\n  else end(draft, error);",
        replace: "  if (!term.drain) end(draft, error);\n  else if (now === undefined) end(draft, error);",
      },
    ],
  },
  {
    name: "taken-is-not-over",
    rule: "an outage is not the end",
    bug: "a holder that is told that its lease is another's goes on until it would have run out",
    within: 1_000,
    patches: [
      {
        file: TERM_MACHINE,
        find: "if (!barredUntilExpiry) return lose(",
        replace: 'if (!barredUntilExpiry && reason !== "taken") return lose(',
      },
    ],
  },
  {
    name: "fence-survives-release",
    rule: "a fence lets one leadership pass",
    bug: "the fence stays open for a term that was released",
    within: 1_000,
    patches: [
      {
        file: SEEN_RECORDS,
        find: "    const fenceChanges = fence.term",
        replace: "    const fenceChanges = fence.termId === null ? false : fence.term",
      },
    ],
    stores: RECORDS,
  },
  {
    name: "reservation-ignored",
    rule: "a transfer is for one candidate",
    bug: "anybody acquires while only the candidate of a transfer may",
    within: 500,
    patches: [
      {
        file: BAR,
        find: '  if (bar?.kind === "transfer") return bar.candidateId === candidateId;',
        replace: '  if (bar?.kind === "transfer") return bar.candidateId !== candidateId;',
      },
    ],
    stores: RECORDS,
  },
  {
    name: "release-needs-a-push",
    rule: "standbys are cheap",
    bug: "a standby believes its watch: it waits for a whole lease with a release that its polls alone have shown",
    within: 3_000,
    patches: [
      {
        file: "packages/core/src/election/campaign.ts",
        find: "      mayAcquire: candidacy.mayTry(snapshot),",
        replace: `      mayAcquire: ((): boolean => {
        const untold = this as unknown as { sinceMs?: number | undefined };
        const { watch } = this.#options.store;
        const isUntold = !this.#isFirst && !this.#polled?.isWoken && watch !== undefined && snapshot?.state === "vacant";
        untold.sinceMs = isUntold ? (untold.sinceMs ?? clock.monotonicMs()) : undefined;
        const waitsMs = isUntold ? (untold.sinceMs ?? 0) + (snapshot?.leaseDurationMs ?? 0) - clock.monotonicMs() : 0;
        return waitsMs <= 0 && candidacy.mayTry(snapshot);
      })(),`,
      },
    ],
    stores: ["records with a push", "records with a clock"],
  },
  ...CLOCK_MUTANTS,
  ...CONNECTION_MUTANTS,
  ...OPTION_MUTANTS,
  ...OCCURRENCE_MUTANTS,
  ...TURN_MUTANTS,
  ...UNDURABLE_MUTANTS,
  ...REDIS_MUTANTS,
  ...QUEUE_MUTANTS,
  ...ORDER_MUTANTS,
  ...VOTING_MUTANTS,
  ...QUORUM_MUTANTS,
];
