import type { Mutant } from "./mutant.ts";

const BALLOTS = "packages/voting/src/voter-state.ts";
const SERVER = "packages/voting/src/server.ts";
const PRE_VOTES = "packages/voting/src/pre-votes.ts";
const PACE = "packages/voting/src/pace.ts";
const REIGN = "packages/voting/src/voting-term.ts";

const BUGS: ReadonlyArray<Omit<Mutant, "rule" | "stores">> = [
  {
    name: "votes-while-barred",
    bug: "a voter votes for another one while a LEAD blocks that",
    within: 100,
    patches: [
      {
        file: BALLOTS,
        find: "(term > this.#votedTo(election) && this.waitMs(election, nowMs, candidateId) <= 0)",
        replace: "term > this.#votedTo(election)",
      },
    ],
  },
  {
    name: "no-wait-after-a-start",
    bug: "a voter that was started again votes at once",
    within: 300,
    patches: [
      {
        file: BALLOTS,
        find: "barredUntilMs: this.#startMs + (broken?.immediate ? 0 : leaseDurationMs),",
        replace: "barredUntilMs: this.#startMs + 0 * leaseDurationMs,",
      },
    ],
  },
  {
    name: "answers-before-the-disk",
    bug: "a voter answers before what it has decided is on its disk",
    within: 300,
    patches: [{ file: SERVER, find: "    await this.#writer.synced(this.#ballots.versionOf(request.election));\n", replace: "" }],
  },
  {
    name: "empty-is-new",
    bug: "a voter whose file is gone takes part like one that is new",
    within: 400,
    patches: [
      {
        file: SERVER,
        find: "this.#recovery = this.#recover({ forgot: kept === undefined,",
        replace: "this.#recovery = this.#recover({ forgot: false,",
      },
      // Without this patch the others would still report it.
      { file: SERVER, find: "if (remembered <= this.#writer.begun ||", replace: "if (remembered >= 0 ||" },
    ],
  },
  {
    name: "acknowledges-without-a-disk",
    bug: "a voter whose file is gone acknowledges LEADs",
    within: 300,
    patches: [
      {
        file: SERVER,
        find: "if (!this.takesPart) return SILENT;",
        replace: 'if (!this.takesPart && request.kind !== "LEAD") return SILENT;',
      },
      {
        file: SERVER,
        find: "return this.takesPart ? answer :",
        replace: 'return this.takesPart || request.kind === "LEAD" ? answer :',
      },
    ],
  },
  {
    name: "takes-lower-terms",
    bug: "a voter acknowledges LEADs below its term",
    within: 300,
    patches: [{ file: BALLOTS, find: "term < present || broken", replace: "term < present - 1_000_000 || broken" }],
  },
  {
    name: "releases-any-term",
    bug: "a RELEASE ends the bar of a later term",
    within: 300,
    patches: [{ file: BALLOTS, find: "    if (term >= this.termOf(election)) {", replace: "    if (term > 0) {" }],
  },
  {
    name: "counts-from-the-acknowledgement",
    bug: "a leader counts its lease from the acknowledgements, not from before the send",
    within: 100,
    patches: [
      {
        file: REIGN,
        find: "return number === undefined ? undefined : this.#sent.get(number);",
        replace: "return number === undefined ? undefined : instantOf(this.#server.clock);",
      },
    ],
  },
];

/** Bugs that show only among voting servers. */
const OF_VOTERS: ReadonlyArray<Omit<Mutant, "rule" | "alone">> = [
  {
    name: "older-file-trusted",
    bug: "a voter trusts a file that is older than what the others remember of it",
    within: 3_000,
    patches: [{ file: SERVER, find: "if (remembered <= this.#writer.begun ||", replace: "if (remembered >= 0 ||" }],
  },
  {
    name: "votes-twice-a-term",
    bug: "a voter votes again in a term that it has voted in",
    within: 600,
    patches: [{ file: BALLOTS, find: "(term > this.#votedTo(election) &&", replace: "(term >= this.#votedTo(election) &&" }],
  },
  {
    name: "break-not-kept",
    bug: "a voter acknowledges LEADs of a term that was broken",
    within: 200,
    patches: [{ file: BALLOTS, find: "broken, transfer: undefined }", replace: "broken: undefined, transfer: undefined }" }],
  },
  {
    name: "hold-not-kept",
    bug: "a voter forgets at a start that a hold keeps others out",
    within: 600,
    patches: [
      {
        file: BALLOTS,
        find: "(ballot ?? { term, votedFor: null }), leaseDurationMs: holdMs, broken }",
        replace: "(ballot ?? { term, votedFor: null }), leaseDurationMs: 0, broken }",
      },
    ],
  },
];

/** Bugs that show only in failovers, in which round trips and syncs take their time. */
const OF_FAILOVERS: ReadonlyArray<Omit<Mutant, "rule" | "alone">> = [
  {
    name: "trial-right-after-a-vote",
    bug: "a voter grants a trial while the claim that it has granted or voted for is under way",
    within: 1_000,
    patches: [
      {
        file: PRE_VOTES,
        find: "if (!preVote || preVote.from === from) return 0;",
        replace: "if (!preVote || preVote.from !== undefined) return 0;",
      },
    ],
  },
  {
    name: "hold-is-fixed",
    bug: "a voter holds trials for 50 ms, however long a round trip takes",
    within: 1_500,
    patches: [
      {
        file: PACE,
        find: "return Math.max(SHORTEST_HOLD_MS, SPARE * this.#longest(this.#roundTripsMs));",
        replace: "return SHORTEST_HOLD_MS;",
      },
    ],
  },
  {
    name: "waits-for-the-dead",
    bug: "a claim that cannot be won any more waits for the answers of servers that are down",
    within: 2_000,
    patches: [
      {
        file: "packages/voting/src/poll.ts",
        find: "else if (answers.size >= majority)",
        replace: "else if (answers.size > everyone.length)",
      },
    ],
  },
  {
    name: "syncs-ignored",
    bug: "a claim gives up after a round trip, however long the disks of the voters take to sync",
    within: 500,
    patches: [
      {
        file: PACE,
        find: "return SPARE * (this.#longest(this.#roundTripsMs) + this.#longest(this.#syncsMs));",
        replace: "return SPARE * this.#longest(this.#roundTripsMs);",
      },
    ],
  },
  {
    name: "order-of-the-list",
    bug: "servers whose lists name the same servers in another order do not work together",
    within: 50,
    patches: [{ file: "packages/voting/src/roster.ts", find: "names.toSorted()", replace: "names" }],
  },
  {
    name: "one-claim-at-a-time",
    bug: "a server that claims one election claims no other one",
    within: 500,
    patches: [
      {
        file: "packages/voting/src/server-claims.ts",
        find: "return this.#claiming.has(election);",
        replace: "return this.#claiming.size > 0;",
      },
    ],
  },
];

/** Bugs of transfers, which show only among voting servers. */
const OF_TRANSFERS: ReadonlyArray<Omit<Mutant, "rule" | "alone">> = [
  {
    name: "votes-beside-a-transfer",
    bug: "a voter votes for another candidate during a transfer",
    within: 100,
    patches: [{ file: BALLOTS, find: "transfer && !isNamed ?", replace: "transfer && !isNamed && isNamed ?" }],
  },
  {
    name: "transfer-lasts",
    bug: "a transfer to a candidate that never comes never ends",
    within: 300,
    patches: [{ file: BALLOTS, find: "orderedMs) + transfer.timeoutMs", replace: "orderedMs) + 1e9 * transfer.timeoutMs" }],
  },
];

/** A bug in which a break does not lift a transfer. It shows once an administrator has to help electors. */
const UNLIFTED: Mutant = {
  name: "voters-keep-a-transfer",
  rule: "break never makes two leaders",
  bug: "among servers that vote, a break does not lift a transfer to a candidate that never comes",
  within: 50,
  stores: ["voting"],
  patches: [{ file: BALLOTS, find: "broken, transfer: undefined }", replace: "broken }" }],
};

/** Bugs of voting servers. A bug that needs thousands of runs is left to the model and to the tests of the package. */
export const VOTING_MUTANTS: readonly Mutant[] = [
  ...BUGS.map((bug) => ({ ...bug, rule: "votes are kept", stores: ["voting"] as const })),
  ...OF_VOTERS.map((bug) => ({ ...bug, rule: "votes are kept", alone: "voters" as const })),
  ...OF_FAILOVERS.map((bug) => ({ ...bug, rule: "an outage is not the end", alone: "failovers" as const })),
  ...OF_TRANSFERS.map((bug) => ({ ...bug, rule: "a transfer is for one candidate", alone: "voters" as const })),
  UNLIFTED,
];
