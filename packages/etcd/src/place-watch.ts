import type { Clock, Timer } from "@leasehold/core/provider";
import type { EtcdRequests } from "./requests.ts";
import { bytes } from "./wire.ts";

/**
 * The shortest time between two starts of a watch, in milliseconds. While watches break, it doubles up to `AGAIN_MAX_MS`, for
 * example behind a proxy that blocks watches. Each start also costs a read.
 */
const AGAIN_MS = 1_000;
const AGAIN_MAX_MS = 60_000;

/**
 * Waits until etcd deletes one of a few keys: a candidate's own key, or the key before it. A wake-up is a hint and not a proof,
 * so the caller reads afterwards. The wait also has a limit, because a watch may lose events (etcd-io/etcd#18089), or stall.
 */
export class PlaceWatch {
  readonly #clock: Clock;
  readonly #requests: EtcdRequests;
  readonly #election: string;
  /** The watched keys, one per line; empty if there is no watch, or if the watch has broken. */
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

  /** Watches these keys from the revision at which they were read. Does nothing if it watches them already. */
  follow(keys: readonly string[], revision: number): void {
    const watched = keys.join("\n");
    if (watched === this.#watched) return;
    this.stop();
    this.#watched = watched;
    this.#stopping = new AbortController();
    void this.#run(keys, revision, this.#stopping.signal);
  }

  /**
   * Waits until one of the keys may be deleted, the watch has broken, `wake()` is called, or `withinMs` has passed. Reports
   * whether etcd has sent a deletion.
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
        // etcd cancels a watch, for example after a compaction, or at a member without a leader.
        if (message["canceled"] === true) break;
        if (message["events"] === undefined) continue;
        this.#wasTold = true;
        this.wake();
      }
    } catch {
      // The reads continue, and report what is wrong.
    }
    if (signal.aborted) return;
    this.#watched = "";
    const lastedMs = this.#clock.monotonicMs() - begunMs;
    if (lastedMs >= AGAIN_MAX_MS) this.#againMs = AGAIN_MS;
    this.#again = this.#clock.setTimer(() => this.wake(), this.#againMs - lastedMs);
    this.#againMs = Math.min(2 * this.#againMs, AGAIN_MAX_MS);
  }
}
