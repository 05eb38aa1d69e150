import { channel } from "node:diagnostics_channel";
import { type Clock, StoreWarnings } from "@leasehold/core/provider";

/** The `node:diagnostics_channel` on which each dropped packet is published, as {@link DroppedPacket}. */
export const DROPPED_CHANNEL = "leasehold:voting-dropped";

/**
 * Why a packet was dropped. Its sender is another server, or pretends to be one.
 * - `oversized`, `malformed`: too long, or no packet of this protocol.
 * - `signature`: not signed with this server's secret.
 * - `misdirected`: for another server.
 * - `lists`: its sender has another list of servers.
 * - `start`: another process is at the address of its sender's name.
 * - `replay`: it has arrived before.
 */
export type DropReason = "oversized" | "malformed" | "signature" | "misdirected" | "lists" | "start" | "replay";

export interface DroppedPacket {
  /** The server that dropped the packet. */
  readonly server: string;
  readonly reason: DropReason;
  /** The server that the packet claims to be from; absent if that cannot be known. */
  readonly from?: string | undefined;
}

/** The same warning is given at most once in this time. */
const AGAIN_MS = 60_000;
/** A problem must last for this time before a warning, because the other servers may still be starting. */
const PATIENCE_MS = 5_000;

/** Counts and publishes dropped packets. Turns problems between servers into warnings, each at most once a minute. */
export class WarningLog {
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

  get dropped(): Readonly<Partial<Record<DropReason, number>>> {
    return Object.fromEntries(this.#dropped);
  }

  drops(reason: DropReason, from?: string): void {
    this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + 1);
    this.#channel.publish({ server: this.#server, reason, from } satisfies DroppedPacket);
  }

  /** Gives a warning at once. */
  tell(message: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs < (this.#toldMs.get(message) ?? -Infinity) + AGAIN_MS) return;
    // Few messages differ, except if somebody makes them differ on purpose.
    if (this.#toldMs.size >= 100) this.#toldMs.clear();
    this.#toldMs.set(message, nowMs);
    this.warnings.warn("LEASEHOLD_VOTING", `Voting server ${this.#server}: ${message}`);
  }

  /** Records that the problem of `name` has ended. */
  ends(name: string): void {
    this.#sinceMs.delete(name);
  }

  /** Gives a warning once the problem of `name` has lasted for `PATIENCE_MS`. */
  lasts(name: string, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(name) ?? nowMs;
    this.#sinceMs.set(name, sinceMs);
    if (nowMs - sinceMs >= PATIENCE_MS) this.tell(message);
  }
}
