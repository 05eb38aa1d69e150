import { type Clock, ExpiringMap } from "@leasehold/core/provider";
import type { Leadership } from "@leasehold/core";
import type { Metadata } from "./schema.ts";

/** A blob as a fenced writer last saw it. */
export interface Target {
  readonly etag: string;
  readonly metadata: Metadata;
}

/** The number of existing blobs that one leadership remembers. */
const MAX_KNOWN = 10_000;

const byLeadership = new WeakMap<Leadership, GuardedBlobs>();

/** The blobs that one leadership guards, by URL. */
export class GuardedBlobs {
  /** The blobs that the leadership has recently sealed or written. Their next write needs no read first. */
  readonly #targets: ExpiringMap<Target>;
  /** The blobs that existed, in the order of their last use. If one is missing now, a newer term may have deleted it. */
  readonly #known = new Set<string>();

  private constructor(clock: Clock) {
    this.#targets = new ExpiringMap(clock);
  }

  static of(leadership: Leadership, clock: Clock): GuardedBlobs {
    const guarded = byLeadership.get(leadership) ?? new GuardedBlobs(clock);
    byLeadership.set(leadership, guarded);
    return guarded;
  }

  /** Returns the blob as this leadership last wrote it; `undefined` if that is long ago, or if another write came between. */
  target(url: string): Target | undefined {
    return this.#targets.get(url);
  }

  /** Returns whether this leadership has seen the blob, and has not deleted it itself. */
  knows(url: string): boolean {
    return this.#known.has(url);
  }

  saw(url: string): void {
    this.#known.delete(url);
    this.#known.add(url);
    if (this.#known.size <= MAX_KNOWN) return;
    const [oldest = url] = this.#known;
    this.#known.delete(oldest);
  }

  wrote(url: string, target: Target): void {
    this.saw(url);
    this.#targets.set(url, target);
  }

  /** Makes the next write read the blob first. */
  forgetTarget(url: string): void {
    this.#targets.delete(url);
  }

  /** Records that this leadership itself has deleted the blob. It may create the blob again. */
  deleted(url: string): void {
    this.#targets.delete(url);
    this.#known.delete(url);
  }
}
