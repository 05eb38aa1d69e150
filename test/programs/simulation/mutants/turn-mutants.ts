import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

/** The stores on which the end of a reservation can be known. */
const CLOCKED: readonly StoreKind[] = ["records with a push", "records with a clock"];
const RECORDS: readonly StoreKind[] = ["records", ...CLOCKED];

const BAR = "packages/core/src/store/lease-snapshot.ts";
const SNAPSHOT = "packages/core/src/records/record-snapshot.ts";
const ORDERS = "packages/core/src/records/record-orders.ts";
const LEADER_TERM = "packages/core/src/election/leader-term.ts";
const TERM_MACHINE = "packages/core/src/election/term-machine.ts";
const TERM_REQUESTS = "packages/core/src/election/term-requests.ts";

/** Bugs in a candidate's options beyond the lease: a minimum hold, a reservation for its group, and renewal by hand. */
export const TURN_MUTANTS: readonly Mutant[] = [
  {
    name: "hold-ignored",
    rule: "a bar holds, and ends",
    bug: "somebody acquires while a lease that was released early is held back",
    within: 500,
    patches: [{ file: BAR, find: 'if (holdMs > 0) return { kind: "hold"', replace: 'if (holdMs > 1e12) return { kind: "hold"' }],
    stores: RECORDS,
  },
  {
    name: "hold-lost-with-a-reply",
    rule: "a bar holds, and ends",
    bug: "a release that is tried again holds nothing back any more",
    within: 4_000,
    patches: [
      {
        file: TERM_REQUESTS,
        find: "const send = (limits: RequestLimits) => store.release(lease, { ...limits, ...(holdMs > 0 ? { holdMs } : {}) });",
        replace: `const send = (
      (tries = 0) => (limits: RequestLimits) =>
        store.release(lease, { ...limits, ...(holdMs > 0 && ++tries === 1 ? { holdMs } : {}) })
    )();`,
      },
    ],
    stores: RECORDS,
  },
  {
    name: "anybody's-turn",
    rule: "a bar holds, and ends",
    bug: "anybody acquires while only the group of the last term may",
    within: 500,
    patches: [
      {
        file: BAR,
        find: 'if (bar?.kind === "reservation") return bar.group === group;',
        replace: 'if (bar?.kind === "reservation") return bar.group !== "";',
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "turn-for-ever",
    rule: "a bar holds, and ends",
    bug: "a reservation never ends",
    within: 1_000,
    patches: [
      {
        file: SNAPSHOT,
        find: "  if (leftMs <= 0) return {};",
        replace: '  if (leftMs <= 0 && !(except && "group" in except)) return {};',
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "turn-lost-at-release",
    rule: "a bar holds, and ends",
    bug: "a release drops what the term has reserved for its group",
    within: 500,
    patches: [
      {
        file: ORDERS,
        find: 'again ?? barOf(record, "reservation")',
        replace: "again",
      },
    ],
    stores: CLOCKED,
  },
  {
    name: "hand-renewal-from-its-reply",
    rule: "the holder counts from before the send",
    bug: "a renewal that the task asks for counts from its reply, not from before its send",
    within: 2_000,
    patches: [
      {
        file: LEADER_TERM,
        find: "    await this.#renewal;",
        replace: `    const { grantedAt } = this.#state;
    await this.#renewal;
    if (this.#state.grantedAt !== grantedAt) this.#state = { ...this.#state, grantedAt: instantOf(this.#options.clock) };`,
      },
    ],
  },
  {
    name: "hand-renewal-has-no-deadline",
    rule: "three instants",
    bug: "nothing aborts the signal of a task that does not renew in time",
    within: 500,
    patches: [
      {
        file: TERM_MACHINE,
        find: "const checkMs = term.over ? Infinity : now.monotonicMs + checkInMs;",
        replace: 'const checkMs = term.over || term.plan.renewal === "manual" ? Infinity : now.monotonicMs + checkInMs;',
      },
    ],
  },
  {
    name: "late-hand-renewal-is-not-told",
    rule: "a late success proves nothing",
    bug: "a renewal that the task asks for resolves although the leadership is over by then",
    within: 4_000,
    patches: [
      {
        file: LEADER_TERM,
        find: "    await this.#renewal;\n    this.#assertValid();",
        replace: "    await this.#renewal;",
      },
    ],
  },
];
