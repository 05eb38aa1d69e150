import type { Clock, Leadership } from "@leasehold/core";
import { Recent } from "@leasehold/core/provider";
import type { Metadata } from "./schema.ts";

/** A blob as a fenced writer last saw it. */
export interface Target {
  readonly etag: string;
  readonly metadata: Metadata;
}

/** The number of blobs that one leadership remembers to have been there. */
const MAX_KNOWN = 10_000;

const byLeadership = new WeakMap<Leadership, GuardedBlobs>();

/** The blobs that one leadership guards, by URL. */
export class GuardedBlobs {
  /** Those that it has lately sealed or written: the next write needs no read first. */
  readonly #targets: Recent<Target>;
  /** Those that were there, in the order of their last use. A newer term may have deleted one that is missing now. */
  readonly #known = new Set<string>();

  private constructor(clock: Clock) {
    this.#targets = new Recent(clock);
  }

  static of(leadership: Leadership, clock: Clock): GuardedBlobs {
    const guarded = byLeadership.get(leadership) ?? new GuardedBlobs(clock);
    byLeadership.set(leadership, guarded);
    return guarded;
  }

  /** Returns the blob as this leadership wrote it last, unless that is long ago or another write came in between. */
  target(url: string): Target | undefined {
    return this.#targets.get(url);
  }

  /** Reports whether this leadership has seen the blob, and has not deleted it itself. */
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

  /** The next write has to read the blob first. */
  forgetTarget(url: string): void {
    this.#targets.delete(url);
  }

  /** Notes that this leadership itself has deleted the blob. It may create it again. */
  deleted(url: string): void {
    this.#targets.delete(url);
    this.#known.delete(url);
  }
}
