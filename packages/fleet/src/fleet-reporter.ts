// Reports the events of a member to its listeners, its log and the diagnostics channel.

import { channel } from "node:diagnostics_channel";
import { isLeaseholdError } from "@leasehold/core";
import { FLEET_CHANNEL, type FleetHandle, type FleetTotals, type PublishedFleetEvent } from "@leasehold/core/diagnostics";
import { defineOptions, Journal, Listeners, redact } from "@leasehold/core/provider";
import type { FleetSettings } from "./fleet-options.ts";
import type { FleetRecords } from "./fleet-records.ts";
import type { Shard } from "./holds.ts";
import type { FleetMember } from "./member.ts";

/** The events of a {@link Fleet}. A listener that throws changes nothing. */
export interface FleetEvents {
  /** The member has acquired a session. The next plan can grant shards to it. */
  readonly joined: { readonly slot: number; readonly term: number };
  /** The session was renewed. This renews all shards of the member. */
  readonly renewed: { readonly slot: number; readonly term: number };
  /** The session is over. All shards of the member are over, too. */
  readonly left: { readonly slot: number; readonly term: number };
  /** The task of a shard begins. */
  readonly shardStarted: { readonly shard: Shard };
  /** The member has let a shard go: the shard moves, its task returned, or the session ended. */
  readonly shardStopped: { readonly shard: Shard };
  /** The task of a shard threw, stalled or outlasted its drain. The shard rests, and another member gets it. */
  readonly shardFailed: { readonly shard: Shard; readonly error: unknown };
  /** A task still runs `drainTimeoutMs` after its signal aborted. The shard is no longer valid. */
  readonly overrun: { readonly shard: Shard };
  /** This member coordinates from now on. `term` is the term of the head. */
  readonly coordinating: { readonly term: number };
}

export const EVENT_NAMES: Readonly<Record<keyof FleetEvents, true>> = defineOptions<FleetEvents>()(
  "joined renewed left shardStarted shardStopped shardFailed overrun coordinating",
);

/** The settings and objects that all parts of a member share. */
export interface FleetContext extends FleetSettings {
  readonly records: FleetRecords;
  readonly reporter: FleetReporter;
}

/** Also the handle of the member for gauges. The channel has only a weak reference to it. */
export class FleetReporter implements FleetHandle {
  readonly listeners: Listeners<FleetEvents>;
  readonly #journal: Journal;
  readonly #common: { readonly fleet: string; readonly memberId: string };
  readonly #channel = channel(FLEET_CHANNEL);
  readonly #handle = new WeakRef<FleetHandle>(this);
  readonly #member: () => FleetMember | undefined;
  /** The code of the failure that was logged last; undefined once the store answers again. */
  #failure: string | undefined;
  /** The present problem of each kind. */
  readonly #problems = new Map<string, string | false>();

  constructor({ logger, names, memberId }: FleetSettings, member: () => FleetMember | undefined) {
    this.#journal = Journal.to(logger);
    this.#member = member;
    this.#common = { fleet: names.fleet, memberId };
    this.listeners = new Listeners((event, error) => {
      const text = `A listener for '${event}' of the fleet '${names.fleet}' threw: ${messageOf(error)}`;
      this.#journal.warn("LEASEHOLD_LISTENER_FAILED", "error", text, this.#common);
    });
  }

  get held(): number {
    return this.#member()?.holds.valid.length ?? 0;
  }

  get totals(): FleetTotals | undefined {
    const { plan, bytes = 0 } = this.#member()?.coordinator?.stored ?? {};
    if (!plan) return undefined;
    const counts = new Map(Array.from(plan.members.keys(), (slot) => [slot, 0]));
    const totals = { held: 0, leaving: 0, free: 0 };
    for (const { slot, leaving } of plan.shards.values()) {
      totals[slot === undefined ? "free" : leaving ? "leaving" : "held"] += 1;
      if (slot !== undefined) counts.set(slot, (counts.get(slot) ?? 0) + 1);
    }
    const imbalance = counts.size === 0 ? 0 : Math.max(...counts.values()) - Math.min(...counts.values());
    return { members: counts.size, ...totals, imbalance, planBytes: bytes };
  }

  /** Writes a line to the log, publishes the event, and calls the listeners. */
  emit<Name extends keyof FleetEvents>(name: Name, event: FleetEvents[Name]): void {
    if (name !== "renewed") this.#write(name, event);
    this.#publish(name, 1);
    this.listeners.emit(name, event);
  }

  #publish(name: keyof FleetEvents | "moved", count: number): void {
    this.#channel.publish({ ...this.#common, name, count, member: this.#handle } satisfies PublishedFleetEvent);
  }

  #write(name: keyof FleetEvents, event: FleetEvents[keyof FleetEvents]): void {
    const { fleet } = this.#common;
    if (!("shard" in event)) return this.#journal.write("info", `${fleet}: ${name}`, { ...this.#common, ...event });
    const { name: shard, term } = event.shard;
    const attributes = { ...this.#common, shard, term };
    const whose = `shard '${shard}' of '${fleet}' (term ${term})`;
    if ("error" in event) {
      const error = messageOf(event.error);
      this.#journal.warn("LEASEHOLD_SHARD_FAILED", "error", `The ${whose} has failed here: ${error}`, { ...attributes, error });
    } else if (name === "overrun") {
      const text = `The task of the ${whose} has not settled in time. Its shard is over.`;
      this.#journal.warn("LEASEHOLD_OVERRUN", "error", text, attributes);
    } else this.#journal.write("info", `${fleet}: ${name} ${shard}`, attributes);
  }

  moved(shards: number): void {
    this.#publish("moved", shards);
    this.#journal.write("info", `${this.#common.fleet}: ${shards} shards move for balance`, { ...this.#common, shards });
  }

  /** Logs a problem that an operator has to know, once while it lasts unchanged. `false`: the problem is over. */
  problem(kind: "answer" | "lists" | "room" | "reset", text: string | false): void {
    if (text !== false && text !== this.#problems.get(kind))
      this.#journal.warn("LEASEHOLD_FLEET", "error", redact(text), this.#common);
    this.#problems.set(kind, text);
  }

  /** Logs a failure if its code differs from the last one, and later the recovery. `undefined`: the store has answered. */
  contact(error: unknown): void {
    const { fleet } = this.#common;
    const message = error === undefined ? undefined : messageOf(error);
    const failure = isLeaseholdError(error) ? error.code : message;
    if (failure === this.#failure) return;
    this.#failure = failure;
    if (message === undefined) {
      this.#journal.warn("LEASEHOLD_STORE_RECOVERED", "info", `The fleet '${fleet}' is up to date again.`, this.#common);
    } else {
      const text = `The fleet '${fleet}' cannot be kept up to date here: ${message}`;
      this.#journal.warn("LEASEHOLD_STORE_FAILED", "warn", text, { ...this.#common, error: message });
    }
  }
}

function messageOf(error: unknown): string {
  return redact(error instanceof Error ? error.message : String(error));
}
