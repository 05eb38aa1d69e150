import type { Clock, Timer } from "@leasehold/core";
import type { Output } from "../surroundings.ts";

/** The most bytes that wait for a reader. */
const MOST_WAITING_BYTES = 65_536;
/** How often it tries again to write what waits. */
const RETRY_MS = 50;

const DISK_IS_FULL: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

/** The place where bytes are written, which never waits for its reader. */
export interface OutputSink {
  readonly isTerminal: boolean;
  /**
   * Writes what can be written now. Returns how many bytes that were.
   * @throws if nothing can be written here: ever again, or until a full disk has room.
   */
  write(bytes: Buffer): number;
  /** Resolves once everything has gone on to the reader. Nothing is written afterwards. */
  end(): Promise<void>;
}

/** An output whose writer never waits for the reader. Lines that find no room are dropped; their number is written later. */
export class UnblockedOutput implements Output {
  readonly #sink: OutputSink;
  readonly #clock: Clock;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isLost = false;
  #retry: Timer | undefined;
  #drained: (() => void) | undefined;

  constructor(sink: OutputSink, clock: Clock) {
    this.#sink = sink;
    this.#clock = clock;
  }

  get isTerminal(): boolean {
    return this.#sink.isTerminal;
  }

  write(text: string): void {
    if (text === "") return;
    const bytes = Buffer.from(text);
    // After a dropped line the others wait for the note about it, so that the reader knows where lines are missing.
    const isFull = this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > MOST_WAITING_BYTES;
    if (this.#dropped > 0 || isFull) this.#dropped += 1;
    else this.#add(bytes);
    this.#writeOn();
  }

  /** Writes what waits. Resolves once the reader has it all, or after `timeoutMs`. */
  async end(timeoutMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#clock.setTimer(resolve, timeoutMs);
    this.#drained = () => void this.#sink.end().then(resolve);
    this.#writeOn();
    await promise;
    timer.cancel();
    this.#retry?.cancel();
  }

  #add(bytes: Buffer): void {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #writeOn(): void {
    this.#retry?.cancel();
    while (this.#waiting[0] && !this.#isLost) {
      const first = this.#waiting[0];
      const written = this.#tryWrite(first);
      this.#waitingBytes -= written;
      if (written < first.length) {
        this.#waiting[0] = first.subarray(written);
        this.#retry = this.#clock.setTimer(() => this.#writeOn(), RETRY_MS);
        return;
      }
      this.#waiting.shift();
      if (this.#waiting.length === 0 && this.#dropped > 0) {
        this.#add(Buffer.from(`leasehold: ${this.#dropped} messages were dropped, because nobody read them.\n`));
        this.#dropped = 0;
      }
    }
    this.#drained?.();
  }

  /** A reader that has left is no failure of the writer's. A full disk may have room later. */
  #tryWrite(bytes: Buffer): number {
    try {
      return this.#sink.write(bytes);
    } catch (error) {
      if (DISK_IS_FULL.has((error as NodeJS.ErrnoException).code)) return 0;
      this.#isLost = true;
      return bytes.length;
    }
  }
}
