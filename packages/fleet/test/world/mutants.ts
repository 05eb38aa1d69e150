// Bugs that the judge of the world has to notice. Each takes one rule out.

/** A change of one file of the sources. The file contains `find` exactly once. */
interface Patch {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  /** The bug, for people. */
  readonly bug: string;
  /** True if random schedules seldom show it. A test of the rule by itself, or a directed attack, catches it. */
  readonly isRare?: boolean;
  readonly patches: readonly Patch[];
}

export const MUTANTS: readonly Mutant[] = [
  {
    name: "expired-is-over",
    bug: "a session that a list shows as expired counts as over, without the write that ends it",
    patches: [
      {
        file: "slot-watch.ts",
        find: "const over = new Set<number>();",
        replace: 'const over = new Set([...seen].filter(([, { state }]) => state === "expired").map(([slot]) => slot));',
      },
      { file: "slot-watch.ts", find: 'if (state === "expired") expired.push(one);', replace: "" },
    ],
  },
  {
    name: "any-vacated-record-is-over",
    bug: "a vacated record proves the end of a session that it does not name",
    isRare: true,
    patches: [
      {
        file: "plan.ts",
        find: 'if (!name.endsWith(`#${id}`)) return "gone";',
        replace: 'if (!name.endsWith(`#${id}`)) return record?.termId === null ? "over" : "gone";',
      },
    ],
  },
  {
    name: "missing-is-over",
    bug: "a record that is gone frees its shards at once",
    patches: [{ file: "slot-watch.ts", find: "clock.monotonicMs() - sinceMs >= plan.leaseMs", replace: "true" }],
  },
  {
    name: "free-when-asked",
    bug: "a shard is free once its holder is asked to leave",
    patches: [
      { file: "plan.ts", find: "if (!entry.leaving || applied < member.asked) return", replace: "if (!entry.leaving) return" },
    ],
  },
  {
    name: "free-while-draining",
    bug: "a shard is free once its holder knows that it is asked to leave",
    patches: [{ file: "plan.ts", find: 'if (draining === "all" || draining.has(shard)) return undefined;', replace: "" }],
  },
  {
    name: "leaving-is-undone",
    bug: "a shard that is asked to leave may stay after all, under its old term",
    isRare: true,
    patches: [{ file: "revise.ts", find: "freed) : entry);", replace: "freed) : { ...entry, leaving: false });" }],
  },
  {
    name: "term-stays",
    bug: "a grant has the term of the former plan",
    isRare: true,
    patches: [{ file: "revise.ts", find: "since: this.#revision,", replace: "since: this.#old.revision," }],
  },
  {
    name: "any-session-of-the-slot",
    bug: "a new session takes the shards that the plan gives to the former session of its slot",
    isRare: true,
    patches: [
      {
        file: "holds.ts",
        find: "if (member?.term !== session.term || member.id !== idOf(session)) return granted;",
        replace: "if (!member) return granted;",
      },
    ],
  },
  {
    name: "plans-in-any-order",
    bug: "a plan that is older than the last one is carried out",
    isRare: true,
    patches: [
      {
        file: "holds.ts",
        find: "if (plan.revision <= this.#applied || !session.isValid()",
        replace: "if (plan.revision === this.#applied || !session.isValid()",
      },
      { file: "member.ts", find: "if (this.#confirmed <= this.#holds.applied) return;", replace: "" },
    ],
  },
  {
    name: "thawed-start",
    bug: "a member starts shards after a freeze, although its session is over",
    patches: [
      { file: "holds.ts", find: " || !session.isValid() || session.signal.aborted", replace: "" },
      { file: "hold.ts", find: "if (!this.isLeaving && this.shard.isValid()) {", replace: "if (!this.isLeaving) {" },
    ],
  },
  {
    name: "overrun-stays-valid",
    bug: "a shard whose task has outlasted its drain is let go, and stays valid",
    patches: [
      { file: "hold.ts", find: "this.#isOver = true;\n    onOverrun(this.shard);", replace: "onOverrun(this.shard);" },
      {
        file: "hold.ts",
        find: "    this.#isOver = true;\n    if (this.#isLetGo) return;",
        replace: "    if (this.#isLetGo) return;",
      },
    ],
  },
  {
    name: "begins-without-fence",
    bug: "a task begins before its fence is written",
    patches: [
      {
        file: "member.ts",
        find: "(this.#isFenced ? await this.#seals.seal(shard) : true)",
        replace: "(this.#isFenced && void this.#seals.seal(shard).catch(() => false), true)",
      },
    ],
  },
  {
    name: "shard-outlasts-its-session",
    bug: "a shard stays valid although its session has ended",
    patches: [{ file: "hold.ts", find: "!this.#isOver && session.isValid();", replace: "!this.#isOver;" }],
  },
  {
    name: "lost-plan-is-made-anew",
    bug: "a coordinator makes a first plan although members have carried one out",
    isRare: true,
    patches: [{ file: "coordinator.ts", find: "if ((found?.plan.revision ?? 0) < highest) throw", replace: "if (false) throw" }],
  },
  {
    name: "rests-are-busy",
    bug: "a shard that rests makes all members poll often",
    isRare: true,
    patches: [
      {
        file: "revise.ts",
        find: "if (!this.#wanted.has(shard)) continue;",
        replace: "if (!this.#wanted.has(shard)) continue;\n      if (this.#wishes.resting.has(shard)) this.#pending = true;",
      },
    ],
  },
  {
    name: "reports-without-bound",
    bug: "a report may be larger than any store's value",
    isRare: true,
    patches: [{ file: "report.ts", find: "if (Buffer.byteLength(whole) <= MAX_BYTES) return whole;", replace: "return whole;" }],
  },
  {
    name: "gathering-without-end",
    bug: "members that come and go keep all shards free",
    isRare: true,
    patches: [{ file: "crowd.ts", find: " && nowMs - this.#gatherMs < 3 * gatherMs", replace: "" }],
  },
  {
    name: "restless-members-get-shards",
    bug: "a session that was never renewed gets shards beside others",
    isRare: true,
    patches: [{ file: "revise.ts", find: "return steady.length > 0 ? steady : all;", replace: "return all;" }],
  },
];
