import { fork, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { reachesState } from "../processes/process-state.ts";
import type { CandidateSettings, Command } from "./candidate.ts";
import type { Line, LineOf } from "./history.ts";
import { hostMs } from "../clocks/host-clock.ts";

/** Which line is waited for, and how long. */
export interface Wanted<Event extends Line["event"]> {
  /** Only a line later than this one counts. */
  readonly after?: Line | undefined;
  readonly where?: ((line: LineOf<Event>) => boolean) | undefined;
  /** @defaultValue 40000: more than any wait in these tests should take, less than a test may */
  readonly withinMs?: number | undefined;
}

interface Waiter {
  readonly matches: (line: Line) => boolean;
  readonly found: (line: Line) => void;
  readonly missed: (error: Error) => void;
}

/** A process that runs `candidate.ts`. */
export class CandidateProcess {
  readonly candidateId: string;
  /** What it has said, and that it has ended, once it has. */
  readonly lines: Line[] = [];
  readonly #child: ChildProcess;
  readonly #waiters = new Set<Waiter>();
  #stderr = "";
  #guard: ChildProcess | undefined;

  constructor(settings: CandidateSettings) {
    this.candidateId = settings.candidateId;
    this.#child = fork(fileURLToPath(new URL("./candidate.ts", import.meta.url)), [JSON.stringify(settings)], {
      execPath: process.execPath,
      // Node 22.12, the oldest supported, strips types on request only.
      execArgv: [
        "--conditions=@leasehold/source",
        ...(process.features.typescript === false ? ["--experimental-strip-types"] : []),
      ],
      // Most of a start is the compilation of Azure's SDK.
      env: { ...process.env, NODE_OPTIONS: "", NODE_COMPILE_CACHE: join(tmpdir(), "leasehold-test-compile-cache") },
      stdio: ["ignore", "pipe", "pipe", "ipc"],
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    createInterface(this.#child.stdout!).on("line", (line) => this.#add(JSON.parse(line) as Line));
    // "close" comes once everything that it said has been read.
    let exitedMs = 0;
    this.#child.once("exit", () => (exitedMs = hostMs()));
    this.#child.once("close", (code, signal) => this.#add({ atMs: exitedMs, event: "exited", code, signal }));
  }

  /** What it wrote to stderr: normally nothing. */
  get stderr(): string {
    return this.#stderr;
  }

  /** The lines of one event. */
  all<Event extends Line["event"]>(event: Event): Array<LineOf<Event>> {
    return this.lines.filter((line): line is LineOf<Event> => line.event === event);
  }

  /** The last line of one event. @throws if there is none. */
  last<Event extends Line["event"]>(event: Event): LineOf<Event> {
    const line = this.all(event).at(-1);
    if (!line) throw new Error(`${this.candidateId} has not said '${event}'.`);
    return line;
  }

  /**
   * The first line of an event, said already or still to come.
   * @throws if it does not come in time, or the process ends without it.
   */
  async said<Event extends Line["event"]>(event: Event, wanted: Wanted<Event> = {}): Promise<LineOf<Event>> {
    const { after, where, withinMs = 40_000 } = wanted;
    const matches = (line: Line): boolean =>
      line.event === event && (after === undefined || line.atMs > after.atMs) && (where?.(line as LineOf<Event>) ?? true);
    const known = this.lines.find(matches);
    if (known) return known as LineOf<Event>;
    const { promise, resolve, reject } = Promise.withResolvers<Line>();
    const waiter: Waiter = { matches, found: resolve, missed: reject };
    this.#waiters.add(waiter);
    if (this.all("exited").length > 0) reject(new Error(`${this.candidateId} has ended, and had not said '${event}'.`));
    const timer = setTimeout(
      () => reject(new Error(`${this.candidateId} did not say '${event}' within ${withinMs} ms.`)),
      withinMs,
    );
    try {
      return (await promise) as LineOf<Event>;
    } finally {
      clearTimeout(timer);
      this.#waiters.delete(waiter);
    }
  }

  obey(command: Command): void {
    // One that ends at this moment does not obey.
    this.#child.send(command, () => undefined);
  }

  /** Sends SIGKILL or SIGTERM. */
  signal(signal: "SIGKILL" | "SIGTERM"): void {
    this.#child.kill(signal);
  }

  /** SIGSTOP: resolves once it does not run. */
  async freeze(): Promise<void> {
    // A stopped process cannot notice that its parent has died. This shell does, and lets it go on to its own end.
    const wake = 'trap "" INT TERM HUP; read -r _; kill -CONT "$0"';
    this.#guard = spawn("/bin/sh", ["-c", wake, String(this.#child.pid)], { stdio: ["pipe", "ignore", "ignore"] });
    this.#child.kill("SIGSTOP");
    await reachesState(this.#child.pid!, "stopped", "gone");
  }

  /** SIGCONT. */
  thaw(): void {
    this.#child.kill("SIGCONT");
    this.#guard?.kill("SIGKILL");
  }

  /** Kills it, if it still runs, and waits for its end. */
  async end(): Promise<void> {
    this.#guard?.kill("SIGKILL");
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await closed;
  }

  #add(line: Line): void {
    this.lines.push(line);
    for (const { matches, found, missed } of this.#waiters) {
      if (matches(line)) found(line);
      else if (line.event === "exited") missed(new Error(`${this.candidateId} has ended while something else was awaited.`));
    }
  }
}
