import type { StoreKind } from "../stores/stores.ts";
import type { Mutant } from "./mutant.ts";

const QUORUM: readonly StoreKind[] = ["quorum"];

const REGISTER = "packages/quorum/src/register.ts";
const ROUNDS = "packages/quorum/src/rounds.ts";
const LINK = "packages/quorum/src/member-session.ts";
const MEMBER = "packages/quorum/src/member.ts";
const REQUESTS = "packages/quorum/src/member-requests.ts";
const MEMBERSHIP = "packages/quorum/src/membership.ts";

/** Bugs that show wherever a quorum has electors. */
const BUGS: ReadonlyArray<Omit<Mutant, "rule">> = [
  {
    name: "no-forward-promise",
    bug: "an accept does not promise the ballot of the write that follows it",
    within: 500,
    patches: [
      { file: ROUNDS, find: "promised: forward(ballot), accepted: ballot", replace: "promised: ballot, accepted: ballot" },
    ],
    stores: QUORUM,
  },
  {
    name: "one-ballot-for-two-writes",
    bug: "a write that needs no prepare has the ballot of the one before",
    within: 40,
    patches: [
      {
        file: ROUNDS,
        find: "{ ballot: forward(this.#ballot), kept: targets }",
        replace: "{ ballot: this.#ballot, kept: targets }",
      },
    ],
    stores: QUORUM,
  },
  {
    name: "minority-read",
    bug: "what one member shows is taken for chosen",
    within: 20,
    patches: [
      {
        file: ROUNDS,
        find: "compareBallots(accepted, top) === 0).length >= this.#majority",
        replace: "compareBallots(accepted, top) === 0).length >= 1",
      },
    ],
    stores: QUORUM,
  },
  {
    name: "refused-counts-as-accepted",
    bug: "a member that has refused an accept counts towards its majority",
    within: 40,
    patches: [{ file: REQUESTS, find: "if (!kept) throw REFUSED;", replace: "if (!kept) return present;" }],
    stores: QUORUM,
  },
  {
    name: "nonce-kept-by-the-chosen",
    bug: "a member that is given a nonce goes on counting from the one before, since the chosen record has it already",
    within: 500,
    patches: [
      {
        file: MEMBER,
        find: "const keepsNonce = !redates && present.proposal?.record.nonce === state.proposal?.record.nonce;",
        replace: "const keepsNonce = !redates;",
      },
    ],
    stores: ["quorum with clocks"],
  },
  {
    name: "known-by-another-nonce",
    bug: "a standby counts a nonce from when a member showed it the one before",
    within: 40,
    patches: [{ file: LINK, find: "this.#nonce?.nonce === nonce ?", replace: "this.#nonce && nonce ?" }],
    stores: QUORUM,
  },
  {
    name: "base-ignored",
    bug: "a put replaces whatever it finds, and not only what it was to replace",
    within: 100,
    patches: [
      {
        file: REGISTER,
        find: "const isOurs = (found?.write ?? null) === proposal.base || found?.write === proposal.write;",
        replace: "const isOurs = found?.write !== IMPOSSIBLE;",
      },
      { file: REGISTER, find: "const LONGEST_PAUSE_MS", replace: 'const IMPOSSIBLE = "x";\nconst LONGEST_PAUSE_MS' },
    ],
    stores: QUORUM,
  },
  {
    name: "rosters-ignored",
    bug: "a process with a store that was replaced takes no notice of what the others say of who the members are",
    within: 100,
    patches: [
      {
        file: REQUESTS,
        find: "return Math.max(0, ...[...answers.values()].map(({ roster }) => roster));",
        replace: "return Math.min(0, answers.size);",
      },
    ],
    stores: QUORUM,
  },
];

/** Bugs that show only among the leases of a quorum. */
const OF_QUORUMS: ReadonlyArray<Omit<Mutant, "rule" | "alone">> = [
  {
    name: "handshake-torn-down",
    bug: "a call that ends takes its requests along, also where they are still making a connection to a far member",
    within: 100,
    patches: [
      {
        file: "packages/quorum/src/overdue-reads.ts",
        find: "const MOST_OVERDUE = 2;",
        replace: "const MOST_OVERDUE = 0;",
      },
    ],
  },
  {
    name: "note-tried-once",
    bug: "the note that takes an emptied store in is tried once in ten seconds, whatever is lost",
    within: 40,
    patches: [
      {
        file: MEMBERSHIP,
        find: "await this.#repeat(untilMs, () => true, work).catch(() => undefined);",
        replace:
          "await work({ signal: new AbortController().signal, untilMs, memberMs: 2_500 }).catch(() => undefined); await sleep(this.#clock, untilMs - this.#clock.monotonicMs());",
      },
    ],
  },
  {
    name: "refusal-voids-nothing",
    bug: "a majority counts though another member has refused, for which one of them may have forgotten something newer",
    within: 100,
    patches: [
      { file: ROUNDS, find: "answers.size >= this.#majority && !isRefused;", replace: "answers.size >= this.#majority;" },
    ],
  },
  {
    name: "judged-by-reading",
    bug: "a put is reported as refused because a read shows a rival's accept, which a failover of that member undoes",
    within: 800,
    patches: [
      {
        file: REGISTER,
        find: "const isToRepeat = sent && this.#undurable.size > 0;",
        replace: "const isToRepeat = this.#undurable.size > 0 && top?.write === proposal.write;",
      },
    ],
  },
  {
    name: "late-promise-trusted",
    bug: "a store that was emptied is known again by its record, which may be a promise that came late",
    within: 20,
    patches: [
      {
        file: MEMBERSHIP,
        find: "if (kept.accepted && this.#isIn(name)) return kept;",
        replace: "if (this.#isIn(name)) return kept;",
      },
    ],
  },
];

/** Bugs of a record that a majority of stores keeps. The model of this record finds more, in every state. */
export const QUORUM_MUTANTS: readonly Mutant[] = [
  ...BUGS.map((bug) => ({ ...bug, rule: "a majority decides" })),
  ...OF_QUORUMS.map((bug) => ({ ...bug, rule: "a majority decides", alone: "quorums" as const })),
];
