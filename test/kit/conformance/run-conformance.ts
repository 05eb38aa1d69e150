import { cases, conformance, type CaseResult, type StoreUnderTest } from "@leasehold/conformance";
import { afterAll, describe, it } from "vitest";
import { isMissing } from "../backends/missing-backend.ts";
import { keepResults } from "./table.ts";

export { SOME_ROUNDS } from "./some-rounds.ts";

/**
 * The cases that test an SDK, or another server of the same service. They cover each kind of request, its answer, its failure,
 * and its end by a signal. All other cases test what this repository's code does with the answers.
 */
const EACH_KIND_OF_REQUEST: ReadonlySet<string> = new Set([
  ...["capabilities", "check", "read-held", "watch-release", "watch-ends", "request-counts"],
  ...["acquire-on-nothing", "acquire-while-held", "acquire-after-release", "contention", "expiry-store-clock"],
  ...["renew-keeps-term", "publish", "publish-late", "release-twice", "record-missing"],
  ...["break-closes-renewal", "transfer-accepted", "hold", "reservation", "foreign-record"],
  ...["occurrence-done", "occurrence-failed", "occurrence-contention", "occurrences-apart"],
  ...["names-round-trip", "values-round-trip", "values-with-controls"],
  ...["abort-read", "abort-read-unanswered", "unreachable", "counts-from-send"],
  ...["lost-acquire-request", "lost-acquire-reply", "lost-renewal", "lost-release-reply"],
  ...["late-acquire", "late-renewal", "duplicate-renewal"],
  ...["leading-stale-write", "leading-outage"],
]);

/** A run of only some cases runs all of them with LEASEHOLD_EVERY_CASE=1. */
const ONLY_EACH_KIND = "another run judges it; LEASEHOLD_EVERY_CASE=1 runs it here too";

/** The options for the cases of one store. */
export interface RunOptions {
  /** Runs several cases at a time; if time is real, most of them only wait for it. @defaultValue false */
  readonly concurrently?: boolean | undefined;
  /**
   * Omits the cases that do not depend on the SDK or the server. @defaultValue true if the SDK is the oldest:
   * LEASEHOLD_OLDEST_PEERS=1
   */
  readonly onlyEachKindOfRequest?: boolean | undefined;
}

/** Registers the suite for one store in Vitest, and keeps its results for the table. */
export function runConformance(subject: StoreUnderTest, options: RunOptions = {}): void {
  const { concurrently = false, onlyEachKindOfRequest = process.env["LEASEHOLD_OLDEST_PEERS"] === "1" } = options;
  const results: CaseResult[] = [];
  const leftOut =
    onlyEachKindOfRequest && process.env["LEASEHOLD_EVERY_CASE"] !== "1"
      ? cases.filter(({ id }) => !EACH_KIND_OF_REQUEST.has(id)).map(({ id }) => [id, ONLY_EACH_KIND] as const)
      : [];
  const skips = { ...subject.skips, ...Object.fromEntries(leftOut) };
  const runner = { describe, it: concurrently ? it.concurrent : it };
  conformance(runner, { ...subject, skips }, (result) => results.push(result));
  afterAll(async () => keepResults(subject.name, results));
}

/**
 * Registers the suite of a store whose service has to be installed. If it is missing, each cell of its column says so.
 * @param register calls {@link runConformance}, and starts the service.
 * @throws if it is missing although LEASEHOLD_ALL_BACKENDS=1 says that all backends are installed, as in CI.
 */
export async function runConformanceUnless(
  missing: Promise<string | undefined>,
  name: string,
  register: () => void,
): Promise<void> {
  const isHere = !(await isMissing(missing));
  if (isHere) {
    register();
    return;
  }
  const reason = (await missing) ?? "";
  await keepResults(
    name,
    cases.map(({ id }) => ({ subject: name, id, outcome: "skipped", reason })),
  );
  // A file without a single test is an error.
  describe.skipIf(!isHere)(`${name}: ${reason}`, () => {
    it("every case", () => {});
  });
}
