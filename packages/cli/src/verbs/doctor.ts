import { diagnose, type Finding } from "../diagnosis.ts";
import { painter, type Colour } from "../colour.ts";
import { parseDuration } from "../duration.ts";
import { addElectionOption, electionOf, namesElection, addStoreOptions, storeUrl } from "../target-options.ts";
import { errorReport } from "../error-report.ts";
import { EXIT, exitCodeOf } from "../exit-codes.ts";
import { textOfLines } from "../table.ts";
import type { ProcessEnvironment, Verb } from "../verb.ts";

/** The election for the checks if none is named. `doctor` reads it and never leads it. */
const ANY_ELECTION = "leasehold-doctor";
const COLOURS: Readonly<Record<Finding["outcome"], Colour>> = { ok: "green", warning: "yellow", failed: "red" };

interface Options {
  readonly lease?: number;
  readonly json?: true;
}

/** Checks a configuration: first without a request to the store, then by requests that change nothing. */
export const verb: Verb = {
  define(command) {
    addElectionOption(addStoreOptions(command))
      .option("--lease <duration>", "the lease that candidates are to have (default: 15s)", parseDuration)
      .option("--json", "print JSON");
  },
  async act(command, environment) {
    const { lease: leaseDurationMs, json } = command.opts<Options>();
    const election = namesElection(command, environment) ? electionOf(command, environment) : ANY_ELECTION;
    const url = await storeUrl(command, environment);
    const findings: Finding[] = [];
    for await (const finding of diagnose({ url, election, leaseDurationMs }, environment)) {
      findings.push(finding);
      if (!json) environment.stdout.write(linesOf(finding, environment));
    }
    if (json) environment.stdout.write(`${JSON.stringify(findings.map(forPrograms))}\n`);
    const failed = findings.find(({ outcome }) => outcome === "failed");
    return failed === undefined ? EXIT.done : exitCodeOf(failed.error);
  },
};

/** Returns a finding with the code of its error instead of the error. */
function forPrograms({ error, ...rest }: Finding): object {
  return rest.outcome === "failed" ? { ...rest, code: errorReport(error).code } : rest;
}

function linesOf({ check, outcome, message, advice = [] }: Finding, environment: ProcessEnvironment): string {
  const paint = painter(environment, environment.stdout);
  const [first, ...rest] = [`${check.padEnd(8)}  ${message}`, ...advice];
  const margin = " ".repeat("warning".length);
  return textOfLines([
    `${paint(COLOURS[outcome], outcome.padEnd(margin.length))}  ${first}`,
    ...rest.map((line) => `${margin}  ${line}`),
  ]);
}
