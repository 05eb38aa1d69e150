/**
 * Shows the messages that a new user gets for a wrong setup. For each store and mistake it lists the message, and the result of
 * `run`. `site/pages/mistakes*.md` have to contain the same: LEASEHOLD_WRITE_DOCS=1 writes their blocks of messages.
 */
import dns from "node:dns";
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
import { MISTAKES, UNKNOWN } from "./mistakes.ts";
import { quorumMistakes } from "./quorum-mistakes.ts";
import type { PageLines } from "./page-lines.ts";
import { startServices } from "./services.ts";
import { steady } from "./steady.ts";
import { votingMistakes } from "./voting-mistakes.ts";

/** Azure's shortest lease, used for every store. */
const LEASE_MS = 15_000;
/** As long as the lease allows, because only two reports of an outage have its message: of its begin, and that it lasts. */
const ATTEMPT_TIMEOUT_MS = LEASE_MS / 6;
// A name server that is slow for many questions at once would turn the answer into a time-out.
const { lookup } = dns;
dns.lookup = ((host: string, ...rest: readonly unknown[]) => {
  if (host !== UNKNOWN) return Reflect.apply(lookup, dns, [host, ...rest]) as unknown;
  const answer = rest.at(-1) as (error: Error) => void;
  const details = { code: "ENOTFOUND", errno: -3008, syscall: "getaddrinfo", hostname: host };
  process.nextTick(answer, Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), details));
  return {};
}) as typeof lookup;

const PAGE = new URL("../../../site/pages/mistakes.md", import.meta.url);
/** The page that begins with this database, and has the parts after it. */
const DATABASES_PAGE = new URL("../../../site/pages/mistakes-databases.md", import.meta.url);
const FIRST_DATABASE = "MySQL";
/** The headings of the parts after the stores. People write the texts of the pages, and this test their blocks of messages. */
const QUORUM = "\n## A quorum\n";
const VOTING = "\n## Servers that vote\n";

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
    const written = await Promise.all(sections);
    const titles = Object.keys(MISTAKES);
    const databases = titles.indexOf(FIRST_DATABASE);
    const startOf = (page: string, title = ""): number => page.indexOf(`\n## ${title}\n`);
    expectPart(PAGE, written.slice(0, databases).join(""), (page) => [startOf(page, titles[0]), page.length]);
    expectPart(DATABASES_PAGE, written.slice(databases).join(""), (page) => [
      startOf(page, FIRST_DATABASE),
      page.indexOf(QUORUM),
    ]);
  },
);

test(
  "every mistake of a quorum is said, and no member is away without a word",
  { timeout: 600_000, concurrent: true },
  async () => {
    const expected = textBlock(await quorumMistakes(linesOfPage(QUORUM)));
    expectPart(DATABASES_PAGE, expected, (page) => [page.indexOf("```text", page.indexOf(QUORUM)), page.indexOf(VOTING)]);
  },
);

test("every mistake of servers that vote is said, by open or in warnings", { timeout: 600_000, concurrent: true }, async () => {
  const expected = textBlock(await votingMistakes(linesOfPage(VOTING)));
  expectPart(DATABASES_PAGE, expected, (page) => [page.indexOf("```text", page.indexOf(VOTING)), page.length]);
});

/** Compares one part of a page with the expected text, or writes it first if that is requested. */
function expectPart(file: URL, expected: string, partOf: (page: string) => readonly [from: number, to: number]): void {
  const page = readFileSync(file, "utf8");
  const [from, to] = partOf(page);
  expect(from).toBeGreaterThan(0);
  const right = page.slice(0, from) + expected + page.slice(to);
  if (process.env["LEASEHOLD_WRITE_DOCS"] !== undefined) writeFileSync(file, right);
  else expect(right).toBe(page);
}

/**
 * Returns the lines about each mistake, in a part of the page of databases. The tests wait for all these lines, so a slow machine may take
 * its time. While the page is being written, no lines are known yet.
 */
function linesOfPage(part: string): PageLines {
  if (process.env["LEASEHOLD_WRITE_DOCS"] !== undefined) return () => undefined;
  const [, text = ""] = readFileSync(DATABASES_PAGE, "utf8").split(part);
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
  const line = isLocal ? patient.error.message : (first ?? `(nothing, but ${said.map(([, code]) => String(code)).join(", ")})`);
  return `${mistake}: run ${does}${outcome ? ` with ${outcome.error.code}` : ""}\n    ${steady(line)}`;
}

interface Rejection {
  readonly error: LeaseholdError;
  readonly afterMs: number;
}

/**
 * Returns how `run` rejects, or `undefined` if it goes on for three leases. A rejection after one lease comes long before that.
 */
async function outcomeOf(store: LeaseStore, options: Pick<ElectorOptions, "logger" | "startup">): Promise<Rejection | undefined> {
  const times = { leaseDurationMs: LEASE_MS, attemptTimeoutMs: ATTEMPT_TIMEOUT_MS };
  const elector = new Elector({ store, election: "nightly-billing", ...times, ...options });
  const beganMs = performance.now();
  const failed = elector.run(untilAborted).then(
    () => undefined,
    (error: unknown) => ({ error: error as LeaseholdError, afterMs: performance.now() - beganMs }),
  );
  const outcome = await Promise.race([failed, delay(3 * LEASE_MS, undefined)]);
  await elector.stop();
  return outcome;
}
