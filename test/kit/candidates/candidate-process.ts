import { LineProcess } from "../processes/line-process.ts";
import type { CandidateSettings, Command } from "./candidate.ts";
import type { Line, LineOf } from "./history.ts";

/** The line to wait for, and the time limit. */
export interface Wanted<Event extends Line["event"]> {
  /** Only a line later than this one counts. */
  readonly after?: Line | undefined;
  readonly where?: ((line: LineOf<Event>) => boolean) | undefined;
  /** @defaultValue 300000: ten times the longest wait on an idle machine, and less than a test may take */
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
  /** Its lines, and its end. */
  readonly lines: Line[] = [];
  readonly #process: LineProcess<Line>;
  readonly #waiters = new Set<Waiter>();

  constructor(settings: CandidateSettings) {
    this.candidateId = settings.candidateId;
    this.#process = new LineProcess<Line>({
      program: new URL("./candidate.ts", import.meta.url),
      settings,
      onLine: (line) => this.#add(line),
      onEnd: (end) => this.#add({ event: "exited", ...end }),
    });
  }

  /** Its stderr, which is normally empty. */
  get stderr(): string {
    return this.#process.stderr;
  }

  /** Returns the lines of one event. */
  all<Event extends Line["event"]>(event: Event): Array<LineOf<Event>> {
    return this.lines.filter((line): line is LineOf<Event> => line.event === event);
  }

  /** Returns the last line of one event. @throws if there is none. */
  last<Event extends Line["event"]>(event: Event): LineOf<Event> {
    const line = this.all(event).at(-1);
    if (!line) throw new Error(`${this.candidateId} has not said '${event}'.`);
    return line;
  }

  /** Returns the first line of an event, past or future. @throws if it does not come in time, or the process ends without it. */
  async said<Event extends Line["event"]>(event: Event, wanted: Wanted<Event> = {}): Promise<LineOf<Event>> {
    const { after, where, withinMs = 300_000 } = wanted;
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
    this.#process.send(command);
  }

  /** Sends SIGKILL or SIGTERM. */
  signal(signal: "SIGKILL" | "SIGTERM"): void {
    this.#process.signal(signal);
  }

  /** Sends SIGSTOP. Resolves once the process does not run. */
  async freeze(): Promise<void> {
    await this.#process.freeze();
  }

  /** Sends SIGCONT. */
  thaw(): void {
    this.#process.thaw();
  }

  /** Kills it, if it still runs, and waits for its end. */
  async end(): Promise<void> {
    await this.#process.end();
  }

  #add(line: Line): void {
    this.lines.push(line);
    for (const { matches, found, missed } of this.#waiters) {
      if (matches(line)) found(line);
      else if (line.event === "exited") missed(new Error(`${this.candidateId} has ended while something else was awaited.`));
    }
  }
}
