import type { Clock, Timer } from "@leasehold/core/provider";
import type { Output } from "../verb.ts";

/** The most bytes in the queue for the reader. A single line may be longer. */
const MOST_WAITING_BYTES = 65_536;
/** The time between two attempts to write the queue. */
const RETRY_MS = 50;

const DISK_IS_FULL: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

/** A destination for bytes. A write to it never waits for the reader. */
export interface OutputSink {
  readonly isTerminal: boolean;
  /**
   * Writes as many bytes as is possible without a wait, and returns their number.
   * @throws if no byte can be written: ever again, or until a full disk has room.
   */
  write(bytes: Buffer): number;
  /** Resolves once all bytes have gone on to the reader. Callers write nothing afterwards. */
  end(): Promise<void>;
}

/** An output whose writer never waits for the reader. If the queue is full, lines are dropped; a later line says how many. */
export class UnblockedOutput implements Output {
  readonly #sink: OutputSink;
  readonly #clock: Clock;
  readonly #lineOf: (message: string) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #isLost = false;
  #retry: Timer | undefined;
  #drained: (() => void) | undefined;

  /** @param lineOf makes a line of a message of the command. */
  constructor(sink: OutputSink, clock: Clock, lineOf: (message: string) => string) {
    this.#sink = sink;
    this.#clock = clock;
    this.#lineOf = lineOf;
  }

  get isTerminal(): boolean {
    return this.#sink.isTerminal;
  }

  write(text: string): void {
    if (text === "") return;
    const bytes = Buffer.from(text);
    // After a dropped line, drop the following ones too until the note is queued. So the note stands where the lines are missing.
    const isFull = this.#waitingBytes > 0 && this.#waitingBytes + bytes.length > MOST_WAITING_BYTES;
    if (this.#dropped > 0 || isFull) this.#dropped += 1;
    else this.#add(bytes);
    this.#writeOn();
  }

  /** Writes the queue. Resolves once the reader has all of it, or after `timeoutMs`. */
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
        const dropped = this.#dropped === 1 ? "1 message was" : `${this.#dropped} messages were`;
        this.#add(Buffer.from(this.#lineOf(`${dropped} dropped, because nobody read the output.`)));
        this.#dropped = 0;
      }
    }
    this.#drained?.();
  }

  /** Returns how many bytes leave the queue. A full disk takes none and may have room later. Other errors lose all bytes. */
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
