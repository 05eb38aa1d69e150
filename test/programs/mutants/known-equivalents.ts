/** A change that no program can tell from the original. */
export interface KnownEquivalent {
  /** The path from the root of the repository. */
  readonly file: string;
  /** The line, and the changed line, as `npm run mutants` shows them. */
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

/** Mutants that no test can kill. Each has to exist. */
export const KNOWN_EQUIVALENTS: readonly KnownEquivalent[] = [
  {
    file: "packages/functions/src/held-response.ts",
    from: "this.#response.write = this.#write;",
    to: ";",
    why: "The write that is left only notes that the response is streamed, which nobody asks any more.",
  },
  {
    file: "packages/functions/src/held-response.ts",
    from: "return SENT_EVENTS.reduce((count, event) => count + response.listenerCount(event), 0);",
    to: "return SENT_EVENTS.reduce((count, event) => count + response.listenerCount(event), 1);",
    why: "Only two counts are compared, and both are one more.",
  },
  {
    file: "packages/core/src/occurrences/complete-in-time.ts",
    from: "const askedMs = Math.max((error as Partial<StoreError>).retryAfterMs ?? 0, waitMs);",
    to: "const askedMs = Math.max((error as Partial<StoreError>).retryAfterMs ?? 1, waitMs);",
    why: "waitMs is more than either.",
  },
  {
    file: "packages/functions/src/function-leadership.ts",
    from: "leadership.checkpoint();",
    to: ";",
    why: "It counts with stallTimeoutMs alone, which a function's leadership has not.",
  },
  {
    file: "packages/functions/src/option-checks.ts",
    from: "const itsOwn = Object.fromEntries(platformOptions.map((name) => [name, true as const]));",
    to: "const itsOwn = Object.fromEntries(platformOptions.map((name) => [name, false as const]));",
    why: "Only the names are asked for.",
  },
  {
    file: "packages/schedulers/src/croner.ts",
    from: "const [run] = cron.previousRuns(1, new Date(beforeMs));",
    to: "const [run] = cron.previousRuns(2, new Date(beforeMs));",
    why: "Only the first is looked at.",
  },
  {
    file: "packages/schedulers/src/due-by-cron.ts",
    from: "let backMs = 1_000;",
    to: "let backMs = 2000;",
    why: "It is doubled until it is enough.",
  },
  {
    file: "packages/functions/src/option-checks.ts",
    from: "const SAMPLE_MS = 60_000;",
    to: "const SAMPLE_MS = 120000;",
    why: "Any time will do that leaves an invocation some to work in.",
  },
  {
    file: "packages/functions/src/option-checks.ts",
    from: "const { timing, renewal } = timeBudget(Math.max(SAMPLE_MS, 2 * shutdownMarginMs), options, store.capabilities);",
    to: "const { timing, renewal } = timeBudget(Math.max(SAMPLE_MS, 3 * shutdownMarginMs), options, store.capabilities);",
    why: "Any time will do that leaves an invocation some to work in.",
  },
  {
    file: "packages/functions/src/option-checks.ts",
    from: "const { election, value, logger, clock, shutdownMarginMs = 0 } = options;",
    to: "const { election, value, logger, clock, shutdownMarginMs = 1 } = options;",
    why: "Any time will do that leaves an invocation some to work in.",
  },
  {
    file: "packages/functions/src/option-checks.ts",
    from: 'renewal: renewal === "background" ? "scheduled" : "manual",',
    to: 'renewal: renewal !== "background" ? "scheduled" : "manual",',
    why: "This elector is made to see what it refuses, and it takes either.",
  },
  {
    file: "packages/core/src/election/campaign.ts",
    from: "return { waitMs: Math.min(Math.max(this.#nextPollMs(), 1), move.leftMs) };",
    to: "return { waitMs: Math.min(Math.max(this.#nextPollMs(), 2), move.leftMs) };",
    why: "The pace of the polls is what bounds them; any wait that is one will do.",
  },
  {
    file: "packages/core/src/election/term-machine.ts",
    from: "const ROUNDING_MS = 1e-7;",
    to: "const ROUNDING_MS = 2e-7;",
    why: "Any wait will do that is longer than a rounding error.",
  },
  ...['if (renewal.is !== "under-way") ;', "if (false) return;"].map((to) => ({
    file: "packages/core/src/election/term-machine.ts",
    from: 'if (renewal.is !== "under-way") return;',
    to,
    why: "A renewal that fails is under way, unless renewals are closed. Closed they stay, and the line is for the compiler.",
  })),
  ...[9, 11].map((part) => ({
    file: "packages/core/src/election/renewal-timing.ts",
    from: "const slackMs = Math.min(TICK_SLACK_MS, renewIntervalMs / 10);",
    to: `const slackMs = Math.min(TICK_SLACK_MS, renewIntervalMs / ${part});`,
    why: "Any slack will do that is short beside an interval.",
  })),
  ...[
    ["let scenes = 0;", "let scenes = 1;"],
    ["scenes += 1;", "scenes += 2;"],
    ["scenes += 1;", "scenes -= 1;"],
  ].map(([from = "", to = ""]) => ({
    file: "packages/conformance/src/scenario.ts",
    from,
    to,
    why: "Any numbers will do that differ.",
  })),
  ...[7, 9].map((part) => ({
    file: "packages/conformance/src/contest.ts",
    from: "timing: { election, leaseDurationMs, retryPeriodMs: leaseDurationMs / 8 },",
    to: `timing: { election, leaseDurationMs, retryPeriodMs: leaseDurationMs / ${part} },`,
    why: "Any period will do that is short beside a lease.",
  })),
  ...[
    ["#seq = 0;", "#seq = 1;"],
    ["this.#seq += 1;", "this.#seq += 2;"],
    ["this.#seq += 1;", "this.#seq -= 1;"],
  ].map(([from = "", to = ""]) => ({
    file: "packages/cli/src/run/guard-process.ts",
    from,
    to,
    why: "Any numbers will do that differ.",
  })),
  {
    file: "packages/etcd/src/etcd-lease-store.ts",
    from: "reader.keep(election, 2 * waitMs);",
    to: "reader.keep(election, 3 * waitMs);",
    why: "Any time will do that is longer than the wait.",
  },
  {
    file: "packages/azure-blob/src/options.ts",
    from: "return newPipeline(client.credential, { ...pipeline?.options, retryOptions: { maxTries: 1 } });",
    to: "return newPipeline(client.credential, { ...pipeline?.options, retryOptions: { maxTries: 0 } });",
    why: "The SDK compares the number of tries after the first one.",
  },
  {
    file: "packages/azure-blob/src/blob-lease-store.ts",
    from: "reader.keep(election, 2 * retryPeriodMs);",
    to: "reader.keep(election, 3 * retryPeriodMs);",
    why: "Any time will do that is longer than the wait.",
  },
  {
    file: "packages/firestore/src/schema.ts",
    from: "if (version === IMPOSSIBLE_VERSION) return wireTime(BigInt(1_000_000_000));",
    to: "if (version === IMPOSSIBLE_VERSION) return wireTime(BigInt(2000000000));",
    why: "Any time will do at which nothing was written yet.",
  },
  {
    file: "packages/conformance/src/contest.ts",
    from: "for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {",
    to: "for (let leftMs = ms; leftMs >= 0; leftMs -= stepMs) {",
    why: "A step of no time, after the last one, shows what that one showed.",
  },
  {
    file: "packages/core/src/records/acquisitions.ts",
    from: "const term = Math.max((observed?.record.term ?? 0) + 1, request.minTerm ?? 1);",
    to: "const term = Math.max((observed?.record.term ?? 0) + 1, request.minTerm ?? 0);",
    why: "The other is at least 1.",
  },
  {
    file: "packages/core/src/election/leader-term.ts",
    from: "minimumHoldMs: wishes.minimumHoldMs ?? 0,",
    to: "minimumHoldMs: (wishes.minimumHoldMs),",
    why: "What is left of no hold is then no number, and so as little more than none.",
  },
  {
    file: "packages/core/src/election/release.ts",
    from: "const askedMs = isLeaseholdError(error) ? ((error as StoreError).retryAfterMs ?? 0) : 0;",
    to: "const askedMs = isLeaseholdError(error) ? ((error as StoreError).retryAfterMs ?? 1) : 0;",
    why: "RETRY_MS is more than either.",
  },
  {
    file: "packages/core/src/election/release.ts",
    from: "const askedMs = isLeaseholdError(error) ? ((error as StoreError).retryAfterMs ?? 0) : 0;",
    to: "const askedMs = isLeaseholdError(error) ? ((error as StoreError).retryAfterMs ?? 0) : 1;",
    why: "RETRY_MS is more than either.",
  },
  {
    file: "packages/core/src/records/abandoned-terms.ts",
    from: "if (terms?.size === 0) this.#terms.delete(election);",
    to: "if (false) this.#terms.delete(election);",
    why: "An empty map says the same as none, and goes by itself when nobody asks for the election any more.",
  },
  {
    file: "packages/core/src/records/abandoned-terms.ts",
    from: "if (terms?.size === 0) this.#terms.delete(election);",
    to: "if (terms?.size === 0) ;",
    why: "An empty map says the same as none, and goes by itself when nobody asks for the election any more.",
  },
  {
    file: "packages/azure-blob/src/release.ts",
    from: "orphans.add(election, { leaseId: holding.leaseId, term: term - 1, termIds: [termId], untilMs });",
    to: "orphans.add(election, { leaseId: holding.leaseId, term: term - 2, termIds: [termId], untilMs });",
    why: "A blob that names this term names its termId, too, and none names an older one any more.",
  },
  {
    file: "packages/azure-blob/src/release.ts",
    from: "orphans.add(election, { leaseId: holding.leaseId, term: term - 1, termIds: [termId], untilMs });",
    to: "orphans.add(election, { leaseId: holding.leaseId, term: term - 0, termIds: [termId], untilMs });",
    why: "A blob that names this term names its termId, too, and none names an older one any more.",
  },
  {
    file: "packages/dynamodb/src/dynamodb-errors.ts",
    from: "const status = $metadata?.httpStatusCode ?? 0;",
    to: "const status = ($metadata?.httpStatusCode);",
    why: "It is compared and tested alone, in which 0 and undefined come to the same.",
  },
  {
    file: "packages/dynamodb/src/dynamodb-lease-store.ts",
    from: "await waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1, maxDelay: 2 }, { TableName });",
    to: "await waitUntilTableExists({ client, maxWaitTime: 240, minDelay: 1, maxDelay: 2 }, { TableName });",
    why: "Any time will do that is longer than a table takes.",
  },
  {
    file: "packages/sql/src/postgres/postgres-record-store.ts",
    from: 'typeof value === "string" && FREE_TEXT.includes(COLUMNS[index] ?? "") ? Buffer.from(value, "utf8") : value,',
    to: 'typeof value === "string" && FREE_TEXT.includes((COLUMNS[index])) ? Buffer.from(value, "utf8") : value,',
    why: "There is a column for each value; the other is for the compiler.",
  },
  {
    file: "packages/core/src/metrics/metric-lines.ts",
    from: "const intoMinuteMs = (((this.#clock.wallMs() - MINUTE_MS / 2) % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;",
    to: "const intoMinuteMs = (((this.#clock.wallMs() + MINUTE_MS / 2) % MINUTE_MS) + MINUTE_MS) % MINUTE_MS;",
    why: "Half a minute back and half a minute on are the same within a minute.",
  },
  ...["minDelay: 2, maxDelay: 2", "minDelay: 1, maxDelay: 3", "minDelay: 1, maxDelay: 1"].map((pace) => ({
    file: "packages/dynamodb/src/dynamodb-lease-store.ts",
    from: "await waitUntilTableExists({ client, maxWaitTime: 120, minDelay: 1, maxDelay: 2 }, { TableName });",
    to: `await waitUntilTableExists({ client, maxWaitTime: 120, ${pace} }, { TableName });`,
    why: "Any pace of a few seconds will do to wait for a table that is made in development.",
  })),
  {
    file: "packages/dynamodb/src/dynamodb-record-store.ts",
    from: "if (known && known.hi - known.lo <= 2 * TOLERANCE_MS + leaseDurationMs / 5) return known;",
    to: "if (known && known.hi - known.lo < 2 * TOLERANCE_MS + leaseDurationMs / 5) return known;",
    why: "Bounds that are of that very width serve as well as those of the read that they spare.",
  },
  {
    file: "packages/dynamodb/src/table-check.ts",
    from: 'const label = { operation: "describe-table", election, writes: false };',
    to: 'const label = { operation: "describe-table", election, writes: true };',
    why: "Of its failure only the code and the text are looked at, and neither says whether it was applied.",
  },
  {
    file: "packages/dynamodb/src/requests.ts",
    from: 'return Date.parse(header ?? "");',
    to: "return Date.parse((header));",
    why: "Neither an empty text nor none is a date.",
  },
  ...[2, 0].map((round) => ({
    file: "packages/quorum/src/store-markers.ts",
    from: "const ballot = { round: 1, proposer: incarnation };",
    to: `const ballot = { round: ${round}, proposer: incarnation };`,
    why: "No round is ever held on a marker: of its record only the write is read.",
  })),
  {
    file: "packages/quorum/src/membership.ts",
    from: "const { stored } = await this.#register.put(proposal, true, limits);",
    to: "const { stored } = await this.#register.put(proposal, false, limits);",
    why: "Nobody asks how old a roster is, and none is followed by another one without a prepare.",
  },
  {
    file: "packages/quorum/src/rounds.ts",
    from: 'if (!this.#ballot || targets.size < this.#majority) return "refused";',
    to: 'if (!this.#ballot || targets.size < this.#majority) return "";',
    why: "Of a write that goes on without a prepare it is only asked whether it is confirmed, or unknown.",
  },
  {
    file: "packages/quorum/src/member.ts",
    from: "return (await this.#put(election, recordOf(nothing, roster), { ifVersion, keepsNonce: false }, limits)) === undefined;",
    to: "return (await this.#put(election, recordOf(nothing, roster), { ifVersion, keepsNonce: true }, limits)) === undefined;",
    why: "It is a write that must fail.",
  },
  {
    file: "packages/quorum/src/ballot.ts",
    from: "for (const ballot of ballots) if (compareBallots(ballot, found) > 0) found = ballot;",
    to: "for (const ballot of ballots) if (compareBallots(ballot, found) >= 0) found = ballot;",
    why: "Of two equal ballots either will do.",
  },
  {
    file: "packages/quorum/src/rounds.ts",
    from: "const isInTheWay = compareBallots(present.promised, link.blockedBy) === 0 || compareBallots(present.accepted, ballot) > 0;",
    to: "const isInTheWay = compareBallots(present.promised, link.blockedBy) === 0 || compareBallots(present.accepted, ballot) >= 0;",
    why: "No two writes have one ballot, and this one is sent to the member only after this.",
  },
  ...["ageMs = [1, 0], leaseDurationMs = 0", "ageMs = [0, 1], leaseDurationMs = 0", "ageMs = [0, 0], leaseDurationMs = 1"].map(
    (defaults) => ({
      file: "packages/voting/src/voting-lease-store.ts",
      from: "const { state, ageMs = [0, 0], leaseDurationMs = 0 } = this.#seen(election) ?? {};",
      to: `const { state, ${defaults} } = this.#seen(election) ?? {};`,
      why: "Where there is neither, the wait is the least that there is.",
    }),
  ),
  ...[
    ["packet-client.ts", "return { ...fields, writes: 0, seen: 0 };", "return { ...fields, writes: 1, seen: 0 };"],
    ["packet-client.ts", "return { ...fields, writes: 0, seen: 0 };", "return { ...fields, writes: 0, seen: 1 };"],
    ["http-transport.ts", "const { writes = 0, seen = 0 } = last ?? {};", "const { writes = 1, seen = 0 } = last ?? {};"],
    ["http-transport.ts", "const { writes = 0, seen = 0 } = last ?? {};", "const { writes = 0, seen = 1 } = last ?? {};"],
  ].map(([file = "", from = "", to = ""]) => ({
    file: `packages/voting/src/${file}`,
    from,
    to,
    why: "Nobody reads it in a packet that carries no message, or no answer.",
  })),
  {
    file: "packages/voting/src/http-listener.ts",
    from: 'const reason = reasons[error.code ?? ""] ?? error.message;',
    to: "const reason = reasons[(error.code)] ?? error.message;",
    why: "There is no reason for either.",
  },
  ...["if (!grantedAt) ;", 'if (false) throw new Error("A claim that was won has no grant.");'].map((to) => ({
    file: "packages/voting/src/voting-lease-store.ts",
    from: 'if (!grantedAt) throw new Error("A claim that was won has no grant.");',
    to,
    why: "A majority has acknowledged the first LEAD of a claim that was won, and that is what the grant is.",
  })),
  ...[
    [
      'const title = { election, term: 0, termId: "", candidateId: "", leaseDurationMs: 0 };',
      'const title = { election, term: 0, termId: "", candidateId: "", leaseDurationMs: 1 };',
    ],
    [
      "const flags = { trial: false, hasLed: false, hasFailed: false };",
      "const flags = { trial: false, hasLed: true, hasFailed: false };",
    ],
    [
      "const flags = { trial: false, hasLed: false, hasFailed: false };",
      "const flags = { trial: false, hasLed: false, hasFailed: true };",
    ],
    ...["{ term: 1, number: 0 }, holdMs: 0", "{ term: 0, number: 1 }, holdMs: 0", "{ term: 0, number: 0 }, holdMs: 1"].map(
      (heard) => [
        'const request: Elect = { kind: "ELECT", ...title, ...flags, heard: { term: 0, number: 0 }, holdMs: 0, claimMs: 0 };',
        `const request: Elect = { kind: "ELECT", ...title, ...flags, heard: ${heard}, claimMs: 0 };`,
      ],
    ),
  ].map(([from = "", to = ""]) => ({
    file: "packages/voting/src/server-claims.ts",
    from,
    to,
    why: "Nobody votes for a term of zero, whatever else is asked.",
  })),
  {
    file: "packages/voting/src/server-claims.ts",
    from: "return (this.#nextMs.get(election) ?? 0) - this.#server.clock.monotonicMs();",
    to: "return (this.#nextMs.get(election) ?? 1) - this.#server.clock.monotonicMs();",
    why: "Either is past: the origin of the clock is no moment at which anybody asks.",
  },
  {
    file: "packages/voting/src/voting-term.ts",
    from: "const REMEMBERED = 32;",
    to: "const REMEMBERED = 64;",
    why: "Any number will do of more than are under way.",
  },
  {
    file: "packages/cli/src/table.ts",
    from: '.map((at, index) => (row[at] ?? "").padEnd((widths[index] ?? 0) + (row[at] ?? "").length - widthOf(row[at] ?? "")))',
    to: '.map((at, index) => (row[at] ?? "").padEnd(((widths[index])) + (row[at] ?? "").length - widthOf(row[at] ?? "")))',
    why: "There is a width for each column; the other is for the compiler.",
  },
  ...[
    "(character) => `\\\\u{${((character.codePointAt(0))).toString(16)}}`,",
    "(character) => `\\\\u{${(character.codePointAt(0) ?? 1).toString(16)}}`,",
  ].map((to) => ({
    file: "packages/cli/src/text.ts",
    from: "(character) => `\\\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,",
    to,
    why: "There is a character; the other is for the compiler.",
  })),
];
