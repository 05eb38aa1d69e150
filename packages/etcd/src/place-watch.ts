import type { Clock, Timer } from "@leasehold/core";
import type { EtcdRequests } from "./requests.ts";
import { bytes } from "./wire.ts";

/**
 * A watch that breaks sooner than so long after it was begun is not begun anew before; where it breaks again and again, as at a proxy
 * that lets no watch through, the time grows to the longest. Each time costs a reading as well.
 */
const AGAIN_MS = 1_000;
const AGAIN_MAX_MS = 60_000;

/**
 * Waits for the end of one of a few keys: of a candidate's own, and of the one before it. What it tells is an aim, never a proof:
 * whoever is woken reads. It wakes after a time, too, since a watch may lose what it should tell (etcd-io/etcd#18089), or stall.
 */
export class PlaceWatch {
  readonly #clock: Clock;
  readonly #requests: EtcdRequests;
  readonly #election: string;
  /** Empty where nothing is watched, or the watch has broken. */
  #watched = "";
  #stopping = new AbortController();
  #isWoken = false;
  #wasTold = false;
  #wake: (() => void) | undefined;
  #again: Timer | undefined;
  #againMs = AGAIN_MS;

  constructor(clock: Clock, requests: EtcdRequests, election: string) {
    this.#clock = clock;
    this.#requests = requests;
    this.#election = election;
  }

  /** Watches these keys from the revision on that they were read at; goes on where it does so already. */
  follow(keys: readonly string[], revision: number): void {
    const watched = keys.join("\n");
    if (watched === this.#watched) return;
    this.stop();
    this.#watched = watched;
    this.#stopping = new AbortController();
    void this.#run(keys, revision, this.#stopping.signal);
  }

  /**
   * Waits until one of the keys may have ended, the watch has broken, somebody wakes it, or so long. Reports whether etcd has said that one
   * of them ended.
   */
  async ended(withinMs: number): Promise<boolean> {
    if (!this.#isWoken) {
      await new Promise<void>((resolve) => {
        const timer = this.#clock.setTimer(resolve, withinMs);
        this.#wake = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    this.#isWoken = false;
    const wasTold = this.#wasTold;
    this.#wasTold = false;
    return wasTold;
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  stop(): void {
    this.#stopping.abort();
    this.#again?.cancel();
    this.#watched = "";
  }

  async #run(keys: readonly string[], revision: number, signal: AbortSignal): Promise<void> {
    const begunMs = this.#clock.monotonicMs();
    const creates = keys.map((key) => ({ key: bytes(key), start_revision: String(revision + 1), filters: ["NOPUT"] }));
    try {
      for await (const message of this.#requests.watch(this.#election, creates, signal)) {
        // By compaction, say, or by a member without a leader.
        if (message["canceled"] === true) break;
        if (message["events"] === undefined) continue;
        this.#wasTold = true;
        this.wake();
      }
    } catch {
      // The readings go on, and say what is wrong if anything is.
    }
    if (signal.aborted) return;
    this.#watched = "";
    const lastedMs = this.#clock.monotonicMs() - begunMs;
    if (lastedMs >= AGAIN_MAX_MS) this.#againMs = AGAIN_MS;
    this.#again = this.#clock.setTimer(() => this.wake(), this.#againMs - lastedMs);
    this.#againMs = Math.min(2 * this.#againMs, AGAIN_MAX_MS);
  }
}
