/**
 * Shows the messages that a new user gets for a wrong setup. For each store and mistake it lists the message, and the result of
 * `run`. `docs/mistakes.md` has to contain the same: LEASEHOLD_WRITE_DOCS=1 writes it.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Elector, type ElectorOptions, type LeaseholdError, type LeaseStore, type Logger } from "@leasehold/core";
import type { LogAttributes } from "@leasehold/core/provider";
import { etcdMissing } from "@leasehold/test-kit/backends/etcd";
import { mariaDbMissing } from "@leasehold/test-kit/backends/mariadb";
import { isMissing } from "@leasehold/test-kit/backends/missing-backend";
import { postgresMissing } from "@leasehold/test-kit/backends/postgres";
import { untilAborted } from "@leasehold/test-kit/leader-tasks";
import { expect, test } from "vitest";
import { MISTAKES } from "./mistakes.ts";
import { quorumMistakes } from "./quorum-mistakes.ts";
import type { PageLines } from "./page-lines.ts";
import { startServices } from "./services.ts";
import { steady } from "./steady.ts";
import { votingMistakes } from "./voting-mistakes.ts";

/** Azure's shortest lease, used for every store. */
const LEASE_MS = 15_000;
const PAGE = new URL("../../../docs/mistakes.md", import.meta.url);
const HEAD = `# Mistakes and their messages

This page lists common mistakes of set-up, by store. It shows the message, which goes to the logger or else to stderr. It shows what
\`run\` and \`campaign\` do by default, on a lease of 15 s. With \`startup: "patient"\` only a mistake of this process itself ends
them. A test makes these mistakes, and writes this page. Azurite and dynalite stand for their services, whose texts differ in places. For
a wrong key, for instance, Azure itself says AuthenticationFailed, which is STORE_UNAUTHENTICATED. Read 'get' or 'put' as either of them.

## In your code

| you write                                            | what happens                                                                                             |
| ---------------------------------------------------- | -------------------------------------------------------------------------------------------------------- |
| a task of \`run\` that starts something and returns    | each return gives the lease up. After two there is a warning (\`LEASEHOLD_TASK_RETURNED\`), and a pause    |
| \`await elector.stop()\` in the task                   | it waits for itself. On Node 24 a warning says so at once (\`LEASEHOLD_WAITS_FOR_ITSELF\`)                 |
| a loop that blocks the event loop                    | the leadership is lost. A warning says for how long it was blocked (\`LEASEHOLD_BLOCKED\`)                 |
| \`elector.isLeader\` without a call of \`run\`           | it is false for ever, without a warning                                                                  |
| \`const leads = elector.isLeader\`, used later         | it may be wrong by then, without a warning. Ask right before each act                                    |
| a leadership of \`campaign\` that is never released    | the lease is renewed until the process ends. \`run\` then throws \`ELECTOR_BUSY\`, and \`tryRun\` returns \`busy\` |
| \`MemoryLeaseStore\`, or a SQLite file, in a container | each container has a leader. A warning says so (\`LEASEHOLD_LOCAL_STORE\`)                                 |
| \`run(task, signal)\`, an unknown option or event      | a \`ConfigurationError\`, in JavaScript too                                                                |
`;
const QUORUM = "\n## A quorum\n";
const QUORUM_HEAD = `${QUORUM}
A quorum reports the messages of its members' stores, and these. _Later_ means after it has begun. A member that fails while the others
work is reported to the quorum's own \`logger\`.

`;
const VOTING = "\n## Servers that vote\n";
const VOTING_HEAD = `${VOTING}
Here \`open\` rejects, or resolves, and within seconds each server says in process warnings what is wrong.

`;

const missing = (await isMissing(etcdMissing())) || (await isMissing(mariaDbMissing())) || (await isMissing(postgresMissing()));

test.skipIf(missing)(
  "every mistake is said at once, and none waits for ever without need",
  { timeout: 600_000, concurrent: true },
  async () => {
    await using services = await startServices();

    const sections = Object.entries(MISTAKES).map(async ([title, mistakes]) => {
      const told = await Promise.all(
        Object.entries(mistakes).map(async ([mistake, make]) => tell(mistake, await make(services))),
      );
      return `\n## ${title}\n\n${textBlock(told)}`;
    });
    expectPart("stores", HEAD + (await Promise.all(sections)).join(""));
  },
);

test(
  "every mistake of a quorum is said, and no member is away without a word",
  { timeout: 600_000, concurrent: true },
  async () => {
    expectPart("quorum", QUORUM_HEAD + textBlock(await quorumMistakes(linesOfPage(QUORUM))));
  },
);

test("every mistake of servers that vote is said, by open or in warnings", { timeout: 600_000, concurrent: true }, async () => {
  expectPart("voting", VOTING_HEAD + textBlock(await votingMistakes(linesOfPage(VOTING))));
});

const PARTS = ["stores", "quorum", "voting"] as const;

/** Compares one part of the page with the expected text, or writes it first if that is requested. */
function expectPart(which: (typeof PARTS)[number], expected: string): void {
  const page = readFileSync(PAGE, "utf8");
  const [atQuorum, atVoting] = [page.indexOf(QUORUM), page.indexOf(VOTING)];
  const parts = { stores: page.slice(0, atQuorum), quorum: page.slice(atQuorum, atVoting), voting: page.slice(atVoting) };
  const right = PARTS.map((part) => (part === which ? expected : parts[part])).join("");
  if (process.env["LEASEHOLD_WRITE_DOCS"] !== undefined) writeFileSync(PAGE, right);
  else expect(right).toBe(page);
}

/**
 * Returns the page's lines about each mistake, in a part of it. The tests wait for all these lines, so a slow machine may take
 * its time. While the page is being written, no lines are known yet.
 */
function linesOfPage(part: string): PageLines {
  if (process.env["LEASEHOLD_WRITE_DOCS"] !== undefined) return () => undefined;
  const [, text = ""] = readFileSync(PAGE, "utf8").split(part);
  return (mistake) => {
    const [, ...lines] = text.slice(text.indexOf(`\n${mistake}: `) + 1).split("\n");
    return lines.slice(
      0,
      lines.findIndex((line) => !line.startsWith("    ")),
    );
  };
}

function textBlock(lines: readonly string[]): string {
  return `\`\`\`text\n${lines.join("\n")}\n\`\`\`\n`;
}

async function tell(mistake: string, store: LeaseStore): Promise<string> {
  const said: Array<readonly [message: string, code: unknown]> = [];
  const keep = (message: string, { code }: LogAttributes): void => void said.push([message, code]);
  const logger: Logger = { debug: () => undefined, info: keep, warn: keep, error: keep };
  const [outcome, patient] = await Promise.all([outcomeOf(store, { logger }), outcomeOf(store, { startup: "patient" })]);
  // Only a mistake of the process itself also ends a patient elector.
  const isLocal = patient !== undefined;
  expect(patient?.error.message, mistake).toBe(isLocal ? outcome?.error.message : undefined);
  if (outcome && !isLocal) expect(outcome.afterMs, mistake).toBeGreaterThanOrEqual(LEASE_MS);
  const does = outcome === undefined ? "goes on" : isLocal ? "rejects at once" : "rejects after a lease";
  // On a busy machine a first request may be too slow, and its message comes first.
  const [first] =
    said.find(([, code]) =>
      outcome ? code === outcome.error.code : code !== "STORE_TIMEOUT" && String(code).startsWith("STORE_"),
    ) ?? [];
  const line = isLocal ? patient.error.message : first;
  return [`${mistake}: run ${does}${outcome ? ` with ${outcome.error.code}` : ""}`, `    ${steady(line ?? "(nothing)")}`].join(
    "\n",
  );
}

interface Rejection {
  readonly error: LeaseholdError;
  readonly afterMs: number;
}

/**
 * Returns how `run` rejects, or `undefined` if it goes on for three leases. A rejection after one lease comes long before that.
 */
async function outcomeOf(store: LeaseStore, options: Pick<ElectorOptions, "logger" | "startup">): Promise<Rejection | undefined> {
  const elector = new Elector({ store, election: "nightly-billing", leaseDurationMs: LEASE_MS, ...options });
  const beganMs = performance.now();
  const failed = elector.run(untilAborted).then(
    () => undefined,
    (error: unknown) => ({ error: error as LeaseholdError, afterMs: performance.now() - beganMs }),
  );
  const outcome = await Promise.race([failed, delay(3 * LEASE_MS, undefined)]);
  await elector.stop();
  return outcome;
}
