import type { Mutant } from "./mutant.ts";

const TABLE_CHECK = "packages/dynamodb/src/table-check.ts";

/** Bugs that show with different options, with a control plane that does not answer, or between electors on one store object. */
export const OPTION_MUTANTS: readonly Mutant[] = [
  {
    name: "looks-as-the-holder-says",
    rule: "standbys are cheap",
    bug: "a standby looks as often as the holder publishes that it renews",
    within: 2_000,
    patches: [
      {
        file: "packages/core/src/election/poll-rate-limit.ts",
        find: "    return Math.max(this.#evenMs - (BURST - 1)",
        replace: "    return 0 * Math.max(this.#evenMs - (BURST - 1)",
      },
    ],
    stores: ["records", "records with a clock"],
  },
  {
    name: "a-failed-look-blinds",
    rule: "an outage is not the end",
    bug: "a standby whose look has failed waits for a retry period, and nothing shows renewals to it",
    within: 5_000,
    patches: [
      {
        file: "packages/core/src/election/campaign-backoff.ts",
        find: "return store.watch ? Math.min(timing.retryPeriodMs, timing.renewIntervalMs) : timing.retryPeriodMs;",
        replace: 'return store.name === "" ? 0 : timing.retryPeriodMs;',
      },
    ],
    stores: ["records with a clock"],
  },
  {
    name: "backs-off-without-end",
    rule: "an outage is not the end",
    bug: "a standby waits for twice as long after each failure, and so for minutes once the store is back",
    within: 3_000,
    patches: [
      {
        file: "packages/core/src/election/campaign-backoff.ts",
        find: "    return Math.max(askedMs, this.periodMs * (0.5 + clock.random() / 2));",
        replace: `    const failures = this as { failures?: number };
    failures.failures = (failures.failures ?? 0) + 1;
    return Math.max(askedMs, this.periodMs * (0.5 + clock.random() / 2) * 1.5 ** failures.failures);`,
      },
    ],
    stores: ["records", "records with a clock"],
  },
  {
    name: "no-pause-between-terms",
    rule: "no bounce, no spin",
    bug: "with a cooldown of nothing, an elector leads again at once, again and again",
    within: 2_000,
    patches: [
      {
        file: "packages/core/src/election/cooldown.ts",
        find: "    if (leftMs > 0) await sleep(",
        replace: "    if (leftMs > 1_000_000) await sleep(",
      },
    ],
    stores: ["records", "records with a push", "records with a clock"],
  },
  {
    name: "waits-for-the-control-plane",
    rule: "an outage is not the end",
    bug: "nobody takes over while DynamoDB does not say what its table is",
    within: 200,
    patches: [
      {
        file: TABLE_CHECK,
        find: "    if (this.#eventual.length > 0) {",
        replace: "    if (this.#failure && !this.#settled) throw this.#failure;\n    if (this.#eventual.length > 0) {",
      },
    ],
    stores: ["dynamodb"],
  },
  {
    name: "anothers-term-is-abandoned",
    rule: "release frees only its own term",
    bug: "what one elector has, every other one on its store object takes for abandoned",
    within: 2_000,
    patches: [
      {
        file: "packages/core/src/records/held-leases.ts",
        find: "    this.#holdings.set(lease, new Holding(",
        replace: '    this.#seen.abandoned.add(election, termId ?? "", version);\n    this.#holdings.set(lease, new Holding(',
      },
    ],
    stores: ["records", "records with a push", "records with a clock"],
  },
];
