import { rmSync } from "node:fs";
import { join, relative } from "node:path";
import { readReport, type Failure, type Report } from "./report.ts";
import { ShellCommand } from "./shell-command.ts";

/** One step: a command that passes by its exit code, or an npm script that runs Vitest. */
export type Step = { readonly command: string } | { readonly tests: string };

/** The steps that a change must pass, in order. The cheap steps come first. */
export const STEPS: readonly Step[] = [
  { command: "npm run lint" },
  { command: "npm run format:check" },
  { command: "npm run prose" },
  { command: ".ci/backends" },
  // The tests come before the build, because they must pass without one, as for a reader of the README.
  { tests: "test" },
  { tests: "test:long" },
  { command: "npm run types" },
  { command: "npm run packaging" },
  { command: "npm run simulate -- --runs 5000" },
  { command: "npm run synth" },
  { command: "npm run model" },
  { command: "npm run mutants -- --package core --package functions --sample 20 --least 90" },
];

const REPORTER = join(import.meta.dirname, "reporter.ts");

interface Rerun {
  readonly script: string;
  readonly file: string;
  readonly name: string | undefined;
}

interface CommandResult {
  readonly exitCode: number;
  readonly seconds: number;
}

/** More failures than this have a common cause other than a busy machine, so none of them runs again. */
const MOST_RERUN = 10;
/** The gate ends a step at this limit, and names it. CI would end the gate after 90 minutes, without naming the step. */
const LIMIT_MS = 85 * 60_000;

/**
 * Runs steps, and counts passes and failures. A failed step ends the run. There is one exception: a failed test of real time runs
 * once more, alone, at the end. It then passes as `unsteady`, or fails the gate.
 */
export class Gate {
  readonly #root: string;
  readonly #report: string;
  readonly #startedMs = performance.now();
  readonly #times: Array<readonly [step: string, seconds: number]> = [];
  readonly #toRerun: Rerun[] = [];
  readonly #unsteady: string[] = [];
  #passed = 0;
  #failed = 0;
  #current: ShellCommand | undefined;

  /** @param root the absolute path of the repository. */
  constructor(root: string) {
    this.#root = root;
    this.#report = join(root, ".results/gate-report.json");
  }

  get failures(): number {
    return this.#failed;
  }

  /** Counts a step that has passed. */
  passed(step: string, seconds: number): void {
    this.#passed += 1;
    this.#times.push([step, seconds]);
  }

  /** Counts a failure, and prints it. */
  fail(what: string): void {
    this.#failed += 1;
    print(`== FAILED: ${what}`);
  }

  /** Ends the present step. */
  stop(): void {
    this.#current?.kill();
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      await ("command" in step ? this.#runCommand(step.command) : this.#runTests(step.tests));
      if (this.#failed > 0) return;
    }
    for (const failure of this.#toRerun) await this.#rerun(failure);
  }

  /** Prints the time of each step, every unsteady test, and the closing line. */
  printEnd(): void {
    print("");
    for (const [step, seconds] of this.#times) print(`${seconds.toFixed(0).padStart(6)} s  ${step}`);
    print(`${((performance.now() - this.#startedMs) / 1_000).toFixed(0).padStart(6)} s  all steps after npm ci`);
    for (const name of this.#unsteady) print(`unsteady: ${name}`);
    print(`${this.#passed} passed, ${this.#failed} failed`);
  }

  async #runCommand(command: string): Promise<void> {
    const { exitCode, seconds } = await this.#execute(command);
    if (exitCode === 0) this.passed(command, seconds);
    else this.fail(`${command} (exit code ${exitCode})`);
  }

  async #runTests(script: string): Promise<void> {
    const { exitCode, seconds, report } = await this.#vitest(`npm run ${script} --`);
    this.#times.push([`npm run ${script}`, seconds]);
    if (report === undefined || report.passed === 0) {
      this.fail(`npm run ${script}: no test has passed`);
      return;
    }
    this.#passed += report.passed;
    // A test is skipped if its backend is missing. In the gate no backend may be missing.
    if (report.skipped > 0) this.fail(`npm run ${script}: ${report.skipped} tests were skipped`);
    const isRerunnable = report.failures.length <= MOST_RERUN;
    for (const failure of report.failures) {
      const { file, name, isOfRealTime } = failure;
      if (file !== undefined && isOfRealTime && isRerunnable) {
        print(`== failed, and runs once more at the end: ${this.#describe(failure)}`);
        this.#toRerun.push({ script, file, name });
      } else this.fail(this.#describe(failure));
    }
    if (exitCode !== 0 && report.failures.length === 0) this.fail(`npm run ${script} (exit code ${exitCode})`);
  }

  async #rerun({ script, file, name }: Rerun): Promise<void> {
    const filter = name === undefined ? "" : ` --testNamePattern ${quote(patternOf(name))}`;
    const path = quote(relative(this.#root, file));
    const { exitCode, report } = await this.#vitest(`npm run ${script} -- ${path}${filter} --maxWorkers=1`);
    const title = `${relative(this.#root, file)}${name === undefined ? "" : `: ${name}`}`;
    if (exitCode === 0 && (report?.passed ?? 0) > 0) {
      print(`== failed at first, and passed alone: ${title}`);
      this.#passed += 1;
      this.#unsteady.push(title);
    } else this.fail(`twice: ${title}`);
  }

  async #vitest(command: string): Promise<CommandResult & { readonly report: Report | undefined }> {
    rmSync(this.#report, { force: true });
    const result = await this.#execute(`${command} --reporter=default --reporter=${quote(REPORTER)}`);
    return { ...result, report: readReport(this.#report, this.#root) };
  }

  /** Describes a failure with the start of its message. Some messages are long, and a log may show only its last part. */
  #describe({ file, name, message }: Failure): string {
    return `${file === undefined ? "no file" : relative(this.#root, file)}: ${name ?? "the file"}\n${message.slice(0, 1_500)}`;
  }

  async #execute(command: string): Promise<CommandResult> {
    print(`\n== ${command}`);
    const startedMs = performance.now();
    this.#current = new ShellCommand(command, this.#root, {
      ...process.env,
      LEASEHOLD_ALL_BACKENDS: "1",
      LEASEHOLD_GATE_REPORT: this.#report,
    });
    const exitCode = await this.#current.exitCode(Math.max(this.#startedMs + LIMIT_MS - startedMs, 0));
    const seconds = (performance.now() - startedMs) / 1_000;
    print(`== exit code ${exitCode} after ${seconds.toFixed(0)} s: ${command}`);
    return { exitCode, seconds };
  }
}

/** Returns a pattern that matches one test. A seed in its title was drawn, and the next run draws another one. */
function patternOf(name: string): string {
  return `^${name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`).replaceAll(/\bseed \d+/g, String.raw`seed \d+`)}$`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
