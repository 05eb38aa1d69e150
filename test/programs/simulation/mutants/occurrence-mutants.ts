import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

/** The stores on which a process without a memory can tell that a claim has expired. */
const CLOCKED: readonly StoreKind[] = ["records with a push", "records with a clock"];

const HELD_LEASES = "packages/core/src/records/held-leases.ts";
const COMPLETING = "packages/core/src/occurrences/complete-in-time.ts";

/** Bugs in doing each occurrence of a schedule once. */
export const OCCURRENCE_MUTANTS: readonly Mutant[] = [
  {
    name: "done-is-open",
    rule: "done is done once",
    bug: "an occurrence that is done is claimed again",
    within: 1_000,
    patches: [
      {
        file: "packages/core/src/store/lease-snapshot.ts",
        find: "  if (done) return",
        replace: "  if (done && holdMs < 0) return",
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "completes-what-another-has",
    rule: "done is done once",
    bug: "a completion whose reply was lost is sent again over the claim of whoever has taken over",
    within: 4_000,
    patches: [
      {
        file: HELD_LEASES,
        find: "      if (await this.#catchUp(lease, holding, limits)) {",
        replace: `      if (done && holding.overtaken) {
        const there = await this.#seen.read(election, limits);
        if (there) holding.take({ record: there.record, version: there.version });
      } else if (await this.#catchUp(lease, holding, limits)) {`,
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "completion-that-arrived-is-lost",
    rule: "done is done once",
    bug: "a completion whose reply was lost is not recognised in what is found",
    within: 2_000,
    patches: [
      {
        file: HELD_LEASES,
        find: "const arrived = found && holding.isRelease(found.record) && found.record.done === done;",
        replace: "const arrived = found && holding.isRelease(found.record) && !done && !found.record.done;",
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "completion-unconfirmed-counts",
    rule: "done is done once",
    bug: "a completion without a reply counts as one that was made",
    within: 2_000,
    patches: [
      {
        file: COMPLETING,
        find: "      if (isOver) throw error;",
        replace: "      return undefined;",
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "completion-retried-at-once",
    rule: "done is done once",
    bug: "a completion is tried again and again without a wait in between",
    within: 4_000,
    patches: [
      {
        file: COMPLETING,
        find: "      await sleep(clock, askedMs);",
        replace: "      await sleep(clock, Math.min(askedMs, 0));",
      },
    ],
    stores: CLOCKED,
  },
];
