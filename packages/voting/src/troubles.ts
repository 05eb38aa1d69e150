import { channel } from "node:diagnostics_channel";
import type { Clock } from "@leasehold/core";
import { StoreWarnings } from "@leasehold/core/provider";

/** The `node:diagnostics_channel` on which each dropped packet is published, as {@link DroppedPacket}. */
export const DROPPED_CHANNEL = "leasehold:voting-dropped";

/**
 * Why a packet of another server, or of who pretends to be one, was dropped.
 * - `oversized`, `malformed`: too long, or none of ours.
 * - `signature`: not signed with this server's secret.
 * - `misdirected`: for another server.
 * - `lists`: its sender knows of other servers than this one does.
 * - `start`: another process is at the address of its sender's name.
 * - `replay`: it came before.
 */
export type DropReason = "oversized" | "malformed" | "signature" | "misdirected" | "lists" | "start" | "replay";

export interface DroppedPacket {
  /** The server that has dropped it. */
  readonly server: string;
  readonly reason: DropReason;
  /** Whom it claims to be from; absent where that cannot be known. */
  readonly from?: string | undefined;
}

/** A person is told of the same at most so often. */
const AGAIN_MS = 60_000;
/** So long others may take to be started, before a person is told that they do not answer. */
const PATIENCE_MS = 5_000;

/** What goes wrong between servers: counted, published, and told as the warnings of its store, each thing once a minute. */
export class Troubles {
  readonly warnings: StoreWarnings = new StoreWarnings();
  readonly #clock: Clock;
  readonly #server: string;
  readonly #dropped = new Map<DropReason, number>();
  readonly #toldMs = new Map<string, number>();
  readonly #sinceMs = new Map<string, number>();
  readonly #channel = channel(DROPPED_CHANNEL);

  constructor(clock: Clock, server: string) {
    this.#clock = clock;
    this.#server = server;
  }

  /** How many packets were dropped, for each reason. */
  get dropped(): Readonly<Partial<Record<DropReason, number>>> {
    return Object.fromEntries(this.#dropped);
  }

  drops(reason: DropReason, from?: string): void {
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + 1);
    this.#channel.publish({ server: this.#server, reason, from } satisfies DroppedPacket);
  }

  /** Tells a person at once. */
  tell(message: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < (this.#toldMs.get(message) ?? -Infinity) + AGAIN_MS) return;
    // Few differ, unless somebody makes them differ.
    if (this.#toldMs.size >= 100) this.#toldMs.clear();
    this.#toldMs.set(message, nowMs);
    this.warnings.warn("LEASEHOLD_VOTING", `Voting server ${this.#server}: ${message}`);
  }

  /** What a server was in trouble for is over. */
  ends(name: string): void {
    this.#sinceMs.delete(name);
  }

  /** A server does not answer, or take part: it is told once that lasts, since others may only not have been started yet. */
  lasts(name: string, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(name) ?? nowMs;
    this.#sinceMs.set(name, sinceMs);
    if (nowMs - sinceMs >= PATIENCE_MS) this.tell(message);
  }
}
