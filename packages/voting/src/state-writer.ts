import { type Clock, sleep } from "@leasehold/core/provider";
import { decodeStoredState, textOf, type StoredState } from "./voter-state-codec.ts";
import type { VoterState } from "./voter-state.ts";

/** The disk of one server. It holds one text, which is replaced as a whole. */
export interface Disk {
  /** The text that was written last; undefined if there is none, or if it is not intact. */
  read(): Promise<string | undefined>;
  /** Resolves once the text can no longer be lost. */
  write(text: string): Promise<void>;
}

/** The wait before a failed write is repeated. The server is silent meanwhile. */
const WRITE_AGAIN_MS = 1_000;
/** A disk hangs if a write takes longer than this. */
const HANGS_MS = 10_000;

export interface StateWriterOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  /** Aborts when the server is closed. */
  readonly closed: AbortSignal;
  /** The state to write, and the highest write counter heard from each other server. */
  readonly state: () => { readonly voter: VoterState; readonly seen: ReadonlyMap<string, number> };
  /** The server has lost its state. Nothing is written until it begins again. */
  readonly isLost: () => boolean;
  /** Called with the milliseconds that a write took. */
  readonly onSynced: (tookMs: number) => void;
}

/** Writes the voter's state to the disk. Several changes share one write. A failed write is repeated until one succeeds. */
export class StateWriter {
  readonly #options: StateWriterOptions;
  /** The counter of the latest write that has begun, and of the latest write that is certainly on the disk. */
  #begun = 0;
  #written = 0;
  #syncedVersion = 0;
  #writing: Promise<void> = Promise.resolve();
  /** The start of the write that is under way. */
  #writingSinceMs: number | undefined;
  #isBroken = false;

  constructor(options: StateWriterOptions) {
    this.#options = options;
  }

  /** Reads the state from before this start; undefined if there is none, or if it is not intact. */
  async read(): Promise<StoredState | undefined> {
    const kept = decodeStoredState(await this.#options.disk.read());
    this.#begun = kept?.writes ?? 0;
    this.#written = this.#begun;
    return kept;
  }

  get begun(): number {
    return this.#begun;
  }

  get written(): number {
    return this.#written;
  }

  /** The last write has failed. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** A write does not end. Answers that need no write are given all the same. */
  get hangs(): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    return nowMs - (this.#writingSinceMs ?? nowMs) > HANGS_MS;
  }

  /**
   * Resolves once all changes up to `version` are on the disk. Also resolves if the server is closed or has lost its state, or
   * after a failed write.
   */
  async synced(version: number): Promise<void> {
    const { closed, isLost } = this.#options;
    while (!this.#isBroken && !closed.aborted && !isLost() && this.#syncedVersion < version) {
      this.#writing = this.#writingSinceMs === undefined ? this.#write() : this.#writing;
      await this.#writing;
    }
  }

  /** Empties the disk, because its state is lost. */
  erase(): void {
    this.#writing = this.#writing.then(() => this.#options.disk.write("")).catch(() => undefined);
  }

  /** Goes on from a write counter that is above every one that others know of this server. */
  goOnFrom(writes: number): void {
    this.#begun = writes;
  }

  /** Resolves once no write is under way. */
  async settled(): Promise<void> {
    await this.#writing.catch(() => undefined);
  }

  async #write(): Promise<void> {
    const { disk, clock, state, onSynced } = this.#options;
    const sentMs = clock.monotonicMs();
    this.#writingSinceMs = sentMs;
    try {
      const { voter, seen } = state();
      const { version } = voter;
      this.#begun += 1;
      const writes = this.#begun;
      await disk.write(textOf({ writes, seen: Object.fromEntries(seen), ...voter.kept }));
      this.#syncedVersion = version;
      this.#written = writes;
      this.#isBroken = false;
      onSynced(clock.monotonicMs() - sentMs);
    } catch {
      if (!this.#isBroken) void this.#writeAgain();
    } finally {
      this.#writingSinceMs = undefined;
    }
  }

  async #writeAgain(): Promise<void> {
    const { clock, closed, isLost } = this.#options;
    this.#isBroken = true;
    while (this.#isBroken && !closed.aborted) {
      await sleep(clock, WRITE_AGAIN_MS, closed).catch(() => undefined);
      // A server that has lost its file writes when it begins again.
      if (isLost()) this.#isBroken = false;
      else if (!closed.aborted && this.#writingSinceMs === undefined) await (this.#writing = this.#write());
    }
  }
}
